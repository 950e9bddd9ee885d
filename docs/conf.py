"""How `make docs` builds the site; nothing is fetched, neither here nor by a browser."""

import importlib.metadata
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "_ext"), str(ROOT)]
os.environ.setdefault("COLUMNS", "100")

project = "recourse-audit"
author = "the authors of recourse-audit"
copyright = "the authors of recourse-audit"  # noqa: A001
release = importlib.metadata.version("recourse-audit")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "generated",
    "mathml",
]
exclude_patterns = ["_ext", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "gallery/*.zip"]
default_role = "code"
highlight_language = "text"
nitpicky = True
smartquotes_action = "qe"  # the dashes of --option stay two
# Types of other packages, of which nothing can be fetched, and records, which have own pages.
nitpick_ignore_regex = [
    ("py:.*", r"(?!recourse_audit\.).+"),
    ("py:class", r"recourse_audit\.(records|render|graph)\..+"),
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# The notebook is kept without output, and runs whenever the site is built.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_ipywidgets_js = {}

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
}

html_theme = "pydata_sphinx_theme"
html_title = "recourse-audit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "collapse_navigation": True,
    "footer_end": [],
    "footer_start": ["copyright"],
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navigation_depth": 3,
    "secondary_sidebar_items": ["page-toc"],
    "show_nav_level": 1,
    "show_prev_next": True,
    "use_edit_page_button": False,
}
html_sidebars = {"index": [], "glossary": [], "when_not_to_use": [], "faq": []}
