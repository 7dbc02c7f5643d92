"""The bear-off table: against exact data, gnubg, a naive recursion with moves of its own, and simulated play."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from conftest import DATA, ROOT, random_game, read_json, read_lines
from naive_backgammon import results
from safetensors.numpy import save as to_bytes
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.games.backgammon.notation import board, from_board
from deltaw.search.databases.bearoff import (
    CHECKERS,
    Bearoff,
    build_bearoff,
    count,
    index_of,
    load_bearoff,
    planes_of,
    positions_of,
    race,
    save_bearoff,
    with_bearoff,
)
from deltaw.search.databases.bearoff_pairs import PAIR_CHECKERS, build_pairs
from deltaw.search.databases.database import checksum
from deltaw.search.evaluators.evaluator import evaluate_rows
from deltaw.search.evaluators.work import make_work

GAME = games.load("backgammon")
PLACE = np.int64
ROUNDED = 1e-9
"""the data have nine decimals"""
GNUBG = 1e-4
"""gnubg stores chances and equities in 16 bits"""


@functools.cache
def one_sided(checkers: int = CHECKERS) -> Bearoff:
    return build_bearoff(GAME, checkers)


@functools.cache
def table() -> Bearoff:
    return replace(one_sided(), pairs=build_pairs(GAME))


def counts_of(index: int, checkers: int = CHECKERS) -> list[int]:
    """Checkers on points 1..6 of the position with this number."""
    low, high = planes_of(np.int64(index), np.int64(checkers))
    return [int(count(low, high, np.int64(bit))) for bit in range(6)]


def number(counts, checkers: int = CHECKERS) -> int:
    """The position with so many checkers on points 1..6."""
    state = race_state(counts, (1,))
    return int(index_of(PLACE(state.me_low), PLACE(state.me_high), PLACE(checkers)))


def race_state(me, opponent):
    sides = [[*counts, *[0] * (25 - len(counts)), 15 - sum(counts)] for counts in (me, opponent)]
    return from_board(*sides)


def rolls():
    """(higher die, lower die, probability) of the 21 rolls."""
    return [(high, low, 1 / 36 if high == low else 1 / 18) for high in range(1, 7) for low in range(1, high + 1)]


# --- one side ---------------------------------------------------------------------------------------------------------


def test_every_position_has_a_number():
    for checkers in (1, 3, 15):
        size = int(positions_of(PLACE(checkers)))
        sample = range(0, size, max(1, size // 400))
        for i in sample:
            counts = counts_of(i, checkers)
            assert sum(counts) <= checkers
            assert number(counts, checkers) == i
    assert positions_of(PLACE(15)) == len(one_sided()) == 54_264
    assert counts_of(0) == [0] * 6


def test_distributions_are_exact():
    records = read_lines("backgammon/bearoff_exact.jsonl.gz")
    assert len(records) == 462
    for record in records:
        i = number(record["c"])
        assert abs(one_sided().expected[i] - record["e"]) < ROUNDED
        mine, known = one_sided().rolls(i), np.trim_zeros(np.array(record["d"]), "b")
        assert len(mine) >= len(known)
        np.testing.assert_allclose(mine, np.pad(known, (0, len(mine) - len(known))), rtol=0, atol=ROUNDED)


def test_named_positions_are_exact():
    facts = read_json("backgammon/bearoff_facts.json")
    for text, expected in facts["expected_rolls"].items():
        assert (
            abs(one_sided().expected[number(json.loads(text.replace("(", "[").replace(")", "]")))] - expected) < 1e-12
        )
    for text, rolls_of_36 in facts["two_checker_one_roll_x36"].items():
        counts = [text.split(",").count(str(point)) for point in range(1, 7)]
        assert abs(36 * one_sided().rolls(number(counts))[1] - rolls_of_36) < 1e-10


def test_fifteen_checkers_are_gnubgs():
    """Its chances are multiples of 1 / 65535: their errors, times up to 15 rolls each, add up."""
    for text, expected in read_json("backgammon/bearoff_gnubgdb_15.json").items():
        counts = json.loads(text.replace("(", "[").replace(")", "]"))
        assert abs(one_sided().expected[number(counts)] - expected) < 2e-4


def test_distributions_are_distributions():
    built = one_sided()
    sums = np.add.reduceat(built.chances, built.ends[:-1])
    np.testing.assert_allclose(sums, 1.0, rtol=0, atol=1e-12)
    k = np.arange(len(built.chances)) - np.repeat(built.ends[:-1], np.diff(built.ends))
    np.testing.assert_allclose(np.add.reduceat(k * built.chances, built.ends[:-1]), built.expected, rtol=0, atol=1e-11)
    complete = np.diff(built.first_ends) > 0
    assert complete.sum() == 15_504, "ways to have all 15 on six points"
    assert all(sum(counts_of(i)) == 15 for i in np.flatnonzero(complete)[::500])
    np.testing.assert_allclose(
        np.add.reduceat(built.first_chances, built.first_ends[:-1][complete]), 1.0, rtol=0, atol=1e-12
    )


AWAY = (1, *[0] * 24, 14)
"""an opponent who is in nobody's way"""


