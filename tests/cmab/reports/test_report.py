"""Reports: statistics against other computations, pages of unfinished studies, a look in a real browser."""

import base64
import errno
import html
import json
import os
import re
import shutil
import subprocess
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cmab import CUCB, Study, identify, plotting, simulate
from cmab.cli import main
from cmab.confidence.radii import LogRadius
from cmab.intervals import holm, paired_p_value, proportion_interval, sign_p_value
from cmab.reports._labels import drawn_names, slugs
from cmab.reports.report import write_report
from cmab.studies._bounds import regret_bounds
from cmab.studies._compared import grids
from cmab.theory import Smoothness, gap_dependent_bound, gap_free_bound, reward_gaps
from instances import BernoulliArms, SemiBandit
from oracles import TopK

pytest.importorskip("matplotlib").use("Agg")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MEANS = [0.9, 0.7, 0.5, 0.3]
SPECIFICATION = {
    "horizon": 60,
    "replications": 4,
    "max_samples": 5000,
    "instances": {
        "ads & <b>more</b>": {
            "oracle": {"class": "TopK", "n_arms": 4, "k": 2},
            "environment": {
                "class": "SemiBandit",
                "arms": {"class": "BernoulliArms", "means": MEANS},
                "oracle": "$oracle",
            },
        }
    },
    "learners": {"CUCB": {"class": "CUCB", "grid": {"radius_factor": [0.2, 1.0]}}, "CTS": {"class": "CTS"}},
    "explorers": {
        "LUCB": {"class": "LUCB1", "k": 2, "grid": {"delta": [0.05, 0.2]}},
        "SAR": {"class": "SAR", "k": 2, "grid": {"budget": [8, 40]}},
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("study")
    Study(SPECIFICATION).run(place)
    assert main(["report", str(place)]) == 0
    return place


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (7, 7), (3, 20)])
def test_proportion_interval_is_scipys(hits, trials):
    expected = stats.binomtest(hits, trials).proportion_ci(0.9, "exact")
    np.testing.assert_allclose(proportion_interval(hits, trials, level=0.9), expected)


def test_p_values_are_scipys():
    a, b = np.random.default_rng(0).normal(size=(2, 9))
    np.testing.assert_allclose(paired_p_value(a - b), stats.ttest_rel(a, b).pvalue)
    np.testing.assert_allclose(sign_p_value(2, 9), stats.binomtest(2, 11).pvalue)
    assert np.isnan([paired_p_value(np.ones(3)), paired_p_value(np.ones(1)), sign_p_value(0, 0)]).all()


def test_holm_is_the_closed_test_of_bonferroni():
    """Adjusted p of a hypothesis: the largest Bonferroni p of all sets of hypotheses that hold it."""
    p = np.array([0.01, 0.2, 0.013, 0.04, 0.04])
    sets = [chosen for size in range(1, 6) for chosen in combinations(range(5), size)]
    expected = [max(min(1.0, len(s) * p[list(s)].min()) for s in sets if i in s) for i in range(5)]
    np.testing.assert_allclose(holm(p), expected)
    np.testing.assert_allclose(holm([np.nan, 0.01, 0.04]), [np.nan, 0.02, 0.04])


@pytest.mark.slow
def test_the_page_names_the_best_and_shows_every_pair(folder):
    """In the words and numbers of the study's comparisons."""
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    study, (instance,) = Study.open(folder), SPECIFICATION["instances"]
    learned = study.comparisons(folder)[instance]
    assert page.count(learned.headline) == 2
    cells = {
        (row[""].split(" ", 1)[1], place): cell for row in learned.matrix() for place, cell in row.items()
    }
    ranked = [row["learner"] for row in learned.rows()]
    for a, b in permutations(ranked, 2):
        more = learned[a].exact_regret[:, -1] - learned[b].exact_regret[:, -1]
        cell = cells[a, str(1 + ranked.index(b))]
        assert f">{cell}<" in page
        assert float(cell.strip("* ").replace("−", "-")) == pytest.approx(more.mean(), abs=0.006)
        assert cell.startswith("*") == any(
            row["differ at 5 %"] == "yes" and {row["less regret"], row["more regret"]} == {a, b}
            for row in learned.tests()
        )


def test_bounds_are_the_theorems_and_hold():
    oracle, rounds = TopK(4, 2), np.array([10, 100, 500])
    environment = SemiBandit(BernoulliArms(MEANS), oracle)
    bounds = regret_bounds(CUCB(oracle), environment, rounds)
    gaps = reward_gaps(oracle, MEANS, super_arms=combinations(range(4), 2))
    np.testing.assert_allclose(
        bounds["Theorem 1"], gap_dependent_bound(gaps, Smoothness.linear(2), rounds=rounds)
    )
    np.testing.assert_allclose(bounds["Theorem 2"], gap_free_bound(gaps, Smoothness.linear(2), rounds=rounds))
    regret = simulate(CUCB(oracle), environment, 500, checkpoints=rounds, replications=5, rng=0).regret
    assert (regret.mean(axis=0) <= np.minimum(*bounds.values())).all()
    assert list(regret_bounds(CUCB(oracle, radius=LogRadius.wide(3.0)), environment, rounds)) == ["Theorem 1"]
    assert not regret_bounds(CUCB(oracle, radius_factor=0.5), environment, rounds)
    large = TopK(40, 20)
    assert not regret_bounds(CUCB(large), SemiBandit(BernoulliArms(np.full(40, 0.5)), large), rounds)


