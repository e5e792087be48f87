"""Settings of the documentation site: `make docs` builds it into build/docs, to be read without a network.

Pages are plain Markdown, readable on a code host too; this file inserts Sphinx directives while the site is built.
"""

import importlib
import re
import tomllib
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

import anyorder

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "anyorder"
author = "The anyorder developers"
release = version = anyorder.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks carry their results; tests run them
suppress_warnings = ["mystnb.unknown_mime_type"]

autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_member_order = "bysource"
add_module_names = False

html_theme = "furo"
html_title = "anyorder"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {"navigation_with_keys": True}
if address := PROJECT.get("urls", {}).get("Repository"):  # set by `make address`
    html_theme_options |= {"source_repository": address, "source_branch": "main", "source_directory": "docs/"}
exclude_patterns = ["_build"]

#: Pages whose text lies at the root of the repository.
AT_ROOT = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}


def _with_directives(app, page, source):
    """Put in what plain Markdown cannot say: contents, files at the root, docstrings."""
    if page == "index":
        source[0] += _contents(source[0])
    elif page in AT_ROOT:
        text = (ROOT / AT_ROOT[page]).read_text(encoding="utf-8")
        source[0] = re.sub(r"\]\((?:docs/)?([\w/-]+\.md)(#[\w-]+)?\)", _inside, text)
    elif page == "api":
        source[0] = re.sub(r"^- `(anyorder[\w.]*)`$", _documented, source[0], flags=re.MULTILINE)
        return
    if not page.startswith("notebooks/"):
        source[0] = _typeset(source[0])


#: Code, formulas, links, comments and headings stay as they are; sub- and superscripts of a letter or number are set.
_KEPT = r"```.*?```|`[^`\n]+`|\$\$.*?\$\$|\$[^$\n]+\$|\]\([^)]*\)|<[^>]+>|^#[^\n]*$"
_SCRIPT = r"\{[^{}]*\}|\((?:[^()\s]|\([^()]*\))*\)|-?(?:[0-9]+|[^\W\d_])(?![^\W_])"
_SYMBOL = rf"(?<![\w\\])(?:[0-9]+|[^\W\d_])(?:[_^](?:{_SCRIPT}))+"


def _typeset(text):
    """Typeset v_n, 2^-j and S^(k+1) in running text, which code hosts show as they stand."""

    def script(found):
        inner = found[2][1:-1] if found[2][0] in "({" else found[2]
        return f"{found[1]}{{{inner}}}"

    def formula(found):
        return found[0] if found["kept"] else f"${re.sub(f'([_^])({_SCRIPT})', script, found[0])}$"

    return re.sub(f"(?P<kept>{_KEPT})|{_SYMBOL}", formula, text, flags=re.DOTALL | re.MULTILINE)


def _inside(link):
    """A link from the root of the repository, as a page of the site has it."""
    pages = {file: f"{page}.md" for page, file in AT_ROOT.items()}
    return f"]({pages.get(link[1], link[1])}{link[2] or ''})"


def _contents(index):
    """The contents of the site: sections of the first page, with the pages that they link to."""
    trees = []
    for section in index.split("\n## ")[1:]:
        pages = re.findall(r"\]\(([\w/-]+)\.(?:md|ipynb)\)", section)
        trees.append(
            "\n".join(["", "```{toctree}", f":caption: {section.splitlines()[0]}", ":hidden:", "", *pages, "```"])
        )
    return "\n".join(trees) + "\n"


def _documented(line):
    """A name of the package, as the directive that shows its docstrings."""
    module, _, last = line[1].rpartition(".")
    if callable(getattr(importlib.import_module(module), last)):
        directive = f".. autofunction:: {line[1]}\n"
    else:
        directive = f".. automodule:: {line[1]}\n   :members:\n   :imported-members:\n   :noindex:\n"
    return f"```{{eval-rst}}\n{directive}```\n"


def _formula(display):
    """Set formulas as MathML, which browsers typeset by themselves."""

    def visit(writer, node):
        writer.body.append(convert(node.astext(), display=display))
        raise SkipNode

    return visit, None


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
    app.add_html_math_renderer("mathml", _formula("inline"), _formula("block"))
    app.connect("source-read", _with_directives)
    app.connect("autodoc-process-signature", _plain_types)
    app.connect("autodoc-process-docstring", _as_restructured_text)
