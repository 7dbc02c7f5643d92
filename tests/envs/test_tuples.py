"""N-tuple networks: entries against plain arithmetic, siblings against one by one, published sizes, files, and bad
input."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.tuples import TUPLES, entry_names, num_placements, num_weights, random_walks, straight_lines, tables
from deltaw.learn.exports.export import random_positions
from deltaw.learn.exports.verify import agreement, played
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.weights.linear import with_weights
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator, save_evaluator
from deltaw.search.evaluators.leaf import evaluate_linear
from deltaw.search.players.plies import make_bench, score_moves
from deltaw.search.tree.deep import deep
from deltaw.search.tree.engine import Engine

NETWORKS = {
    "connect_four": TuplesConfig(walks=6, length=5, per_seat=True),
    "othello": TuplesConfig(lines=[2], walks=3, length=4),
    "tic_tac_toe": TuplesConfig(lines=[3], per_seat=True),
    "nim": TuplesConfig(cells=[[0, 1], [4, 3, 2]], symmetric=False),
}


def network(name: str, seed: int = 1, **changes) -> Evaluator:
    """An n-tuple network with random weights."""
    shape = EvaluatorConfig(hidden=[], head="tanh", tuples=dataclasses.replace(NETWORKS[name], **changes))
    evaluator = fresh(games.load(name), "", shape, 1)
    weight = np.random.default_rng(seed).normal(size=evaluator.features.num_features + 1) * 0.2
    return with_weights(evaluator, weight.astype(np.float32), {})


def positions(name: str, n: int) -> np.ndarray:
    return random_positions(games.load(name), 7, n)


def naive_value(evaluator: Evaluator, row: np.ndarray) -> float:
    """The definition, digit by digit."""
    rules, description = evaluator.game.rules, evaluator.description
    state, cells = rules.load(row), np.empty(rules.num_cells, np.int64)
    rules.tuple_cells(state, cells)
    weight, total = evaluator.tensors["weight0"][:, 0], float(evaluator.tensors["bias0"][0])
    for table in tables(description.spec):
        for placement in table.placements:
            entry = int("".join(np.base_repr(cells[c], description.spec[1]) for c in placement), description.spec[1])
            own = rules.seat(state) * table.size if description.spec[2] == 2 else 0
            total += float(weight[table.first + own + entry])
    return max(rules.outcomes) * np.tanh(total)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_value_is_the_sum_of_one_weight_from_every_table(name):
    evaluator, rows = network(name), positions(name, 60)
    values, _ = evaluator.values(rows)
    np.testing.assert_allclose(values, [naive_value(evaluator, row) for row in rows], atol=1e-6)
    assert np.ptp(values) > 0.01


@pytest.mark.parametrize("name", NETWORKS)
def test_every_position_has_one_active_entry_a_placement(name):
    evaluator = network(name)
    features, rules = evaluator.features, evaluator.game.rules
    index, value = np.full(features.max_active, -1, np.int32), np.zeros(features.max_active, np.float32)
    for row in positions(name, 40):
        n = rules.features(rules.load(row), np.array(features.spec), index, value)
        assert n == num_placements(features.spec)
        assert (value[:n] == 1).all()
        at = 0
        for table in tables(features.spec):
            own = index[at : at + len(table.placements)]
            assert (own >= table.first).all()
            assert (own < table.first + table.size * features.spec[2]).all()
            at += len(own)


@pytest.mark.parametrize("name", NETWORKS)
def test_siblings_have_the_values_they_have_alone(name):
    evaluator = network(name)
    rules, bench = evaluator.game.rules, make_bench(evaluator.leaf, evaluator.game)
    for row in positions(name, 60):
        state = rules.load(row)
        n, _ = score_moves(rules, evaluator.leaf, state, 1, 0, 0.0, bench)
        for child, value in zip(bench.rows[0, :n], bench.values[:n], strict=True):
            sign = 1 if rules.seat(rules.load(child)) == rules.seat(state) else -1
            over, result = rules.outcome(rules.load(child))
            assert sign * value == pytest.approx(result if over else naive_value(evaluator, child), abs=1e-6)


class Lists(NamedTuple):
    """What `evaluate_linear` needs of the scratch memory that networks have."""

    chances: np.ndarray
    active: np.ndarray
    value: np.ndarray


@pytest.mark.parametrize("name", NETWORKS)
def test_every_evaluation_kernel_agrees(name):
    """At play by differences, by the sparse list that learners use, and in recursive searches."""
    evaluator = network(name)
    rules, weights = evaluator.game.rules, evaluator.leaf.weights
    searched = deep(evaluator.game, evaluator)
    most = evaluator.features.max_active
    work = Lists(np.zeros(1, np.float32), np.empty((1, most), np.int32), np.empty((1, most), np.float32))
    rows = positions(name, 40)
    values, _ = evaluator.values(rows)
    for row, value in zip(rows, values, strict=True):
        state = rules.load(row)
        assert evaluate_linear(rules, weights, state, work) == pytest.approx(value, abs=1e-6)
        assert searched.leaf.evaluate(rules, searched.leaf.weights, state, searched.work) == pytest.approx(
            value, abs=1e-5
        )


def test_the_engine_searches_with_it():
    evaluator = network("connect_four")
    state = evaluator.game.parse("4453")
    rules = evaluator.game.rules
    best = max(
        -naive_value(evaluator, evaluator.game.row(rules.play(state, move))) for move in evaluator.game.moves(state)
    )
    assert Engine(evaluator.game, evaluator).search(state, depth=1).value == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(("symmetric", "equal"), [(True, True), (False, False)])
def test_mirror_images_share_their_weights(symmetric, equal):
    evaluator = network("connect_four", symmetric=symmetric)
    game, rng = evaluator.game, np.random.default_rng(3)
    same = []
    for _ in range(20):
        moves = [str(column) for column in rng.integers(1, 8, size=6)]
        try:
            one, other = game.parse("".join(moves)), game.parse("".join(str(8 - int(m)) for m in moves))
        except InputError:
            continue
        same.append(abs(evaluator.opinion(one).value - evaluator.opinion(other).value) < 1e-6)
    assert len(same) > 5
    assert all(same) == equal


def test_othello_lines_have_the_published_sizes():
    """Jaśkowski 2014: all-2 has 32 tuples and 288 weights, all-3 has 24 and 648, all-4 has 21 and 1,701."""
    game = games.load("othello")
    for length, count, weights in ((2, 32, 288), (3, 24, 648), (4, 21, 1701)):
        lines = straight_lines(game.board, length, game.symmetries)
        assert (len(lines), num_weights(game.tuples(lines).spec)) == (count, weights)


def test_connect_four_has_69_lines():
    assert len(straight_lines((6, 7), 4, None)) == 69


def test_walks_are_connected_different_and_the_seeds():
    walks = random_walks((6, 7), 70, 8, 1)
    assert walks == random_walks((6, 7), 70, 8, 1) != random_walks((6, 7), 70, 8, 2)
    assert len({frozenset(walk) for walk in walks}) == 70
    for walk in walks:
        reached = {walk[0]}
        for _ in walk:
            reached |= {c for c in walk for r in reached if max(abs(c // 7 - r // 7), abs(c % 7 - r % 7)) == 1}
        assert reached == set(walk)
        assert len(walk) == 8


def test_entries_have_names():
    names = entry_names(games.load("tic_tac_toe").tuples([[0, 4]], per_seat=True).spec)
    assert len(names) == len(set(names)) == 18
    assert names[5] == "first:0,4=12"
    assert names[9] == "second:0,4=00"


def test_a_file_is_read_back_to_the_same_network(tmp_path):
    evaluator = network("connect_four")
    save_evaluator(evaluator, tmp_path / "net.safetensors")
    again = load_evaluator(tmp_path / "net.safetensors")
    assert again.description == evaluator.description
    assert again.description.kind == "ntuple"
    np.testing.assert_array_equal(again.leaf.weights.first, evaluator.leaf.weights.first)
    sample = played(evaluator, 200)
    assert agreement(evaluator, again, sample).difference < 1e-6
    other = with_weights(evaluator, evaluator.leaf.weights.first[:, 0] + 0.01, {})
    assert agreement(other, again, sample).difference > 1e-4


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"spec": (TUPLES, 3, 2, 1)}, "cut off"),
        ({"spec": (TUPLES, 4, 2, 1, 2, 1, 3, 9, 5)}, "too long"),
        ({"spec": (TUPLES, 4, 2, 1, 2, 1, 3, 99)}, "99"),
        ({"spec": (TUPLES, 3, 2, 1, 2, 1, 3, 9)}, "3 values"),
        ({"spec": (7, 3, 2)}, "begins no description"),
        ({"spec": (TUPLES, 4, 2, 1, 2, 1, 3, -40)}, "different cells from 0"),
        ({"spec": (TUPLES, 4, 2, 1, 2, 1, 3, 3)}, "different cells from 0"),
        ({"spec": (TUPLES, 4, 2, 1, -2, -1, 3, 9)}, "damaged"),
        ({"spec": (TUPLES, 4, 2, 2**80, 2, 1, 3, 9)}, "no whole number of 64 bits"),
        ({"spec": (TUPLES, 2**60, 2, 1, 1, 1, 3)}, "at most 2,147,483,647"),
        ({"spec": (TUPLES, 4, 2, 1, 16, 1, *range(16))}, "at most 2,147,483,647"),
        ({"spec": (TUPLES, 4, 2, 1, 5000, 1, *range(5000))}, "at most 2,147,483,647"),
        ({"head": "classes"}, "classes"),
        ({"sizes": (12, 1)}, "12"),
    ],
)
def test_a_damaged_description_is_one_line(tmp_path, changes, named):
    evaluator = network("connect_four")
    wrong = dataclasses.replace(evaluator, description=dataclasses.replace(evaluator.description, **changes))
    save_evaluator(wrong, tmp_path / "net.safetensors")
    with pytest.raises(InputError, match=named) as caught:
        load_evaluator(tmp_path / "net.safetensors")
    assert "\n" not in str(caught.value)


def test_tables_are_for_the_seats_of_the_game():
    """Three players would read behind tables for two."""
    three = games.load("tic_tac_toe_three")
    game = dataclasses.replace(three, rules=three.rules._replace(tuple_values=4))
    assert game.described("tuples", (TUPLES, 4, 1, 1, 2, 1, 3, 9)).num_features == 16
    with pytest.raises(InputError, match="2 seats"):
        game.described("tuples", (TUPLES, 4, 2, 1, 2, 1, 3, 9))


@pytest.mark.parametrize(
    ("name", "shape", "named"),
    [
        ("backgammon", {"cells": [[0, 1]]}, "no board"),
        ("nim", {"walks": 2}, "no board to walk"),
        ("tic_tac_toe", {"cells": [[0, 9]]}, "0 to 8"),
        ("tic_tac_toe", {"cells": [[4, 4]]}, "different cells"),
        ("tic_tac_toe", {}, "at least one tuple"),
        ("tic_tac_toe", {"walks": 5, "length": 9}, "of 5 different walks"),
        ("tic_tac_toe", {"walks": 1, "length": 10}, "10 cells"),
        ("connect_four", {"walks": 1, "length": 16}, "at most"),
    ],
)
def test_impossible_networks_are_refused(name, shape, named):
    config = EvaluatorConfig(hidden=[], head="tanh", tuples=TuplesConfig(**shape))
    with pytest.raises(InputError, match=named):
        fresh(games.load(name), "", config, 1)


@pytest.mark.parametrize("shape", [{"head": "classes"}, {"head": "tanh", "hidden": [4]}])
def test_tuples_make_one_sum(shape):
    config = EvaluatorConfig(tuples=TuplesConfig(lines=[3]), **shape)
    with pytest.raises(InputError, match="make one sum"):
        fresh(games.load("tic_tac_toe"), "", config, 1)