@pytest.mark.slow
def test_files_and_page(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    stems = set(re.findall(r"<code>figures/([^<]+)</code>", page))
    kinds = ("bounds-cucb-radius-factor-1-0", "failures", "regret", "regret-log", "samples", "seconds")
    kinds += ("final-by-radius-factor", "samples-by-delta")
    assert stems == {f"ads-b-more-b-{kind}" for kind in kinds}
    files = {path.name for path in (folder / "figures").iterdir()}
    assert files == {f"{stem}{suffix}" for stem in stems for suffix in (".svg", ".png", ".pdf")}
    assert "ads &amp; &lt;b&gt;more&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "Unfinished" not in page
    assert "The time in the oracle is unknown for learners that ran compiled" in page
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)  # nothing from outside
    assert all(base64.b64decode(data) for data in re.findall(r"base64,([^\"]+)", page))


@pytest.mark.slow
def test_results_by_parameter_are_those_of_the_grid(folder):
    study, (instance,) = Study.open(folder), SPECIFICATION["instances"]
    found = study.by_parameter(folder, "delta")[instance]
    assert list(found) == ["LUCB"]
    samples = study.identifications(folder)
    for delta, each in found["LUCB"].items():
        np.testing.assert_array_equal(each.samples, samples[instance, f"LUCB delta={delta}"].samples)
    with pytest.raises(ValueError, match=r"budget.*delta.*radius_factor"):
        study.by_parameter(folder, "k")


def test_two_parameters_make_a_curve_for_each_value_of_the_other():
    tables = {"A": {"grid": {"a": [1, 2], "b": ["x", {"class": "C"}], "c": [0]}}, "B": {}}
    found = grids(tables)
    table = "{'class': 'C'}"
    assert found["a"] == {f"A b={b} c=0": {a: f"A a={a} b={b} c=0" for a in (1, 2)} for b in ("x", table)}
    assert found["b"]["A a=2 c=0"] == {"x": "A a=2 b=x c=0", table: f"A a=2 b={table} c=0"}
    assert list(found) == ["a", "b"]


def test_names_that_look_alike_keep_their_own_files():
    names = ["A b", "a-b", "a-b-2", "…"]
    assert len(set(slugs(names).values())) == 4


@pytest.mark.slow
def test_the_same_results_give_the_same_page(folder):
    before = (folder / "report.html").read_bytes()
    write_report(folder)
    assert (folder / "report.html").read_bytes() == before


@pytest.mark.slow
def test_an_unfinished_study_is_reported_as_such(tmp_path):
    study = Study(SPECIFICATION)

    def stop(piece, _):
        if piece.replication == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path, report=stop)
    page = write_report(tmp_path, band_kind="bootstrap", level=0.9).read_text(encoding="utf-8")
    done = len(study.pieces) - len(study.missing(tmp_path))
    assert f"{done} of {len(study.pieces)}" in " ".join(page.split())


@pytest.mark.slow
def test_a_full_disk_keeps_the_last_page(folder, capsys, monkeypatch):
    before, write = (folder / "report.html").read_bytes(), Path.write_text

    def half(path, text, **settings):
        write(path, text[: len(text) // 2], **settings)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", half)
        assert main(["report", str(folder)]) == 1
    assert f"no report can be written to {folder} (No space left on device)" in capsys.readouterr().err
    assert (folder / "report.html").read_bytes() == before
    assert not list(folder.glob("*.part"))


@pytest.mark.slow
def test_an_unknown_optimum_leaves_rewards(tmp_path):
    specification = SPECIFICATION | {
        "instances": {
            "cascade": {
                "oracle": {
                    "class": "InfluenceMaximization",
                    "graph": {"networkx": "path_graph", "n": 3},
                    "k": 1,
                },
                "environment": {
                    "class": "IndependentCascade",
                    "graph": {"networkx": "path_graph", "n": 3},
                    "probability": [0.5, 0.5, 0.5, 0.5],
                },
            }
        }
    }
    del specification["explorers"], specification["max_samples"]
    Study(specification | {"horizon": 5, "replications": 2}).run(tmp_path)
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert re.findall(r"<code>figures/([^<]+)</code>", page) == [
        "cascade-reward",
        "cascade-final-by-radius-factor",
    ]
    assert "in the oracle</th>" in page
    assert "ran compiled" not in page


@pytest.mark.slow
def test_notebooks_show_tables(folder):
    study = Study.open(folder)
    found = study.identifications(folder)
    for results in (study.results(folder), found):
        shown = results._repr_html_()
        assert all(learner in shown for _, learner in results)
        assert "&lt;b&gt;" in shown
    name = next(iter(found))[1]
    assert name in next(iter(found.values()))._repr_html_()


@pytest.mark.slow
def test_refusals(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 1
    Study(SPECIFICATION).missing(tmp_path)
    assert main(["report", str(tmp_path), "--level", "1.5"]) == 1
    assert "a folder in which a study ran" in capsys.readouterr().err


@pytest.mark.slow
def test_sample_bars_and_failure_curves():
    arms = BernoulliArms(MEANS)
    study = Study({k: v for k, v in SPECIFICATION.items() if k not in ("horizon", "learners")})
    explorer = next(iter(study.plan.explorations.values()))
    found = identify(explorer, arms, replications=5, rng=0, max_samples=30)
    assert not found.stopped.any()
    axes = found.plot()
    assert axes.patches[0].get_width() == found.samples.mean()
    assert any("cut off" in text.get_text() for text in axes.texts)
    axes = plotting.failure_curves({"A": [(20, 0, 10), (10, 5, 10)], "B": [(10, 4, 10), (20, 1, 10)]})
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), [0.5, np.nan])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["A", "B"]
    plotting.pyplot().close("all")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 400])
