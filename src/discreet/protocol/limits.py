"""The version and the limits of the protocol, as `schema.json` gives them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

SCHEMA: dict[str, Any] = json.loads(files("discreet.protocol").joinpath("schema.json").read_text(encoding="utf-8"))
API: int = SCHEMA["api"]
_LIMITS: dict[str, Any] = SCHEMA["limits"]

MAX_PAGES: int = _LIMITS["max_pages"]
MAX_SKETCHES: int = _LIMITS["max_sketches"]
MAX_SLATE: int = _LIMITS["max_slate"]
MAX_BASE: float = SCHEMA["catalogue"]["properties"]["front_bases"]["items"]["maximum"]

MAX_CLICKS: int = _LIMITS["max_clicks"]
"""The most clicks that one sketch may be of; a device with more in an epoch counts its latest."""

MAX_CLICKS_IN_ALL: int = _LIMITS["max_clicks_in_all"]
"""The most clicks that one request may speak of."""
