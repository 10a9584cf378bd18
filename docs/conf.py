"""Sphinx configuration."""

project = "cmab"
author = "The cmab developers"
copyright = "2026, the cmab developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
extensions += ["sphinx_gallery.gen_gallery"]
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "download_all_examples": False,
    "min_reported_time": 60,
}
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_title = "cmab: combinatorial bandits"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
exclude_patterns = ["_build", "changes/README.md", "gallery/*"]
suppress_warnings = ["myst.xref_missing"]
