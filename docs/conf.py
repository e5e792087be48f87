"""Settings of the documentation site: `make docs` builds it into build/docs, to be read without a network."""

import re

import anyorder

project = "anyorder"
author = "The anyorder developers"
release = version = anyorder.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks carry their results; tests run them
suppress_warnings = ["mystnb.unknown_mime_type"]

autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_member_order = "bysource"
add_module_names = False

html_theme = "furo"
html_title = "anyorder"
html_static_path = []
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
exclude_patterns = ["_build"]


def _as_restructured_text(app, what, name, obj, options, lines):
    """Docstrings are Markdown: `code` gets the marks of reStructuredText, and |x| is an absolute value."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line)
            lines[place] = re.sub(r"\|", r"\\|", line)


def _plain_types(app, what, name, obj, options, signature, returned):
    """A type as default is shown by its name."""
    return signature and re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", signature), returned


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", _plain_types)
    app.connect("autodoc-process-docstring", _as_restructured_text)
