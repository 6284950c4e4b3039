"""What travels between devices and the server: strict, so that a field misspelt or unknown is refused, not ignored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from discreet.protocol.check import limits

ArticleId = Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[^\x00-\x1f\x7f]+$", examples=["N42"])]
ArticleName = Annotated[
    str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00-\x1f\x7f]+$", description="Its id, or its address.")
]
PlainText = Annotated[str, Field(pattern=r"^[^\x00]*$")]
Link = Annotated[str, Field(max_length=2000, pattern=r"^(https?://[^\s]+)?$", examples=["https://news.example/N42"])]
Seconds = Annotated[int, Field(ge=0, le=1 << 40)]
Version = Annotated[str, Field(min_length=1, max_length=80, examples=["9f2c4b1a77d0e355"])]
ReportId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", examples=["0b6f3a4be31f4d0f8f2b7c1de0a9c755"])]
Base64 = Annotated[
    str,
    Field(max_length=20_000, description="Base64 of a release's bytes.", json_schema_extra={"format": "byte"}),
]
Epoch = Annotated[int, Field(ge=0, le=1_000_000_000, description="Number of the epoch in the public schedule.")]
Clicks = Annotated[
    int | None,
    Field(ge=0, le=limits.max_clicks, description="How many clicks it is of; null where the length is hidden."),
]


def _seconds(given: Any) -> Any:
    """ISO 8601 as seconds since 1970; all else as it is."""
    if not isinstance(given, str):
        return given
    try:
        moment = datetime.fromisoformat(given)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise ValueError("is neither seconds since 1970 nor ISO 8601, such as 2019-11-09T08:00:00Z") from None


Moment = Annotated[
    Seconds,
    BeforeValidator(
        _seconds, json_schema_input_type=Seconds | Annotated[str, Field(examples=["2019-11-09T08:00:00Z"])]
    ),
]


class ApiMessage(BaseModel):
    """Strict JSON: no unknown fields, no conversions, no NaN and no infinities."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Sketch(ApiMessage):
    """A release of one epoch's clicks."""

    epoch: Epoch
    clicks: Clicks = None
    release: Base64


class RecommendRequest(ApiMessage):
    """A question for articles. What was read is not in it: sketches are noised, and no ids come in."""

    space: Version
    sketches: list[Sketch] = Field(default=[], max_length=limits.max_sketches)
    open: list[Annotated[int, Field(ge=0, le=100_000)]] | None = Field(
        default=None, description="Clicks by topic that the reader declared not sensitive.", max_length=4096
    )
    limit: int = Field(default=20, ge=1, le=limits.max_slate)
    category: list[Annotated[str, Field(max_length=200)]] | None = Field(default=None, min_length=1, max_length=50)
    max_age_hours: float | None = Field(default=None, gt=0, le=1e6)
    diversity: float | None = Field(
        default=None, ge=0, le=1, description="0: by score alone; 1: categories take turns."
    )
    details: bool = Field(default=False, description="Send titles and vectors too, so that the device can re-rank.")


