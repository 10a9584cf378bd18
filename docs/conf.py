"""Sphinx configuration."""

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes

sys.path.insert(0, str(Path(__file__).parent))
import namespace_pages

import cmab

project = "cmab"
author = "The cmab developers"
copyright = "2026, the cmab developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
extensions += ["sphinx_gallery.gen_gallery"]
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "download_all_examples": False,
    "min_reported_time": 60,
    "thumbnail_size": (640, 448),
    "reset_modules": ("matplotlib", "seaborn", "fresh_looks.forget"),
    # The data of this page come from a package that `pip install --no-deps bfcl-eval` adds.
    "expected_failing_examples": [] if find_spec("bfcl_eval") else ["gallery/plot_tools.py"],
}
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
release = cmab.__version__
html_title = f"cmab {release}"
html_static_path = ["_static"]
html_css_files = ["cmab.css"]
html_sidebars = {"index": []}
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "collapse_navigation": True,
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "index": [],
        "reference/algorithms": [],
        "how-to/problems": [],
    },
}
# A site with several versions: its address, and the version that this build is.
if site := os.environ.get("DOCS_SITE"):
    html_theme_options["switcher"] = {
        "json_url": f"{site}/versions.json",
        "version_match": os.environ["DOCS_VERSION"],
    }
    html_theme_options |= {"check_switcher": False, "navbar_start": ["navbar-logo", "version-switcher"]}
html_show_sourcelink = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_type_aliases = {
    name: name for name in ("AnyArray", "ArrayLike", "BoolArray", "FloatArray", "IntArray")
}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 76
autosummary_generate = False
default_role = "py:obj"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
exclude_patterns = ["_build", "changes/README.md", "gallery/*"]
suppress_warnings = ["myst.xref_missing"]


PUBLIC = [thing for *_, thing in namespace_pages.names()]
#: The namespaces in which a name of a page may stand; the package before it may be left out.
SPACES = ["", *(f"{namespace}." for namespace in namespace_pages.NAMESPACES)]


def add_contents(app, page, source):
    """Make the table of contents of an index page from the links of its lists, so that the page is plain Markdown."""
    if page.rpartition("/")[2] == "index" and page != "auto_gallery/index":
        items = "\n".join(line for line in source[0].splitlines() if line.startswith("- "))
        links = [f"{title} <{place}>" for title, place in re.findall(r"\[([^\]]+)\]\(([^\s)]+)\.md\)", items)]
        links += ["Examples <auto_gallery/index>"] if page == "index" else []
        links += [f"/api/{name}" for name in namespace_pages.FURTHER] if page == "reference/index" else []
        source[0] += "\n".join(["\n```{toctree}", ":hidden:", "", *links, "```", ""])


def show_public_bases(app, name, cls, options, bases):
    """In place of a class that has no page, show its bases."""
    shown = [base for base in cls.__mro__[1:] if base in PUBLIC]
    bases[:] = [
        base for base in shown if not any(issubclass(other, base) for other in shown if other is not base)
    ]


def show_defaults(app, what, name, thing, options, signature, returns):
    """Of a default that each object makes anew, `...` is shown: Python reads that, and Sphinx can part the arguments."""
    return signature and signature.replace("<factory>", "..."), returns


def link_names(app, doctree, page):
    """Make a reference of every name in backquotes that has a page: `CUCB`, `oracles.TopK`, `simulate(...)`."""
    objects = app.env.get_domain("py").objects
    for literal in list(doctree.findall(nodes.literal)):
        name = re.fullmatch(r"([A-Za-z_][\w.]*)(\(.*\))?", literal.astext())
        if not name or isinstance(literal.parent, nodes.reference):
            continue
        package, _, inner = name[1].partition(".")
        top = package if package in namespace_pages.FURTHER else ""
        for space in SPACES:
            is_within = top and space.startswith(f"{top}.")
            found = objects.get(space + (inner if is_within else name[1]))
            if found and found.docname != page:
                place = app.builder.get_relative_uri(page, found.docname)
                link = nodes.reference("", "", refuri=f"{place}#{found.node_id}", internal=True)
                literal.replace_self(link)
                link += literal
                break


def write_plain_pages(app, failure):
    """Copy the Markdown of the pages beside their HTML, and list them in `llms.txt` for assistants."""
    lines = [f"# cmab {release}", "", "> Combinatorial bandits with graph oracles in Python.", ""]
    for page in sorted(Path(app.srcdir).glob("*/*.md")):
        place = page.relative_to(app.srcdir)
        text = page.read_text()
        title, first = (part.strip() for part in text.split("\n\n")[:2])
        lines.append(f"- [{title.removeprefix('# ')}]({place}): {' '.join(first.split())}")
        (Path(app.outdir) / place).write_text(text)
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n")


def setup(app):
    """Write the pages of the reference before Sphinx looks for pages."""
    app.connect("config-inited", lambda app, _: namespace_pages.write(Path(app.srcdir) / "api"))
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-bases", show_public_bases)
    app.connect("autodoc-process-signature", show_defaults)
    app.connect("doctree-resolved", link_names)
    app.connect("build-finished", write_plain_pages)
