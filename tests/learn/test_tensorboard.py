"""What a run shows in TensorBoard, read back from the event files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.learn.run.strength import INTERVAL, Strength
from deltaw.learn.selfplay.sample import play_sample, reliability, scores
from deltaw.learn.watch import tensorboard
from deltaw.learn.watch.report_board import random_rows
from deltaw.learn.watch.tensorboard import FEWER_CURVES, Board, slopes, watched
from deltaw.learn.weights.networks import Network
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator

TIC_TAC_TOE = games.load("tic_tac_toe")


def linear(game: Any, features: str | None = None, head: str = "tanh", seed: int = 1) -> Evaluator:
    network = Network(game, game.features(features), [], head)
    network.initialize(seed)
    return network.evaluator()


def read(folder: Path) -> EventAccumulator:
    kinds = ("scalars", "images", "histograms", "tensors")
    return EventAccumulator(str(folder), size_guidance=dict.fromkeys(kinds, 0)).Reload()


def points(events: EventAccumulator, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in events.Scalars(tag)]


def layout_of(events: EventAccumulator) -> dict[str, dict[str, list[str]]]:
    """Category -> chart -> tags."""
    data = events.Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0]
    found = layout_pb2.Layout.FromString(data)
    return {
        category.title: {
            chart.title: [*chart.multiline.tag, *(v for s in chart.margin.series for v in (s.value, s.lower, s.upper))]
            for chart in category.chart
        }
        for category in found.category
    }


@pytest.fixture
def board(tmp_path):
    board = Board(tmp_path, TIC_TAC_TOE, ["random", "past_1_2"], None)
    yield board
    board.close()


def test_strength_by_games_and_by_seconds(board, tmp_path):
    results = [Strength("random", 0.5, 0.1, 20), Strength("past_1_2", -0.25, 0.2, 20)]
    board.strength(results, 1000, 61.9)
    board.strength(results[:1], 2000, 130.2)
    board.close()
    events = read(tmp_path)
    assert points(events, "strength/random") == [(1000, 0.5), (2000, 0.5)]
    assert points(events, "strength_by_second/random") == [(61, 0.5), (130, 0.5)]
    for tag, step in (("strength", 1000), ("strength_by_second", 61)):
        low, high = (points(events, f"{tag}/past_1_2_{end}")[0] for end in ("low", "high"))
        assert low == (step, pytest.approx(-0.25 - INTERVAL * 0.2))
        assert high == (step, pytest.approx(-0.25 + INTERVAL * 0.2))


def test_a_resume_takes_back_what_came_later_by_both_axes(tmp_path):
    def sitting(resume_at: int | None, again: list[dict], measured: list[tuple[int, float]]) -> None:
        board = Board(tmp_path, TIC_TAC_TOE, ["random"], resume_at)
        board.again(again)
        for n, seconds in measured:
            board.strength([Strength("random", n / 100, 0.1, 20)], n, seconds)
        board.close()

    sitting(None, [], [(10, 5.0), (20, 300.0), (30, 400.0)])
    kept = [
        {"games": n, "seconds": s, "opponent": "random", "ppg": n / 100, "standard_error": 0.1, "match_games": 20}
        for n, s in ((10, 5.0), (20, 300.0))
    ]
    sitting(20, kept, [(30, 500.0)])
    events = read(tmp_path)
    assert [step for step, _ in points(events, "strength/random")] == [10, 20, 30]
    assert [step for step, _ in points(events, "strength_by_second/random")] == [5, 300, 500]


def test_a_new_run_in_an_old_folder_begins_anew(tmp_path):
    for n in (10, 40):
        board = Board(tmp_path, TIC_TAC_TOE, ["random"], None)
        board.again([])
        board.strength([Strength("random", 0.1, 0.1, 20)], n, n / 2)
        board.close()
    assert [step for step, _ in points(read(tmp_path), "strength/random")] == [40]
    assert [step for step, _ in points(read(tmp_path), "strength_by_second/random")] == [20]


def test_weights_have_the_names_of_their_features(board, tmp_path):
    evaluator = linear(TIC_TAC_TOE, "lines")
    board.evaluator(evaluator, 7)
    board.close()
    events = read(tmp_path)
    names = evaluator.features.names()
    assert len(names) == 24
    curves = {tag for tag in events.Tags()["scalars"] if tag.startswith("weights/")}
    assert curves == {f"weights/{name}" for name in names}
    for name, weight in zip(names, evaluator.tensors["weight0"][:, 0], strict=True):
        assert points(events, f"weights/{name}") == [(7, pytest.approx(float(weight), rel=1e-6))]
    assert {"weights/weight0", "weights/bias0", "sample/td_error"} == set(events.Tags()["histograms"])
    assert layout_of(events)["weights"] == {"by feature": ["weights/.*"]}


def test_of_many_features_those_are_drawn_that_vary_most():
    game = games.load("backgammon")
    index, names = watched(game, game.features("tesauro_pips"))
    assert len(index) == len(names) == FEWER_CURVES
    assert names == [game.features("tesauro_pips").names()[i] for i in index]
    again, _ = watched(game, game.features("tesauro_pips"))
    assert list(again) == list(index)
    assert naive_variances(game, index)


def naive_variances(game: Any, index: np.ndarray) -> bool:
    """No feature left out varies more than one that is drawn, over the same positions."""
    features = game.features("tesauro_pips")
    rows = random_rows(game, tensorboard.POSITIONS)
    values: list[list[float]] = [[] for _ in range(features.num_features)]
    work = (np.empty(features.max_active + 4, np.int32), np.empty(features.max_active + 4, np.float32))
    for row in rows:
        n = game.rules.features(game.rules.load(row), np.array(features.spec, np.int64), *work)
        active = {int(i): float(v) for i, v in zip(work[0][:n], work[1][:n], strict=True)}
        for i in range(features.num_features):
            values[i].append(active.get(i, 0.0))
    variances = [sum(x * x for x in v) / len(v) - (sum(v) / len(v)) ** 2 for v in values]
    return max(v for i, v in enumerate(variances) if i not in index) <= min(variances[i] for i in index) + 1e-9


def test_the_weight_of_a_head_over_classes_is_the_slope_where_all_are_equally_likely():
    game = games.load("backgammon")
    features = game.features("tesauro")
    random = np.random.default_rng(3)
    weight = random.normal(0, 1, (features.num_features, 6))
    evaluator = make_evaluator(game, {"weight0": weight, "bias0": np.zeros(6)}, features=features, head="classes")

    def value(x: np.ndarray) -> float:
        logits = x @ weight
        chances = np.exp(logits) / np.exp(logits).sum()
        return float(chances @ np.array(game.rules.outcomes))

    index = np.array([0, 17, 100])
    for i, slope in zip(index, slopes(evaluator, index), strict=True):
        step = np.zeros(features.num_features)
        step[i] = 1e-5
        assert slope == pytest.approx((value(step) - value(-step)) / 2e-5, rel=1e-5)


def test_tables_without_names_are_histograms_only(board, tmp_path):
    features = TIC_TAC_TOE.tuples([tuple(range(9))], symmetric=False)
    assert features.num_features > tensorboard.MOST_NAMES
    tensors = {"weight0": np.zeros((features.num_features, 1)), "bias0": np.zeros(1)}
    board.evaluator(make_evaluator(TIC_TAC_TOE, tensors, features=features, head="tanh"), 3)
    board.close()
    tags = read(tmp_path).Tags()
    assert not [tag for tag in tags["scalars"] if tag.startswith("weights/")]
    assert {"weights/weight0", "weights/bias0"} <= set(tags["histograms"])


def test_sample_games(board, tmp_path):
    evaluator = random_evaluator(TIC_TAC_TOE, 5)
    board.evaluator(evaluator, 9)
    board.close()
    events, sample = read(tmp_path), play_sample(evaluator)
    expected = reliability(*scores(evaluator, sample)).error
    assert points(events, "sample/calibration_error") == [(9, pytest.approx(expected, rel=1e-6))]
    spread = float(np.sqrt((sample.errors**2).mean()))
    assert points(events, "sample/td_error") == [(9, pytest.approx(spread, rel=1e-6))]
    assert events.Histograms("sample/td_error")[0].histogram_value.num == len(sample.rows)
    assert "sample/reliability" in events.Tags()["images"]
    text = events.Tensors("sample/game/text_summary")[0].tensor_proto.string_val[0].decode()
    assert (
        len(text.splitlines())
        == 2 + sorted(list(sample.game).count(n) for n in set(sample.game))[len(set(sample.game)) // 2]
    )


def test_enormous_weights_are_drawn_too(board, tmp_path):
    """They are what one looks at when a run goes wrong."""
    tensors = {name: t * np.float32(1e30) for name, t in linear(TIC_TAC_TOE).tensors.items()}
    board.evaluator(make_evaluator(TIC_TAC_TOE, tensors, features=TIC_TAC_TOE.features(), head="identity"), 3)
    board.close()
    assert "weights/weight0" in read(tmp_path).Tags()["histograms"]


SCALARS = {
    "train": {"train/td_error": 0.1, "train/trace_norm": 0.2, "play/game_length": 9.0},
    "ga": {"ga/best": 0.1, "ga/sigma": 0.2, "play/game_length": 9.0},
    "automata": {"automata/mu/me_a1": 0.1, "automata/entropy": 0.2},
}


@pytest.mark.parametrize("group", SCALARS)
def test_a_run_has_the_charts_of_its_learner(board, tmp_path, group):
    board.scalars(SCALARS[group], 3)
    board.scalars(SCALARS[group], 6)
    board.close()
    events = read(tmp_path)
    layout = layout_of(events)
    assert set(layout) & set(tensorboard.GROUPS) == {group}
    drawn = [tag for chart in layout[group].values() for tag in chart]
    for name in SCALARS[group]:
        assert points(events, name) == [
            (3, pytest.approx(SCALARS[group][name])),
            (6, pytest.approx(SCALARS[group][name])),
        ]
        assert name.startswith("play/") or any(re.fullmatch(tag, name) for tag in drawn)
    by_games, by_seconds = (layout[f"strength by {way} (points a game, 95 %)"] for way in ("games", "seconds"))
    assert set(by_games) == set(by_seconds) == {"random", "past_1_2"}
    assert set(by_games["random"]) == {f"strength/random{end}" for end in ("", "_low", "_high")}
    assert set(by_seconds["random"]) == {f"strength_by_second/random{end}" for end in ("", "_low", "_high")}


def test_a_run_that_logged_nothing_has_its_strength_charts(board, tmp_path):
    board.close()
    assert {"random", "past_1_2"} <= {chart for charts in layout_of(read(tmp_path)).values() for chart in charts}


def test_every_group_is_in_the_glossary():
    """The words before the slash, and the charts' own."""
    glossary = tensorboard.__doc__
    for name in (
        "strength/",
        "strength_by_second/",
        "final/",
        "play/",
        "speed/",
        "probes/",
        "weights/",
        "sample/",
        *(f"{g}/" for g in tensorboard.GROUPS),
    ):
        assert re.search(rf"^{re.escape(name)}", glossary, re.MULTILINE), name