class Slate(ApiMessage):
    """The articles of an answer, in the order in which the server sent them."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    articles: list[ArticleId] = Field(min_length=2, max_length=limits.max_slate)
    signature: Annotated[str, Field(min_length=1, max_length=100)]


class LabelReport(ApiMessage):
    """The noised label of one impression."""

    id: ReportId
    kind: Literal["label"]
    model: Version
    slate: Slate
    release: Base64


class SketchReport(ApiMessage):
    """The noised topic counts of one device and epoch."""

    id: ReportId
    kind: Literal["sketch"]
    space: Version
    epoch: Epoch
    device: Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{8,64}$", description="A random name, new for each epoch.")]
    clicks: Clicks = None
    release: Base64


class NewArticle(ApiMessage):
    """An article to list."""

    id: ArticleId
    title: PlainText = Field(max_length=2000)
    abstract: PlainText = Field(default="", max_length=20_000)
    category: PlainText = Field(default="", max_length=200)
    section: PlainText = Field(default="", max_length=200)
    url: Link = ""
    image: Link = ""
    published: Moment | None = Field(
        default=None,
        description="Seconds since 1970, or ISO 8601 with a time zone (without one: UTC); null if unknown.",
    )


class SlateCount(ApiMessage):
    """Articles that a page of the publisher showed together, and how often."""

    articles: list[ArticleName] = Field(min_length=1, max_length=1000)
    shown: int = Field(default=1, ge=1, le=1_000_000_000)


Report = Annotated[LabelReport | SketchReport, Field(discriminator="kind")]
REPORT: TypeAdapter[LabelReport | SketchReport] = TypeAdapter(Report)
NEW_ARTICLES: TypeAdapter[list[NewArticle]] = TypeAdapter(Annotated[list[NewArticle], Field(max_length=5000)])
SHOWN_SLATES: TypeAdapter[list[SlateCount]] = TypeAdapter(Annotated[list[SlateCount], Field(max_length=5000)])


class StoredArticle(BaseModel):
    """An article with its state, for administrators."""

    id: str
    state: Literal["waiting", "listed", "expired", "deleted"]
    title: str
    url: str
    published: int = Field(description="Seconds since 1970; -1 if unknown.")


class ArticleListing(BaseModel):
    """Some articles in the order of their ids; the next ones come after the id `next`, if there is one."""

    articles: list[StoredArticle]
    next: str | None


class Problem(BaseModel):
    """Why a request was refused."""

    error: str = Field(examples=["this server ranks in space 9f2c4b1a77d0e355; ask /v1/model again"])
    current: str | None = Field(default=None, description="The version that would have been right.")


class RankedArticle(BaseModel):
    """An article of an answer; with `details`, the fields of the catalogue as well."""

    id: str
    base: float
    title: str | None = None
    abstract: str | None = None
    category: str | None = None
    section: str | None = None
    url: str | None = None
    image: str | None = None
    published: int | None = None
    topic: int | None = None
    vector: str | None = None


class RecommendAnswer(BaseModel):
    """The best articles, best first. `slate` and `signature` go into a label report."""

    model: str
    slate: str
    signature: str
    personal: bool
    articles: list[RankedArticle]


class CatalogueArticle(BaseModel):
    """An article of the catalogue."""

    id: str
    title: str
    abstract: str
    category: str
    section: str | None = None
    url: str | None = None
    image: str | None = None
    published: int | None
    topic: int
    vector: str = Field(description="Base64 of int8 coordinates; the value is int8 · vectors.scale of /v1/model.")


class ArticlePage(BaseModel):
    """A page of the catalogue, which never changes."""

    articles: list[CatalogueArticle]


class PageOf(BaseModel):
    """Where a page is: /v1/catalogue/{name}."""

    name: str = Field(description="SHA-256 of the page's bytes, uncompressed, in hex.")
    articles: int = Field(description="How many articles are in it.")


class CatalogueAnswer(BaseModel):
    """The whole catalogue, by the names of its pages, and what to show first."""

    model: str
    space: str
    pages: list[PageOf]
    bases: str = Field(description="Base64 of a little-endian float32 for each article, in the order of the pages.")
    front: list[CatalogueArticle]
    front_bases: list[float]
    popularity: str | None = Field(
        default=None, description="With an experiment: how much of each base score popularity makes, in the same form."
    )
    front_popularity: list[float] | None = None


class ReportAnswer(BaseModel):
    """A report that is kept."""

    id: str
    status: Literal["kept", "known"]


class TasksAnswer(BaseModel):
    """Sums that devices may contribute to, with their terms."""

    tasks: list[dict[str, Any]]


class CellsAnswer(BaseModel):
    """What each value of a contribution stands for."""

    cells: list[str]


class NoticeSentence(BaseModel):
    """A sentence of the privacy notice."""

    name: str
    words: str = Field(description="English, with places for parameters in braces.")
    parameters: dict[str, str]
    text: str


class NoticeAnswer(BaseModel):
    """What to tell readers."""

    language: str
    sentences: list[NoticeSentence]


class ModelAnswer(BaseModel):
    """What a device needs to know before it releases anything."""

    api: int
    model: str
    kind: str
    space: str
    topics: int
    epsilon: dict[str, float | str]
    unit: str
    adjacency: str
    schedule: dict[str, Any]
    ranking: Literal["local", "shortlist", "server"]
    shortlist_size: int
    diversity: float
    rankings: list[dict[str, Any]]
    vectors: dict[str, Any]
    weights: dict[str, float]
    categories: list[dict[str, Any]]
    sections: list[dict[str, Any]]
    guarantee: dict[str, Any]
    words: list[str]
    reports: bool
    experiment: dict[str, Any] | None = Field(
        default=None, description="The arms of which each device draws one by itself, with their weights."
    )