def test_a_browser_shows_all_of_it(folder, tmp_path, width):
    """Every figure has a size, nothing is wider than the window, and no script or load fails."""
    if BROWSER is None:
        pytest.skip("no Chromium on this machine")
    probe = (
        "<script>window.faults=[];addEventListener('error',e=>faults.push(String(e.message||e.target.src)),true);"
        "addEventListener('load',()=>{document.body.innerHTML+='<pre id=seen>'+JSON.stringify({"
        "sizes:[...document.images].map(i=>Math.min(i.naturalWidth,i.naturalHeight,i.width)),"
        "overflow:document.documentElement.scrollWidth-document.documentElement.clientWidth,"
        "outside:performance.getEntriesByType('resource').map(r=>r.name.slice(0,5)),"
        "faults})+'</pre>'})</script>"
    )
    page = (folder / "report.html").read_text(encoding="utf-8")
    (tmp_path / "page.html").write_text(page.replace("<head>", f"<head>{probe}"), encoding="utf-8")
    seen = _browse(tmp_path, width, f"file://{tmp_path / 'page.html'}")
    assert len(seen["sizes"]) == 8
    assert min(seen["sizes"]) > 100
    assert seen["overflow"] <= 0
    assert seen["faults"] == []
    assert set(seen["outside"]) <= {"data:"}


def _browse(tmp_path: Path, width: int, address: str):
    flags = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
    done = subprocess.run(
        [BROWSER, "--headless", *flags, "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
         f"--window-size={width},900", "--virtual-time-budget=10000", "--dump-dom", address],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout).group(1)))


STRANGE = [
    r"$\frac$",
    "cost $5 or $10",
    "$",
    "_hidden",
    "long " * 1000,
    "long " * 999 + "other",
    "two\nlines",
    "\x1b[31mred\x00",
    "../../up",
    "%s {} \\",
    "<b>",
]


@pytest.mark.slow
def test_names_are_shown_as_they_are(tmp_path):
    """None is a formula for the figures, a path for the files or a tag for the page."""
    (instance,) = SPECIFICATION["instances"].values()
    study = Study(
        {
            "horizon": 5,
            "replications": 2,
            "instances": {STRANGE[4]: instance},
            "learners": {name: {"class": "RandomPolicy"} for name in STRANGE},
            "explorers": {
                f"{name}!": {"class": "UniformAllocation", "budget": 8, "k": 2} for name in STRANGE
            },
        }
    )
    study.run(tmp_path)
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "cost $5 or $10" in page
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"results.sqlite", "report.html", "figures"}
    shown = drawn_names(STRANGE)
    assert len(set(shown.values())) == len(STRANGE)
    assert all(text.isprintable() and len(text) < 60 for text in shown.values())
    curves = {text: ([1, 2], np.ones((2, 2))) for text in shown.values()}
    axes = plotting.curves_with_bands(curves, x_label="x", y_label="y")
    axes.figure.canvas.draw()
    assert len(axes.get_legend().get_texts()) == len(STRANGE)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
@pytest.mark.parametrize("name", ["report.html", "report.html.part", "figures/{figure}"])
def test_planted_links_are_not_followed(folder, tmp_path, name):
    """Nor is what they point to written over."""
    copied, victim = tmp_path / "results", tmp_path / "victim"
    shutil.copytree(folder, copied)
    victim.write_text("precious")
    figure = next((folder / "figures").iterdir()).name
    link = copied / name.format(figure=figure)
    link.unlink(missing_ok=True)
    link.symlink_to(victim)
    write_report(copied)
    assert victim.read_text() == "precious"
    shutil.rmtree(copied / "figures")
    (tmp_path / "elsewhere").mkdir()
    (copied / "figures").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="figures must not be a link"):
        write_report(copied)
    assert not list((tmp_path / "elsewhere").iterdir())