@functools.cache
def naive(me: tuple, first: bool) -> tuple[float, tuple[float, ...]]:
    """(expected rolls, distribution) until all are off, or the `first`, by the rules of tests/naive_backgammon.py."""
    if me[25] > 0 if first else me[25] == 15:
        return 0.0, (1.0, *[0.0] * 39)
    expected, chances = 0.0, [0.0] * 40
    for high, low, probability in rolls():
        after = [naive(mine, first) for mine, _ in results(me, AWAY, high, low)]
        fewest = min(e for e, _ in after)
        best = next(known for known in after if known[0] <= fewest + 1e-12)
        expected += probability * (1.0 + best[0])
        for k, p in enumerate(best[1][:-1]):
            chances[k + 1] += probability * p
    return expected, tuple(chances)


def test_a_naive_recursion_agrees():
    for counts in [(0, 0, 0, 0, 0, 3), (1, 0, 2, 0, 1, 0), (2, 1, 0, 0, 1, 0), (0, 1, 0, 1, 0, 1)]:
        expected, _ = naive((*counts, *[0] * 19, 15 - sum(counts)), False)
        assert abs(one_sided().expected[number(counts)] - expected) < 1e-12


def test_the_first_checker_by_a_naive_recursion():
    for counts in [(13, 0, 0, 0, 0, 2), (11, 0, 0, 0, 0, 4), (0, 12, 0, 0, 0, 3)]:
        expected, chances = naive((*counts, *[0] * 20), True)
        i = number(counts)
        mine = one_sided().first_chances[one_sided().first_ends[i] : one_sided().first_ends[i + 1]]
        assert expected > 1.001
        assert abs(mine @ np.arange(len(mine)) - expected) < 1e-12
        np.testing.assert_allclose(mine, chances[: len(mine)], rtol=0, atol=0.01)  # ties may be broken otherwise


def test_smaller_tables_are_parts_of_larger_ones():
    small = one_sided(4)
    for i in range(len(small)):
        j = number(counts_of(i, 4))
        assert abs(small.expected[i] - one_sided().expected[j]) < 1e-12
    assert len(small.first_chances) == 0
    assert (small.checkers, small.pair_checkers) == (4, 0)


# --- both sides -------------------------------------------------------------------------------------------------------


def test_one_checker_on_the_6_point_each():
    for known in (one_sided(), table()):
        found = race(known, race_state((0, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 1)))
        assert abs(found.win - 0.8125) < 1e-12
        assert abs(found.value - 0.625) < 1e-12
        assert found[1:] == (0.0, 0.0)


def test_races_are_gnubgs():
    """Above 6 checkers gnubg has one-sided tables too, and below two-sided ones."""
    found = 0
    for record in read_lines("evals.jsonl.gz"):
        me, opponent = record["me"], record["opp"]
        if not any(me[6:25]) and not any(opponent[6:25]):
            known = race(table(), from_board(me, opponent))
            assert abs(known.win - record["g0"]["p"][0]) < GNUBG
            assert abs(known.value - record["g0"]["eq"]) < GNUBG
            found += 1
    assert found == 147


@functools.cache
def naive_equity(me: tuple, opponent: tuple) -> float:
    total = 0.0
    for high, low, probability in rolls():
        after = [mine for mine, _ in results(me, AWAY, high, low)]
        total += probability * max(1.0 if mine[25] == 15 else -naive_equity(opponent, mine) for mine in after)
    return total


def test_pairs_are_optimal_play():
    for me, opponent in [
        ((0, 0, 0, 0, 0, 2), (0, 0, 0, 0, 1, 1)),
        ((1, 0, 0, 1, 0, 1), (0, 2, 0, 0, 0, 1)),
        ((1,), (0, 0, 0, 0, 0, 3)),
    ]:
        sides = [(*counts, *[0] * (25 - len(counts)), 15 - sum(counts)) for counts in (me, opponent)]
        assert abs(race(table(), race_state(me, opponent)).value - naive_equity(*sides)) < 1e-12


