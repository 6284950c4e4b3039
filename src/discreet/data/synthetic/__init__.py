"""A generated world of news and one of ratings: data to learn, test and demonstrate with, made from a seed."""

from discreet.data.synthetic.rating_world import ratings_world, write_ratings
from discreet.data.synthetic.world import NewsWorld, news_world, news_world_with_truth
from discreet.data.synthetic.writing import write_mind

__all__ = ["NewsWorld", "news_world", "news_world_with_truth", "ratings_world", "write_mind", "write_ratings"]
