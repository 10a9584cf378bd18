"""Bands against their definitions; curves, scatters and graphs as matplotlib objects."""

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from inspect import isabstract
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from places import ROOT
from scipy import stats

from cmab import CUCB, LUCB1, Campaign, compare, identify, plan, plotting, simulate
from cmab.plotting import _looks
from cmab.plotting._style import look
from cmab.results.identification import Identification
from instances import BernoulliArms, SemiBandit
from oracles import TopK

plt = pytest.importorskip("matplotlib.pyplot")
to_rgb = pytest.importorskip("matplotlib.colors").to_rgb
plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def fresh_looks(monkeypatch):
    """Looks as in a new program: which names the tests before have drawn is theirs."""
    monkeypatch.setattr(_looks, "_EVERYWHERE", {})


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def results():
    oracle = TopK(6, 2)
    environment = SemiBandit(BernoulliArms([0.9, 0.8, 0.4, 0.3, 0.2, 0.1]), oracle)
    policies = {"CUCB": CUCB(oracle), "narrow": CUCB(oracle, radius_factor=0.2)}
    return {
        name: simulate(policy, environment, 60, replications=5, rng=0) for name, policy in policies.items()
    }


def test_t_band_is_scipys_interval():
    values = np.random.default_rng(0).normal(size=(7, 4))
    mean, low, high = plotting.band(values, "t", level=0.9)
    expected = stats.t.interval(0.9, 6, values.mean(axis=0), stats.sem(values, axis=0))
    np.testing.assert_allclose([mean, low, high], [values.mean(axis=0), *expected])