def test_looking_at_the_opponent_is_worth_little():
    """What the docstring says: at most 0.03 points, and on average nothing."""
    few, n = one_sided(PAIR_CHECKERS), len(table().pairs)
    spread = np.zeros((n, 40))
    for i in range(n):
        spread[i, : len(few.rolls(i))] = few.rolls(i)
    not_before = np.cumsum(spread[:, ::-1], axis=1)[:, ::-1]
    gain = table().pairs[1:, 1:] - (2.0 * spread @ not_before.T - 1.0)[1:, 1:]
    assert 0.01 < np.abs(gain).max() < 0.03
    assert np.abs(gain).mean() < 0.002


def test_gammons():
    """Three checkers on the ace point need one roll with a double, else two; with 15 on his 6-point the opponent then
    must have borne one off at once, which 17 rolls of 36 do: every 6, 5-1, 4-2, 3-3 and 2-2."""
    stacked = (0, 0, 0, 0, 0, 15)
    known = race(table(), race_state((3,), stacked))
    assert abs(known.win - 1.0) < 1e-12
    assert abs(known.win_gammon - (1 / 6 + 5 / 6 * 19 / 36)) < 1e-12
    assert abs(race(table(), race_state((1,), stacked)).win_gammon - 1.0) < 1e-12
    behind = race(table(), race_state(stacked, (1,)))
    assert behind.win == 0.0
    assert abs(behind.lose_gammon - 19 / 36) < 1e-12
    assert race(table(), race_state((0, 0, 0, 0, 0, 14), (1,))).lose_gammon == 0.0
    assert race(table(), race_state(stacked, stacked)).lose_gammon < 1e-3


def test_a_race_that_is_none_is_refused():
    for state in (
        GAME.rules.initial(),
        race_state((0, 0, 0, 0, 0, 0, 1), (1,)),
        race_state((1,), (0, 0, 0, 0, 0, 0, 1)),
    ):
        with pytest.raises(InputError, match="no bear-off race"):
            race(table(), state)
    with pytest.raises(InputError, match="up to 4 checkers"):
        race(one_sided(4), race_state((5,), (1,)))


# --- as an evaluator --------------------------------------------------------------------------------------------------


def values(leaf, states):
    rows = np.array([GAME.row(state) for state in states])
    found = np.empty(len(rows))
    outputs = np.empty((len(rows), len(leaf.weights.outcomes)), np.float32)
    evaluate_rows(GAME.rules, leaf, rows, make_work(leaf, GAME), found, outputs)
    return found, outputs


@functools.cache
def bearoff_leaf(head: str):
    plain = random_evaluator(GAME, 3, head=head).leaf
    return plain, with_bearoff(plain, table())


RACES = [
    ((0, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 1)),
    ((3,), (0, 0, 0, 0, 0, 15)),
    ((0, 0, 0, 5, 5, 5), (3, 2, 1)),
    ((2, 2, 2, 2, 2, 2), (2, 2, 2, 2, 2, 3)),
]


@pytest.mark.parametrize("head", ["classes", "tanh"])
def test_a_leaf_knows_races_and_leaves_the_rest_alone(head):
    plain, informed = bearoff_leaf(head)
    races = [race_state(*sides) for sides in RACES]
    found, outputs = values(informed, races)
    known = [race(table(), state) for state in races]
    np.testing.assert_allclose(found, [r.value for r in known], rtol=0, atol=1e-12)
    if head == "classes":
        np.testing.assert_allclose(outputs.sum(axis=1), 1.0, atol=1e-6)
        np.testing.assert_allclose(outputs @ GAME.rules.outcomes, found, atol=1e-6)
        np.testing.assert_allclose(outputs[:, 3:].sum(axis=1), [r.win for r in known], atol=1e-6)
        np.testing.assert_allclose(outputs[:, 4], [r.win_gammon for r in known], atol=1e-6)
        np.testing.assert_allclose(outputs[:, 1], [r.lose_gammon for r in known], atol=1e-6)
    else:
        np.testing.assert_allclose(outputs[:, 0], found, atol=1e-6)
    others = [state for state in random_game(GAME, 4) if not in_home(state)]
    others += [race_state((0,), (1, 2)), race_state((3, 1), (0,))]  # finished games
    for mine, his in zip(values(informed, others), values(plain, others), strict=True):
        np.testing.assert_array_equal(mine, his)
    assert len(others) > 50


def in_home(state) -> bool:
    return not any(any(side[6:25]) for side in board(state))


def best_replies(leaf, before) -> float:
    """Value of a position before the roll: over all rolls, the move whose result the leaf likes best."""
    total, (moves, rows) = 0.0, GAME.buffers()
    for i in range(21):
        rolled, probability = GAME.rules.chance(before, i)
        n = GAME.rules.expand(rolled, moves, rows)
        total += probability * max(-values(leaf, [GAME.unrow(row) for row in rows[:n]])[0])
    return total


