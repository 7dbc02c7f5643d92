"""Pictures of strength curves: what they read, and what they show."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from deltaw.learn import plot
from deltaw.learn.watch.curves import panel, read_curve


def write_run(folder: Path, learner: str, experiment: str | None, height: float) -> Path:
    """A run of three measurements against two opponents."""
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra" / "config.yaml").write_text(f"learner:\n  name: {learner}\n")
    (folder / ".hydra" / "hydra.yaml").write_text(
        f"hydra:\n  runtime:\n    choices:\n      experiment: {experiment or 'null'}\n"
    )
    lines = [
        {"games": n, "seconds": n / 50, "opponent": name, "ppg": height * n, "standard_error": 0.01, "match_games": 20}
        for n in (0, 1000, 3000)
        for name in ("strong", "weak")
    ]
    (folder / "strength.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def runs(tmp_path) -> list[Path]:
    return [
        write_run(tmp_path / "one", "td_forward", "small", 1e-4),
        write_run(tmp_path / "two", "td_forward", "small", 2e-4),
        write_run(tmp_path / "three", "genetic", None, -1e-4),
    ]


def test_a_curve_has_its_name_and_its_points(runs):
    curve = read_curve(runs[0], "weak", 1)
    assert curve.label == "small (td_forward)"
    assert [(r["games"], r["opponent"]) for r in curve.records] == [(1000, "weak"), (3000, "weak")]
    assert read_curve(runs[2] / "strength.jsonl", "weak", 0).label == "genetic"
    assert len(read_curve(runs[2], "weak", 0).records) == 3


def test_without_a_configuration_the_folder_is_the_name(runs):
    for file in (runs[0] / ".hydra").iterdir():
        file.unlink()
    assert read_curve(runs[0], "weak", 1).label == "one"


@pytest.mark.parametrize("words", [[], ["--by", "seconds"], ["--by", "both", "--log"], ["--opponent", "weak"]])
def test_a_picture(runs, tmp_path, capsys, words):
    target = tmp_path / "new" / "picture.png"
    plot.main([*map(str, runs), "--to", str(target), *words])
    assert str(target) in capsys.readouterr().out
    picture = np.asarray(Image.open(target).convert("RGB"), float)
    assert picture.shape[1] == (1680 if "both" in words else 840)
    assert np.ptp(picture.max(axis=2) - picture.min(axis=2)) > 50, "there is colour on it"


def test_what_the_panels_show(runs):
    curves = [read_curve(run, "strong", 0) for run in runs]
    axes = Figure().subplots()
    panel(axes, curves, "seconds", True)
    one, two, three, _ = axes.lines
    assert list(one.get_xdata()) == [20 / 60, 1.0], "the measurement at 0 has no logarithm"
    assert list(one.get_ydata()) == pytest.approx([0.1, 0.3])
    assert one.get_color() == two.get_color() != three.get_color()
    assert axes.get_legend_handles_labels()[1] == ["small (td_forward)", "genetic"]


def test_bad_input_is_one_line(runs, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "strength.jsonl").touch()
    (tmp_path / "odd.jsonl").write_text("no JSON\n")
    for words, named in (
        ([str(tmp_path / "absent")], "absent"),
        ([str(tmp_path / "empty")], "holds no measurement yet"),
        ([str(tmp_path / "odd.jsonl")], "is no strength curve"),
        ([str(runs[0]), "--opponent", "wizard"], "it has: strong, weak"),
        ([str(runs[0]), "--from-games", "4000"], "after 4000 games"),
        ([str(runs[0]), "--to", str(tmp_path / "picture.halma")], "picture.halma"),
        ([str(runs[0]), "--to", str(tmp_path / "odd.jsonl" / "x.png")], "cannot write"),
    ):
        assert plot.main(words) == 2
        error = capsys.readouterr().err
        assert named in error
        assert len(error.strip().splitlines()) == 1