@pytest.mark.slow
def test_bootstrap_band_covers_the_mean():
    """400 samples of 30: coverage of a 90 % band is binomial; 0.80 is 6.7 standard deviations away."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        _, low, high = plotting.band(rng.exponential(size=(30, 1)), "bootstrap", level=0.9)
        covered += bool(low[0] <= 1.0 <= high[0])
    assert 0.80 * 400 <= covered <= 0.97 * 400


@pytest.mark.parametrize("kind", ["t", "bootstrap"])
def test_unfinished_replications_count_where_they_were_played(kind):
    values = np.array([[1.0, 4.0, np.nan], [3.0, np.nan, np.nan], [5.0, 6.0, 7.0]])
    mean, low, high = plotting.band(values, kind)
    np.testing.assert_allclose(mean, [3.0, 5.0, 7.0])
    assert np.isnan([low[2], high[2]]).all()
    assert (low[:2] <= mean[:2]).all()
    assert (high[:2] >= mean[:2]).all()


@pytest.mark.parametrize(("kind", "level"), [("normal", 0.9), ("t", 1.0), ("t", 0.0)])
def test_bad_bands(kind, level):
    with pytest.raises(ValueError, match="got"):
        plotting.band(np.ones((2, 2)), kind, level=level)


@pytest.mark.parametrize("log", [False, True])
def test_curves_differ_without_colour(results, log):
    axes = plotting.regret_curves(results, log=log, band_kind="bootstrap")
    lines = axes.get_lines()
    assert [line.get_label() for line in lines] == list(results)
    assert len({line.get_linestyle() for line in lines}) == len({line.get_marker() for line in lines}) == 2
    np.testing.assert_allclose(lines[0].get_ydata(), results["CUCB"].regret.mean(axis=0))
    assert axes.get_xscale() == ("log" if log else "linear")
    axes.figure.canvas.draw()
    inside = axes.get_window_extent()
    legend = axes.get_legend().get_window_extent()
    assert legend.x0 >= inside.x1  # beside the curves, never over them


def test_bands_below_zero_do_not_stretch_log_axes():
    values = np.array([[0.1, 1.0, 10.0], [-5.0, 2.0, 12.0], [6.0, 3.0, 11.0]])
    axes = plotting.curves_with_bands({"A": ([1, 10, 100], values)}, x_label="x", y_label="y", log=True)
    low, high = axes.get_ylim()
    assert 0.01 < low < 0.37
    assert 12.0 < high < 100.0


def test_a_result_plots_itself(results):
    axes = results["CUCB"].plot()
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), results["CUCB"].regret.mean(axis=0))


def test_legend_stands_in_the_order_of_the_last_values(results):
    axes = plotting.regret_curves(results)
    last = {line.get_label(): line.get_ydata()[-1] for line in axes.get_lines()}
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == sorted(shown, key=lambda name: -last[name])


def test_only_observed_arms_are_drawn():
    counts = np.array([0, 3, 100])
    axes = plotting.learned_against_true(np.array([0.0, 0.5, 0.2]), np.array([0.3, 0.4, 0.2]), counts=counts)
    points = axes.collections[0].get_offsets()
    np.testing.assert_allclose(points, [[0.4, 0.5], [0.2, 0.2]])
    assert "2 of 3" in axes.get_title(loc="left")


@pytest.mark.slow
def test_layout_stays_the_same_and_keeps_components_apart():
    graph = nx.disjoint_union(nx.karate_club_graph(), nx.cycle_graph(5))
    graph.add_node("alone")
    places = plotting.layout(graph)
    again = plotting.layout(graph)
    assert set(places) == set(graph)
    for node in graph:
        np.testing.assert_array_equal(places[node], again[node])
    boxes = []
    for part in nx.connected_components(graph):
        spots = np.array([places[node] for node in part])
        boxes.append((*spots.min(axis=0), *spots.max(axis=0)))
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]


@pytest.mark.slow
def test_layout_is_the_same_in_another_process():
    code = (
        "import networkx as nx\nfrom cmab.plotting import layout\n"
        "g = nx.Graph([('a', 'b'), ('b', 'c'), ('x', 'y'), ('y', 'z'), ('z', 'x')])\n"
        "print([(n, *p) for n, p in layout(g).items()])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_every_node_is_drawn_once():
    graph = nx.path_graph(6)
    axes = plotting.draw_graph(
        graph, nodes={"Seed": [0], "Reached": [0, 1, 2]}, edges={"Passed on": [(0, 1), (1, 2)]}, labels=[0]
    )
    offsets = np.concatenate([c.get_offsets() for c in axes.collections if hasattr(c, "get_sizes")])
    assert len(offsets) == len(np.unique(offsets, axis=0)) == 6
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Passed on", "Seed", "Reached"]


def test_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"cmab\[plot\]"):
        plotting.pyplot()


@pytest.mark.slow
def test_files_are_written(tmp_path, results):
    plotting.save(plotting.regret_curves(results), tmp_path / "regret")
    assert {path.name for path in tmp_path.iterdir()} == {"regret.png", "regret.pdf"}


@pytest.mark.slow
def test_an_animation_moves_and_its_nodes_do_not(tmp_path):
    from PIL import Image

    graph, offsets = nx.path_graph(6), []
    places = plotting.layout(graph)

    def draw(axes, frame):
        plotting.draw_graph(graph, places, nodes={"Seed": [frame]}, title=f"Round {frame}", ax=axes)
        axes.figure.canvas.draw()
        offsets.append(axes.transData.transform([places[node] for node in graph]))

    plotting.animate(draw, range(3), path=tmp_path / "learning.gif", seconds=0.5)
    with Image.open(tmp_path / "learning.gif") as image:
        shown = []
        for number in range(image.n_frames):
            image.seek(number)
            shown.append((image.info["duration"], image.convert("RGB").tobytes()))
    assert len({picture for _, picture in shown}) == 3
    assert [duration for duration, _ in shown][:2] == [500, 500]
    assert sum(duration for duration, _ in shown) == 2500
    for frame in offsets[1:]:
        np.testing.assert_array_equal(frame, offsets[0])
    with pytest.raises(ValueError, match=r"must end in \.gif or \.mp4, got"):
        plotting.animate(draw, range(3), path=tmp_path / "learning.png")


def draw_level(axes, level):
    axes.set_facecolor(str(level / 4))


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_an_animation_as_mp4(tmp_path):
    """ffmpeg reads it back: five pictures, the last three alike, and lighter from one to the next."""
    path = tmp_path / "learning.mp4"
    plotting.animate(draw_level, range(3), path=path, seconds=0.5)
    decode = [
        "ffmpeg",
        "-v",
        "error",
        "-i",
        path,
        "-vf",
        "scale=8:8",
        "-pix_fmt",
        "gray",
        "-f",
        "rawvideo",
        "-",
    ]
    pictures = np.frombuffer(subprocess.run(decode, check=True, capture_output=True).stdout, np.uint8)
    levels = pictures.reshape(-1, 8, 8)[:, 4, 4].astype(int)
    assert len(levels) == 5
    np.testing.assert_allclose(levels, [0, 64, 128, 128, 128], atol=8)


def test_mp4_without_ffmpeg(tmp_path):
    with (
        plt.rc_context({"animation.ffmpeg_path": str(tmp_path / "none")}),
        pytest.raises(FileNotFoundError, match=r"learning\.mp4 needs the program ffmpeg"),
    ):
        plotting.animate(draw_level, range(3), path=tmp_path / "learning.mp4")
    assert not list(tmp_path.iterdir())


def test_no_two_curves_look_alike():
    """Not in colour, and not without it."""
    looks = [look(number) for number in range(49)]
    assert len({one["color"] for one in looks}) == 49
    assert len({(one["linestyle"], one["marker"]) for one in looks}) == 49
    for a, b in combinations(looks[:14], 2):  # as many as a figure can bear
        assert np.abs(np.subtract(to_rgb(a["color"]), to_rgb(b["color"]))).sum() > 0.15, (a, b)


def test_bars_do_not_look_alike_either():
    runs = identify(LUCB1(3, 1, delta=0.2), BernoulliArms([0.9, 0.2, 0.1]), replications=2, rng=0)
    axes = plotting.sample_bars({f"explorer {number}": runs for number in range(20)})
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in axes.patches}) == 20


def test_a_given_panel_keeps_its_legend(results):
    """Beside it stands its neighbour, or the edge of a figure whose layout leaves no room."""
    with plotting.style():
        figure, (left, _) = plt.subplots(1, 2)
    free = plt.figure(layout="none").add_subplot()
    for axes in (left, free):
        plotting.regret_curves(results, ax=axes)
        axes.figure.canvas.draw()
        legend, inside = axes.get_legend().get_window_extent(), axes.get_window_extent()
        assert inside.x0 <= legend.x0 < legend.x1 <= inside.x1 + 1
    assert figure.axes[0] is left


@pytest.mark.parametrize("font", ["cmr10", "DejaVu Serif"])
def test_every_letter_of_the_labels_is_in_the_font(results, font):
    """A missing one is a warning, which is an error here, and a box in the figure."""
    with plt.rc_context({"font.family": font, "axes.formatter.use_mathtext": True}):
        axes = plotting.regret_curves(results)
        axes.figure.canvas.draw()


@pytest.mark.parametrize("counts", [[3, 3, 3], [1, 1, 1], [127, 500, 300], [1, 90, 3000]])
def test_the_scale_of_counts_ends_with_them(counts):
    axes = plotting.learned_against_true(
        np.array([0.5, 0.2, 0.1]), np.array([0.4, 0.2, 0.2]), counts=np.array(counts)
    )
    norm = axes.collections[0].norm
    assert (norm.vmin, norm.vmax) == (min(counts), max(max(counts), min(counts) + 1))
    axes.figure.canvas.draw()


CELLS = [
    "import matplotlib.pyplot as plt\nfrom cmab import plotting\n"
    "plotting.curves_with_bands({'a': ([1, 2], [[1.0, 2.0], [2.0, 2.5]])}, x_label='x', y_label='y');",
    "plotting.curves_with_bands({'a': ([1, 2], [[1.0, 2.0], [2.0, 2.5]])}, x_label='x', y_label='y');",
    "from cmab import CUCB, compare, simulate\nfrom instances import BernoulliArms, SemiBandit\n"
    "from oracles import TopK\ntop = TopK(3, 1)\narms = SemiBandit(BernoulliArms([0.2, 0.7, 0.4]), top)\n"
    "simulate(CUCB(top), arms, 20, replications=2, rng=0).plot();",
    "compare({'CUCB': CUCB(top)}, arms, horizon=20, replications=2, rng=0).plot();",
    "plt.plot([1, 2]);",
]


@pytest.mark.slow
def test_every_figure_of_a_notebook_appears():
    """Also the user's own after ours."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    os.environ.pop("MPLBACKEND", None)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    for cell in notebook.cells:
        assert any("image/png" in output.get("data", {}) for output in cell.outputs), cell.source


