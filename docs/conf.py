"""Documentation: furo, MyST, mathematics that renders offline."""

import re
import sys
from pathlib import Path

import dynafield

sys.path.insert(0, str(Path(__file__).parent))
from gallery_build import Gallery

project = "dynafield"
author = "The dynafield developers"
copyright = "2026, the dynafield developers"
version = release = dynafield.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"dynafield {version}"
html_static_path = ["_static"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# types of parameters are words and shapes, no names to link to
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
exclude_patterns = ["_build"]


def render_mathematics(app, what, name, obj, options, lines):
    """Docstrings write mathematics between backslash brackets; Sphinx wants roles."""
    text = "\n".join(lines)
    text = re.sub(r"\\\[(.+?)\\\]", lambda m: ":math:`" + " ".join(m[1].split()) + "`", text, flags=re.S)
    text = re.sub(r"\\\((.+?)\\\)", lambda m: ":math:`" + " ".join(m[1].split()) + "`", text, flags=re.S)
    lines[:] = text.split("\n")


def setup(app):
    app.add_config_value("gallery_pictures", True, "env")  # the tests run the scripts elsewhere
    app.add_directive("gallery", Gallery)
    app.connect("autodoc-process-docstring", render_mathematics)