def test_the_settings_are_shown_as_they_are(board, tmp_path):
    board.configuration({"games": 5, "learner": {"name": "x", "rounds": [1, 2]}})
    board.finish({"games": 5, "learner": {"name": "x", "rounds": [1, 2]}}, [Strength("random", 0.5, 0.1, 20)])
    board.close()
    events = read(tmp_path)
    assert points(events, "final/random") == [(0, 0.5)]
    text = events.Tensors("configuration/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "games: 5" in text
    assert json.dumps([1, 2]) not in text


def test_make_board_shows_the_layout(board, tmp_path):
    """TensorBoard itself, started as `make board` starts it, serves the charts under CUSTOM SCALARS with their data."""
    for games_now in (10, 20):
        board.strength([Strength("random", 0.5, 0.1, 20)], games_now, 5.0)
    board.close()
    with served(tmp_path) as address:
        found = ask(f"{address}/data/plugin/custom_scalars/layout", lambda answer: answer.get("category"))
        charts = {category["title"]: category["chart"] for category in found["category"]}
        (series,) = charts["strength by games (points a game, 95 %)"][0]["margin"]["series"]
        assert series == {
            end: f"strength/random{tag}" for end, tag in (("value", ""), ("lower", "_low"), ("upper", "_high"))
        }
        data = ask(f"{address}/data/plugin/custom_scalars/scalars?run=.&tag=strength/random", lambda answer: True)
        assert [point[1:] for point in data["tag_to_events"]["strength/random"]] == [[10, 0.5], [20, 0.5]]


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a TensorBoard on `folder`, at a free port; it is ended with its helper process."""
    command = re.search(
        r"^board:.*?\n(?:\t@.*\n)*\t\$\(BIN\)/tensorboard --logdir outputs", (ROOT / "Makefile").read_text(), re.M
    )
    assert command
    words = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder), "--port", "0"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        lines = iter(process.stderr.readline, "")
        yield next(match[0] for match in (re.search(r"http://localhost:\d+", line) for line in lines) if match)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()


def ask(address: str, is_there: Callable[[dict], Any]) -> dict:
    """A JSON answer, once TensorBoard has read the event files."""
    deadline = time.monotonic() + 60
    while True:
        with urllib.request.urlopen(address) as answer:
            found = json.load(answer)
        if is_there(found):
            return found
        assert time.monotonic() < deadline
        time.sleep(0.2)