def test_the_style_leaves_interaction_as_it_is():
    """As the first figure of a notebook does, which makes pyplot interactive."""
    for interactive in (True, False):
        plt.interactive(not interactive)
        with plotting.style():
            plt.interactive(interactive)
        assert plt.isinteractive() is interactive
    with pytest.raises(RuntimeError), plotting.style():
        raise RuntimeError


def test_a_name_looks_the_same_in_all_figures(results):
    """Whatever stands beside it, and whoever comes first; the names met everywhere look the same anywhere."""
    with plotting.own_looks():
        first = plotting.looks(["mine", "yours", "CUCB"])
        again = plotting.looks(["Thompson", "CUCB", "yours", "other"])
        assert all(first[name] == again[name] for name in ("yours", "CUCB"))
        assert first["CUCB"] == look(0)
        axes = plotting.regret_curves({"other": results["CUCB"], "mine": results["narrow"]})
        colours = {line.get_label(): line.get_color() for line in axes.get_lines()}
        assert colours == {"other": again["other"]["color"], "mine": first["mine"]["color"]}
        assert axes.get_lines()[0].get_linestyle() != axes.get_lines()[1].get_linestyle()
    with plotting.own_looks(["yours"]):
        assert plotting.looks(["mine"])["mine"] != plotting.looks(["yours"])["yours"]
        assert plotting.looks(["yours"])["yours"] == first["mine"]  # nothing of before is known here


