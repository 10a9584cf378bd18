"""Every script of the gallery runs and ends in a picture."""

import runpy

import pytest
from places import ROOT

plt = pytest.importorskip("matplotlib.pyplot")
SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("plot_*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_script_draws(script, monkeypatch):
    for module in ("sklearn", "bfcl_eval"):
        if module in script.read_text(encoding="utf-8"):
            pytest.importorskip(module)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("Agg")
    runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()
    assert all(figure.axes for figure in map(plt.figure, plt.get_fignums()))
    plt.close("all")
