"""Settings of Sphinx for the site; `make site` builds it into build/site.

Pages are Markdown, and are read on GitHub, too. So they are plain: this file makes links of names in backticks, leads
links of files outside of docs to their pages, and takes the sources of generated numbers out.
"""

import inspect
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

sys.path.append(str(Path(__file__).parent))  # at the end: numbers.py here is not Python's
from reference_pages import write_reference

project, author = "nadek", "The nadek authors"
release = metadata.version("nade-k")
project_copyright = "2026, The nadek authors"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["examples", "pictures"]
suppress_warnings = ["config.cache"]  # the settings of the gallery hold a function
default_role = "py:obj"
smartquotes_action = "q"  # two dashes begin an option

html_theme = "furo"
html_title = "nadek"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = html_copy_source = False
pygments_style, pygments_dark_style = "friendly", "monokai"

myst_heading_anchors = 4

autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_attr_annotations = False
maximum_signature_line_length = 80
napoleon_numpy_docstring = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1_000_000,
    "show_signature": False,
    "parallel": 2,
    "abort_on_example_error": True,
}

_ELSEWHERE = {
    r"\]\((?:\.\./)+CONTRIBUTING\.md": "](/contributing.md",
    r"\]\(\.\./README\.md": "](/index.md",
    r"\]\(examples/GALLERY_HEADER\.rst\)": "](gallery/index.rst)",
    r"\]\(((?:\.\./)*)examples/(\w+)\.py\)": r"](\1gallery/\2.rst)",
}
"""Links that work on GitHub, and where they lead on the site."""


def _lead_links(app: Sphinx, *about: Any) -> None:  # noqa: ANN401 - the name of a page, or of one that is included
    source: list[str] = about[-1]
    for link, page in _ELSEWHERE.items():
        source[0] = re.sub(link, page, source[0])


def _hide_sources_of_numbers(app: Sphinx, tree: nodes.document) -> None:
    """Take out comments, which name the records of numbers."""
    for node in list(tree.findall(nodes.raw)):
        if node.astext().startswith("<!--"):
            node.parent.remove(node)


def _link_names(app: Sphinx, tree: nodes.document) -> None:
    """Link names of the library that stand in backticks to the reference."""
    for node in list(tree.findall(nodes.literal)):
        name = node.astext().partition("(")[0]
        if re.fullmatch(r"nadek(?:\.\w+)+", name) and not isinstance(node.parent, nodes.reference | pending_xref):
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=name, refwarn=False)
            node.replace_self(link)
            link += node


def _is_foreign(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:  # noqa: ANN401, FBT001
    """Leave out what classes inherit from other libraries."""
    module = getattr(getattr(thing, "fget", thing), "__module__", None)
    is_foreign = inspect.isroutine(thing) if module is None else not module.startswith("nadek")
    return True if is_foreign else None


def _without_any(app: Sphinx, *about: Any) -> tuple[str | None, str | None]:  # noqa: ANN401
    """Leave types out of a signature where anything goes."""
    signature, returned = about[-2:]
    return signature and signature.replace(": ~typing.Any", ""), None if returned == "~typing.Any" else returned


def setup(app: Sphinx) -> None:
    """Connect the functions above, and write the pages of the reference."""
    write_reference(Path(__file__).parent / "reference")
    app.connect("source-read", _lead_links)
    app.connect("include-read", _lead_links)
    app.connect("doctree-read", _hide_sources_of_numbers)
    app.connect("doctree-read", _link_names)
    app.connect("autodoc-skip-member", _is_foreign)
    app.connect("autodoc-process-signature", _without_any)
