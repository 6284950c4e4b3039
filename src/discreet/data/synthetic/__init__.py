"""Generated worlds of news, of ratings and of purchases: data to learn, test and demonstrate with, made from a seed."""

from discreet.data.synthetic.purchase_world import purchases_world, write_purchases
from discreet.data.synthetic.rating_world import ratings_world, write_ratings
from discreet.data.synthetic.world import NewsWorld, news_world, news_world_with_truth
from discreet.data.synthetic.writing import write_mind

__all__ = [
    "NewsWorld",
    "news_world",
    "news_world_with_truth",
    "purchases_world",
    "ratings_world",
    "write_mind",
    "write_purchases",
    "write_ratings",
]
