"""Discreet: private recommendation that says truthfully what it costs in privacy.

    import discreet as d

    news = d.open_news("world")
    run = d.ClickReports(epsilon=1).fit(news)
    print(run.evaluate("dev"), run.guarantee)

The names below are the public ones. Each is imported when it is first used, so that `import discreet` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtraError, MissingNameError
from discreet.extras import needing_extras
from discreet.version import __version__

_PUBLIC = {
    "open_news": "discreet.data.open",
    "open_ratings": "discreet.data.open",
    "open_purchases": "discreet.data.open",
    "NewsData": "discreet.data.news",
    "Ratings": "discreet.data.ratings",
    "Purchases": "discreet.data.purchases",
    "ItemRanker": "discreet.vendors.implicit.item_ranker",
    "Method": "discreet.methods.method",
    "TrainingTask": "discreet.methods.method",
    "State": "discreet.methods.method",
    "Scores": "discreet.methods.method",
    "Impressions": "discreet.data.news",
    "Run": "discreet.methods.run",
    "register": "discreet.plugins",
    "NewsModel": "discreet.models.news_model",
    "Needs": "discreet.models.news_model",
    "model_settings": "discreet.models.model_registry",
    "Random": "discreet.methods.baselines",
    "Popularity": "discreet.methods.baselines",
    "Recency": "discreet.methods.baselines",
    "Exposure": "discreet.methods.baselines",
    "Content": "discreet.methods.baselines",
    "Combined": "discreet.methods.baselines",
    "Centralized": "discreet.methods.published.centralized",
    "FedRec": "discreet.methods.published.fedrec",
    "FedNewsRec": "discreet.methods.published.fednewsrec",
    "DPFedRec": "discreet.methods.published.dp_fedrec",
    "PrivateRec": "discreet.methods.published.privaterec",
    "DPFedAvg": "discreet.methods.dp_fedavg",
    "ClickReports": "discreet.methods.click_reports.click_reports",
    "FrontPage": "discreet.methods.front_page.front_page",
    "StrictPrivateRec": "discreet.methods.strict_privaterec",
    "UserCodes": "discreet.methods.user_codes",
    "VendorMethod": "discreet.vendors.vendor_method",
    "NewsFormat": "discreet.data.formats.data_format",
    "RatingsFormat": "discreet.data.formats.data_format",
    "Mechanism": "discreet.privacy.mechanisms.mechanism",
    "Audit": "discreet.audits.audit_registry",
    "Local": "discreet.vendors.methods.baselines",
    "Full": "discreet.vendors.methods.baselines",
    "Gibbs": "discreet.vendors.recommender",
    "GibbsMF": "discreet.vendors.gibbs",
    "Recommender": "discreet.vendors.recommender",
    "DPALS": "discreet.vendors.methods.dpals",
    "FMF": "discreet.vendors.methods.fmf",
    "CMF": "discreet.vendors.methods.cmf",
    "Hua": "discreet.vendors.methods.hua",
    "Liu": "discreet.vendors.methods.liu",
    "Sharing": "discreet.vendors.sharing",
    "EASE": "discreet.vendors.implicit.ease",
    "IALS": "discreet.vendors.implicit.ials",
    "PopularItems": "discreet.vendors.implicit.popularity",
    "RankingMethod": "discreet.vendors.implicit.ranking_method",
    "RankingSharing": "discreet.vendors.implicit.sharing",
    "compare": "discreet.api",
    "compare_vendors": "discreet.api",
    "audit": "discreet.api",
    "Guarantee": "discreet.privacy.guarantee",
    "Release": "discreet.privacy.release",
    "DiscreetError": "discreet.errors",
}

__all__ = [
    "CMF",
    "DPALS",
    "EASE",
    "FMF",
    "IALS",
    "Audit",
    "Centralized",
    "ClickReports",
    "Combined",
    "Content",
    "DPFedAvg",
    "DPFedRec",
    "DiscreetError",
    "Exposure",
    "FedNewsRec",
    "FedRec",
    "FrontPage",
    "Full",
    "Gibbs",
    "GibbsMF",
    "Guarantee",
    "Hua",
    "Impressions",
    "ItemRanker",
    "Liu",
    "Local",
    "Mechanism",
    "Method",
    "Needs",
    "NewsData",
    "NewsFormat",
    "NewsModel",
    "PopularItems",
    "Popularity",
    "PrivateRec",
    "Purchases",
    "Random",
    "RankingMethod",
    "RankingSharing",
    "Ratings",
    "RatingsFormat",
    "Recency",
    "Recommender",
    "Release",
    "Run",
    "Scores",
    "Sharing",
    "State",
    "StrictPrivateRec",
    "TrainingTask",
    "UserCodes",
    "VendorMethod",
    "__version__",
    "audit",
    "compare",
    "compare_vendors",
    "model_settings",
    "open_news",
    "open_purchases",
    "open_ratings",
    "register",
]

if TYPE_CHECKING:
    from discreet.api import audit, compare, compare_vendors
    from discreet.audits.audit_registry import Audit
    from discreet.data.formats.data_format import NewsFormat, RatingsFormat
    from discreet.data.news import Impressions, NewsData
    from discreet.data.open import open_news, open_purchases, open_ratings
    from discreet.data.purchases import Purchases
    from discreet.data.ratings import Ratings
    from discreet.errors import DiscreetError
    from discreet.methods.baselines import Combined, Content, Exposure, Popularity, Random, Recency
    from discreet.methods.click_reports.click_reports import ClickReports
    from discreet.methods.dp_fedavg import DPFedAvg
    from discreet.methods.front_page.front_page import FrontPage
    from discreet.methods.method import Method, Scores, State, TrainingTask
    from discreet.methods.published.centralized import Centralized
    from discreet.methods.published.dp_fedrec import DPFedRec
    from discreet.methods.published.fednewsrec import FedNewsRec
    from discreet.methods.published.fedrec import FedRec
    from discreet.methods.published.privaterec import PrivateRec
    from discreet.methods.run import Run
    from discreet.methods.strict_privaterec import StrictPrivateRec
    from discreet.methods.user_codes import UserCodes
    from discreet.models.model_registry import model_settings
    from discreet.models.news_model import Needs, NewsModel
    from discreet.plugins import register
    from discreet.privacy.guarantee import Guarantee
    from discreet.privacy.mechanisms.mechanism import Mechanism
    from discreet.privacy.release import Release
    from discreet.vendors.gibbs import GibbsMF
    from discreet.vendors.implicit.ease import EASE
    from discreet.vendors.implicit.ials import IALS
    from discreet.vendors.implicit.item_ranker import ItemRanker
    from discreet.vendors.implicit.popularity import PopularItems
    from discreet.vendors.implicit.ranking_method import RankingMethod
    from discreet.vendors.implicit.sharing import RankingSharing
    from discreet.vendors.methods.baselines import Full, Local
    from discreet.vendors.methods.cmf import CMF
    from discreet.vendors.methods.dpals import DPALS
    from discreet.vendors.methods.fmf import FMF
    from discreet.vendors.methods.hua import Hua
    from discreet.vendors.methods.liu import Liu
    from discreet.vendors.recommender import Gibbs, Recommender
    from discreet.vendors.sharing import Sharing
    from discreet.vendors.vendor_method import VendorMethod
else:
    del __all__  # so that `from discreet import *` and `help` ask __getattr__ for the names that can be had here


def _imported(name: str) -> Any:
    this = sys.modules[__name__]
    if name == "__all__":
        return ["__version__", *(public for public in _PUBLIC if hasattr(this, public))]
    if name not in _PUBLIC:
        raise AttributeError(f"discreet has no '{name}'; it has {', '.join(_PUBLIC)}")
    try:
        with needing_extras():
            value = getattr(import_module(_PUBLIC[name]), name)
    except MissingExtraError as error:
        raise MissingNameError(error, name, this) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_PUBLIC])


if not TYPE_CHECKING:
    __getattr__ = _imported  # hidden from type checkers: with it they would take any name
