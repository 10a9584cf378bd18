"""Every Python snippet of the README and the documentation runs."""

import pkgutil
import re
import shlex
import sys
from contextlib import redirect_stdout
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from itertools import pairwise
from types import ModuleType

import cloudpickle
import pytest
from places import ROOT

import cmab
import instances
import oracles
from cmab import cli
from instances.reproduce.experiment import experiments

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
#: A snippet, and what it prints if the page shows that below it.
SNIPPET = re.compile(r"^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)

# Pages that play or check for seconds.
SLOW = {"changing", "compare", "influence", "language-models", "lists", "models", "rounds", "which-learner"}
SLOW |= {f"your-own-{kind}" for kind in ("explorer", "oracle", "policy")}
#: The module that a page needs beyond those of the tests.
NEEDS = {"scale": "pyarrow", "models": "sklearn", "language-models": "sklearn"}
ROWS = [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in SLOW), id=page.stem) for page in PAGES]


@pytest.mark.parametrize("page", ROWS)
def test_snippets_run(page, tmp_path, monkeypatch, request):
    """The snippets of a page run in order, in one namespace and an empty folder, and print what it shows."""
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"snippets_of_{page.stem}")
    # As in a notebook, classes can be pickled, and go to other processes by value.
    monkeypatch.setitem(sys.modules, module.__name__, module)
    cloudpickle.register_pickle_by_value(module)
    request.addfinalizer(lambda: cloudpickle.unregister_pickle_by_value(module))
    namespace = vars(module)
    for match in SNIPPET.finditer(page.read_text(encoding="utf-8")):
        line = page.read_text(encoding="utf-8")[: match.start()].count("\n") + 1
        with redirect_stdout(StringIO()) as printed:
            exec(compile("\n" * line + match[1], str(page), "exec"), namespace)
        if match[2]:
            shown, flags = without_times(match[2]), ELLIPSIS | NORMALIZE_WHITESPACE
            assert OutputChecker().check_output(shown, printed.getvalue(), flags), printed.getvalue()


def without_times(shown):
    """A table may show milliseconds or seconds, which are others in every run."""
    lines = shown.splitlines()
    for head, line in enumerate(lines):
        times = re.search("  (ms a round|seconds)  ", line)
        for row in range(head + 1, len(lines) if times else 0):
            if lines[row]:
                lines[row] = lines[row][: times.start(1)] + "..." + lines[row][times.end(1) :]
    return "\n".join(lines) + "\n"


def test_commands_in_the_pages_are_commands():
    """Each line that begins with `cmab` is one that the parser takes, with options that exist."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```$", pages, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    commands = [
        shlex.split(line.removeprefix("$ "), comments=True)[1:]
        for line in lines
        if re.match(r"(\$ )?cmab ", line)
    ]
    assert len(commands) >= 5
    for arguments in commands:
        parsed = cli._parser(arguments).parse_args(arguments)
        assert callable(parsed.run), arguments


def test_no_example_plays_on_falling_means():
    """Ties go to the lower index, so that falling means make a learner's first guess the optimum."""
    number = r"\d*\.\d+"
    lists = re.compile(rf"\[((?:\s*{number}\s*,){{2,}}\s*{number}\s*),?\s*\]")
    ranges = re.compile(rf"linspace\(\s*({number})\s*,\s*({number})")
    docs, seen = ROOT / "docs", 0
    for file in [*PAGES, *docs.rglob("*.py"), *(ROOT / "cmab").glob("policies/*.py")]:
        text = file.read_text(encoding="utf-8")
        for values in [*(found.split(",") for found in lists.findall(text)), *ranges.findall(text)]:
            means = [float(value) for value in values if value.strip()]
            falls = means[0] > means[-1] and all(one >= other for one, other in pairwise(means))
            assert not falls, (file.name, values)
            seen += 1
    assert seen >= 10


def test_links_lead_to_files_of_the_repository_and_to_their_headings():
    """In a clone, every relative link and picture of a page exists, and so does the heading after its `#`."""
    for file in PAGES:
        prose = re.sub(r"^```.*?^```", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", prose):
            place, _, heading = link.partition("#")
            if place.startswith(("http", "mailto")):
                continue
            target = (file.parent / place).resolve() if place else file
            assert target.exists(), (file.name, link)
            if heading:
                titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
                assert heading in {
                    re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
                }, link


GROUPS = {"cmab.commands"}


PUBLIC = {*dir(cmab), *dir(oracles), *dir(instances)}
GROUPS_OF_CLASSES = ("oracles", "environments", "policies", "explorers")
CLASSES = sorted(name for group in GROUPS_OF_CLASSES for name in cli.classes()[group] if name in PUBLIC)


@pytest.mark.parametrize("name", CLASSES)
def test_every_plug_in_has_a_row_in_the_table_of_algorithms(name):
    rows = [line for line in page("algorithms") if line.startswith("|")]
    assert any(re.search(rf"`[^`]*\b{name}\b[^`]*`", row) for row in rows)


@pytest.mark.parametrize("name", experiments())
def test_every_experiment_has_a_row_in_the_page_on_reproductions(name):
    assert any(line.startswith(f"| `{name}` |") for line in page("reproducing"))


def page(stem):
    (file,) = (file for file in PAGES if file.stem == stem)
    return file.read_text(encoding="utf-8").splitlines()


def test_names_in_the_docs_exist():
    """`cmab.thing`, `oracles.thing.part` and the like, wherever a page puts them in backquotes.

    The pages of changes also name what was there before.
    """
    named = re.compile(r"`((?:cmab|oracles|instances)(?:\.\w+)+)")
    for file in PAGES:
        if file.parent.name == "changes":
            continue
        for name in named.findall(file.read_text(encoding="utf-8")):
            if name not in GROUPS:
                pkgutil.resolve_name(name)


def test_the_reference_lists_every_public_name_once():
    spec = spec_from_file_location("reference", ROOT / "docs" / "namespace_pages.py")
    reference = module_from_spec(spec)
    spec.loader.exec_module(reference)
    for module in " ".join(reference.MODULES.values()).split():
        pkgutil.resolve_name(module)
    documented = [name for name, *_ in reference.names()]
    assert len(documented) == len(set(documented)) > 200
    assert {"cmab.policies.CUCB", "cmab.simulate", "oracles.TopK"} <= {*documented}