def test_the_table_agrees_with_itself_one_roll_later():
    """Exactly where both sides look at each other; elsewhere one roll of looking gains a little."""
    _, informed = bearoff_leaf("classes")
    few = race_state((0, 1, 0, 1, 1, 1), (1, 1, 1, 0, 0, 1))
    many = race_state((2, 2, 2, 1, 1, 1), (1, 1, 2, 2, 1, 0))
    assert abs(best_replies(informed, few) - race(table(), few).value) < 1e-12
    assert -1e-12 <= best_replies(informed, many) - race(table(), many).value < 0.01


def test_a_leaf_takes_one_table_only():
    _, informed = bearoff_leaf("classes")
    with pytest.raises(InputError, match="cannot be given"):
        with_bearoff(informed, table())


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path):
    """(table, its file)."""
    built = replace(one_sided(3), pairs=build_pairs(GAME, 2))
    save_bearoff(built, tmp_path / "deep" / "small.table", "by hand")
    return built, tmp_path / "deep" / "small.table"


FIELDS = ("expected", "ends", "chances", "first_ends", "first_chances", "pairs")


def test_round_trip(small, tmp_path):
    built, path = small
    back = load_bearoff(path)
    assert (back.checkers, back.pair_checkers) == (3, 2)
    assert all(np.array_equal(getattr(back, name), getattr(built, name)) for name in FIELDS)
    save_bearoff(back, tmp_path / "again.table", "by hand")
    assert (tmp_path / "again.table").read_bytes() == path.read_bytes()


def rewrite(path, **changes):
    """The file with other tensors, and a checksum that fits them."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    fields = json.loads(header["__metadata__"]["deltaw"])
    built = load_bearoff(path)
    tensors = {name: getattr(built, name) for name in FIELDS} | changes
    tensors = {name: np.ascontiguousarray(t) for name, t in tensors.items() if t is not None}
    path.write_bytes(to_bytes(tensors, metadata={"deltaw": json.dumps(fields | {"sha256": checksum(tensors)})}))


def test_tables_that_do_not_fit_are_refused(small):
    built, path = small
    good = path.read_bytes()
    wrong = {
        "tensors of types": {"pairs": None},
        "'float32'": {"chances": built.chances.astype(np.float32)},
        "another number": {"expected": built.expected[:-1]},
        "ranges": {"ends": built.ends + 1},
        "do not fit": {"first_ends": built.first_ends[:-1]},
        "do not fit its": {"ends": np.append(built.ends[:-2], [built.ends[-1]] * 2)},
        "do not fit its 84": {
            "ends": np.append([0, 2**62, -(2**63), -(2**62), 0], built.ends[5:])
        },  # ascending by overflow
        "no chances": {"chances": -built.chances},
        "add up": {"chances": built.chances * 0.5},
        "equities": {"pairs": np.zeros((5, 5))},
        "of pairs": {"pairs": built.pairs * 9},
        "shape": {"pairs": np.zeros((7, 28))},
    }
    for named, change in wrong.items():
        path.write_bytes(good)
        rewrite(path, **change)
        with pytest.raises(InputError, match=named) as caught:
            load_bearoff(path)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)


def test_numbers_out_of_range_are_refused():
    for checkers in (0, 16):
        with pytest.raises(InputError, match=str(checkers)):
            build_bearoff(GAME, checkers)
    for checkers in (0, 11):
        with pytest.raises(InputError, match=str(checkers)):
            build_pairs(GAME, checkers)
    with pytest.raises(InputError, match="tic_tac_toe"):
        build_bearoff(games.load("tic_tac_toe"))
    with pytest.raises(InputError, match="tic_tac_toe"):
        build_pairs(games.load("tic_tac_toe"))


def test_data_are_where_their_list_says():
    assert {path.name for path in (DATA / "backgammon").iterdir()} >= {"bearoff_exact.jsonl.gz", "bearoff_facts.json"}


INTERPRETED = """
from deltaw.envs import games
from deltaw.envs.games.backgammon.notation import from_board
from deltaw.search.databases.bearoff import build_bearoff, race
from deltaw.search.databases.bearoff_pairs import build_pairs
game = games.load("backgammon")
table = build_bearoff(game, 2)
side = [0, 1, 0, 0, 0, 1, *[0] * 19, 13]
print([x.hex() for x in table.chances.tolist()], build_pairs(game, 1).tolist(), race(table, from_board(side, side)))
"""


def test_compiled_equals_interpreted():
    def printed(**environment: str) -> str:
        variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
        done = subprocess.run(
            [sys.executable, "-c", INTERPRETED], env=variables, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert printed(NUMBA_DISABLE_JIT="1") == printed()
