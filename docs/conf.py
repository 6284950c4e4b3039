"""The documentation site: `make docs` builds it, and a warning is an error."""

import sys
from pathlib import Path

from discreet import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Discreet"
author = "the Discreet developers"
copyright = "the Discreet developers"  # noqa: A001
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "generated",
]
exclude_patterns = ["_build", "_ext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
suppress_warnings = ["myst.xref_missing_outside"]

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"Discreet {__version__}"
html_static_path = []
html_theme_options = {"source_repository": "", "sidebar_hide_name": False}