def test_many_names_never_look_alike_within_a_figure():
    with plotting.own_looks(f"name {number}" for number in range(200)):
        shown = plotting.looks(f"name {number}" for number in range(0, 196, 4))
    assert len({(one["color"], one["linestyle"], one["marker"]) for one in shown.values()}) == 49


def test_a_panel_of_many_curves_has_its_legend_below(results):
    """Within it would cover the curves, beside it the neighbour."""
    with plotting.style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    plotting.regret_curves({f"learner {number}": results["CUCB"] for number in range(9)}, ax=left)
    figure.canvas.draw()
    legend = left.get_legend().get_window_extent()
    assert legend.y1 <= left.get_window_extent().y0
    assert legend.x1 <= right.get_window_extent().x0
    assert legend.y0 >= 0
    assert len(left.get_legend().get_texts()) == 9


def test_bars_of_cut_off_runs_are_medians_without_an_interval():
    explorer, arms = LUCB1(3, 1, delta=0.1), BernoulliArms([0.7, 0.5, 0.1])
    whole = identify(explorer, arms, replications=9, rng=0)
    cap = int(np.median(whole.samples))
    runs = identify(explorer, arms, replications=9, rng=0, max_samples=cap)
    assert runs.stopped.any()
    assert not runs.stopped.all()
    axes = plotting.sample_bars({"LUCB": runs})
    assert axes.patches[0].get_width() == np.median(runs.samples)
    dots = {line.get_marker(): len(line.get_xdata()) for line in axes.get_lines()}
    assert dots == {"o": runs.stopped.sum(), ">": (~runs.stopped).sum()}


def _explored(samples, stopped=None, correct=None):
    """Return the runs of an explorer that drew so many samples."""
    n = len(samples)
    flags = {"stopped": stopped or [True] * n, "correct": correct or [True] * n}
    arrays = {name: np.array(value) for name, value in flags.items()}
    return Identification("A", [np.array([0])] * n, np.array(samples), **arrays, certified=arrays["stopped"],
                          seconds=np.zeros(n))  # fmt: skip


def test_samples_stand_against_delta_at_their_means():
    found = {"A": {0.01: _explored([10, 14]), 0.1: _explored([6, 8])}, "B": {0.1: _explored([1, 3])}}
    axes = plotting.parameter_curves(found, parameter="delta")
    curves = {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}
    assert curves["A"] == [[0.01, 12.0], [0.1, 7.0]]
    assert curves["B"] == [[0.1, 2.0]]
    assert axes.get_xscale() == "log"
    assert axes.xaxis_inverted()
    (bars,) = (part for part in axes.collections if len(part.get_segments()) == 2)
    half = stats.t.ppf(0.975, 1) * 2.0  # a half-width of 2 / sqrt(2) * sqrt(2)
    np.testing.assert_allclose(bars.get_segments()[0][:, 1], [12 - half, 12 + half])


def test_cut_off_runs_are_medians_and_in_no_mean():
    runs = _explored([5, 9, 9, 9], stopped=[True, True, True, False])
    capped = _explored([5, 9, 9], stopped=[True, False, False])
    axes = plotting.parameter_curves({"A": {4: runs, 8: capped, 16: _explored([3, 4])}}, parameter="n")
    line, hollow = axes.get_lines()[0], next(each for each in axes.get_lines() if len(each.get_xdata()) == 2)
    np.testing.assert_allclose(line.get_ydata(), [np.nan, np.nan, 3.5])
    assert hollow.get_xydata().tolist() == [[4, 9], [8, 9]]
    assert hollow.get_markerfacecolor() == "white"
    assert [text.get_text() for text in axes.texts] == ["75 % ended", "33 % ended ↑"]


def test_regret_and_failures_against_categories(results):
    axes = plotting.parameter_curves(
        {"CUCB": {"wide": results["CUCB"], None: results["narrow"]}}, parameter="w"
    )
    expected = [results[name].exact_regret[:, -1].mean() for name in ("CUCB", "narrow")]
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), expected)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["wide", "None"]
    found = {"A": {1: _explored([5, 5], correct=[True, False])}}
    axes = plotting.parameter_curves(found, parameter="k", measure="failures")
    assert axes.get_lines()[0].get_ydata() == [0.5]
    for wrong, settings in (
        (found | {"B": {1: results["CUCB"]}}, {}),
        (found, {"measure": "regret"}),
        ({}, {}),
    ):
        with pytest.raises(ValueError, match="got"):
            plotting.parameter_curves(wrong, parameter="k", **settings)


def test_every_plot_of_a_result_is_written_to_a_file(tmp_path):
    """Whatever class has a method `plot`: it takes a path, writes there, and returns the axes, still open."""
    arms, oracle = BernoulliArms([0.2, 0.8, 0.5]), TopK(3, 1)
    world = SemiBandit(arms, oracle)
    running = Campaign(CUCB(oracle), tmp_path / "journal.db", rng=0)
    running.tell({0: 1.0}, running.ask())
    things = [
        simulate(CUCB(oracle), world, 20, replications=2, rng=0),
        identify(LUCB1(3, 1, delta=0.3), arms, replications=2, rng=0),
        compare({"CUCB": CUCB(oracle)}, world, horizon=20, replications=2, rng=0),
        compare({"LUCB": LUCB1(3, 1, delta=0.3)}, arms, replications=2, rng=0),
        plan(LUCB1(3, 1, delta=0.3), arms, deltas=[0.3], replications=2, rng=0),
        running,
    ]
    classes = {cls for cls in _classes_of("cmab") if "plot" in vars(cls) and not isabstract(cls)}
    assert {type(thing) for thing in things} == classes
    for number, thing in enumerate(things):
        file = tmp_path / f"{number}.{('png', 'svg')[number % 2]}"
        axes = thing.plot(path=file)
        assert file.read_bytes().startswith((b"\x89PNG", b"<?xml")[number % 2])
        assert plt.fignum_exists(axes.figure.number)
        plt.close("all")


def _classes_of(package):
    found = importlib.import_module(package)
    for module in pkgutil.walk_packages(found.__path__, f"{package}."):
        if "._" not in module.name:
            yield from (
                value
                for value in vars(importlib.import_module(module.name)).values()
                if isinstance(value, type) and value.__module__ == module.name
            )
