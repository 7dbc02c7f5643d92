"""Roll-outs: exact averages where they can be summed by hand, luck that averages to nothing, the same dice for
everyone."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from command_lines import assert_one_line, call
from test_arena import race as lead
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.games.backgammon.notation import from_board
from deltaw.search.analysis.rollout import RollOutAnswers, estimate, luck_of, roll_out
from deltaw.search.analyze import main
from deltaw.search.evaluators.leaf import Leaf
from deltaw.search.evaluators.named import leaf_of
from deltaw.search.players.agent import Agent
from deltaw.search.players.plies import make_bench

BACKGAMMON, TIC_TAC_TOE, CHANCE = (games.load(name) for name in ("backgammon", "tic_tac_toe", "trees_chance"))
SIGMAS = 4.5
LEAF: Leaf = random_evaluator(BACKGAMMON, 1).leaf


def race(mine: list[int], his: list[int]):
    """A position before the roll with the mover's and the opponent's checkers on these points."""
    sides = [[points.count(point) for point in range(1, 25)] + [0, 0] for points in (mine, his)]
    return from_board(*sides)


def rows_of(game, *states) -> np.ndarray:
    return np.array([game.row(state) for state in states])


def chance_to_bear_off(first: int, second: int) -> float:
    """That one roll bears off two checkers from these points, by looking at all 36."""
    good = 0
    for one, other in itertools.product(range(1, 7), repeat=2):
        if one == other:
            dice = [one] * 4
            needed = -(-first // one) + -(-second // one)
            good += needed <= len(dice)
        else:
            high, low = max(one, other), min(one, other)
            apart = (high >= first and low >= second) or (high >= second and low >= first)
            good += apart
    return good / 36


def test_the_last_roll_of_a_race():
    """Two checkers against one on the ace point: one roll decides, 2 p - 1, by an evaluator that counts pips."""
    exact = 2 * chance_to_bear_off(5, 2) - 1
    state = race([5, 2], [1])
    for adjust in (False, True):
        results = roll_out(BACKGAMMON, lead().leaf, rows_of(BACKGAMMON, state), 800, seed=3, adjust=adjust, threads=1)[
            0
        ]
        found = estimate(results)
        assert abs(found.value - exact) < SIGMAS * found.error
        assert found.error == pytest.approx(results.std(ddof=1) / math.sqrt(800))


def test_luck_averages_to_nothing():
    """Over all rolls with their probabilities, in any position and with any evaluator."""
    bench = make_bench(LEAF, BACKGAMMON)
    for state in (BACKGAMMON.parse("start"), race([6, 6, 5], [4, 3]), BACKGAMMON.parse("2LbBADi03QYBMA")):
        rolls = range(BACKGAMMON.rules.num_chance(state))
        luck = [luck_of(BACKGAMMON.rules, LEAF, state, np.int64(i), bench) for i in rolls]
        chances = [BACKGAMMON.rules.chance(state, i)[1] for i in rolls]
        assert sum(p * x for p, x in zip(chances, luck, strict=True)) == pytest.approx(0.0, abs=1e-6)
        assert max(luck) > 0.01


def test_luck_in_a_tree_is_known_by_hand():
    """A chance node with leaves' worth 2 and 3 below it, 0.9 and 0.1: luck -0.1 and 0.9, and results without it are all
    2.1."""
    leaf, state = leaf_of(CHANCE.baselines["static"]), CHANCE.parse("D/0")
    bench = make_bench(leaf, CHANCE)
    luck = [luck_of(CHANCE.rules, leaf, state, np.int64(i), bench) for i in range(2)]
    assert [abs(x) for x in luck] == pytest.approx([0.1, 0.9])
    results = roll_out(CHANCE, leaf, rows_of(CHANCE, state), 200, threads=1)
    assert np.abs(results) == pytest.approx(2.1 * np.ones((1, 200)))
    raw = roll_out(CHANCE, leaf, rows_of(CHANCE, state), 2000, adjust=False, threads=1)
    assert set(np.abs(raw[0])) == {2.0, 3.0}
    assert abs((np.abs(raw[0]) == 3).mean() - 0.1) < SIGMAS * math.sqrt(0.09 / 2000)


def test_luck_taken_away_leaves_the_mean_and_shrinks_the_error():
    """With an evaluator that knows the race: the lead in pips."""
    leaf, state = lead().leaf, BACKGAMMON.parse("2+4GAIBtdwcAAA")
    raw, freed = (
        roll_out(BACKGAMMON, leaf, rows_of(BACKGAMMON, state), 80, adjust=adjust, threads=1)[0]
        for adjust in (False, True)
    )
    assert set(np.unique(raw)) <= {-3.0, -2.0, -1.0, 1.0, 2.0, 3.0}
    difference = estimate(raw - freed)
    assert abs(difference.value) < SIGMAS * difference.error
    assert freed.std() < 0.8 * raw.std()


def test_results_depend_on_the_seed_and_not_on_threads():
    rows = rows_of(BACKGAMMON, race([6, 6, 5, 4], [6, 5, 4]), race([3, 2, 2, 1], [2, 2, 1, 1]))
    one, two, other = (
        roll_out(BACKGAMMON, LEAF, rows, 30, seed=seed, threads=threads) for seed, threads in ((1, 1), (1, 2), (2, 1))
    )
    assert (one == two).all()
    assert (one != other).any()


def test_candidates_have_the_same_dice():
    """The same position twice gives the same results, game by game; mirrored seats too."""
    state = race([6, 5, 4], [6, 5, 4])
    rows = rows_of(BACKGAMMON, state, state, state._replace(seat=1))
    one, same, turned = roll_out(BACKGAMMON, LEAF, rows, 40, threads=1)
    assert (one == same).all()
    assert (one == turned).all()


def test_without_chance_moves_are_noisy():
    """All random: the exact average of random play from a position two moves before the end, by hand."""
    leaf, state = leaf_of(TIC_TAC_TOE.baselines["open_lines"]), TIC_TAC_TOE.parse("XOXXOO-X-")

    def average(state) -> float:
        over, value = TIC_TAC_TOE.rules.outcome(state)
        if over:
            return float(value)
        moves = TIC_TAC_TOE.moves(state)
        return sum(-average(TIC_TAC_TOE.rules.play(state, move)) for move in moves) / len(moves)

    found = estimate(roll_out(TIC_TAC_TOE, leaf, rows_of(TIC_TAC_TOE, state), 1500, noise=1.0, threads=1)[0])
    assert abs(found.value - average(state)) < SIGMAS * found.error
    with pytest.raises(InputError, match="would be the same one"):
        roll_out(TIC_TAC_TOE, leaf, rows_of(TIC_TAC_TOE, state), 10)


def test_answers_are_for_whoever_moves():
    """A win in one is worth 1 to the mover, before and after."""
    evaluator = TIC_TAC_TOE.baselines["open_lines"]
    answers = RollOutAnswers(Agent(TIC_TAC_TOE, evaluator), 40, noise=0.2, threads=1)
    rolled, moves = answers.moves(TIC_TAC_TOE.parse("XX-OO----"))
    assert moves == 5
    assert (rolled[0].move.text, rolled[0].found.value, rolled[0].found.error) == ("c1", 1.0, 0.0)
    assert rolled[0].behind.value == 0.0
    assert all(move.behind.value == pytest.approx(1.0 - move.found.value) for move in rolled)
    assert [move.found.value for move in rolled] == sorted((move.found.value for move in rolled), reverse=True)


def test_the_command(capsys):
    argv = [
        "backgammon",
        "start",
        "--dice",
        "31",
        "--rollout",
        "2",
        "--top",
        "2",
        "--threads",
        "1",
        "--evaluator",
        "linear",
    ]
    status, out, _ = call(main, [*argv, "--json"], capsys)
    answer = json.loads(out)
    assert status == 0
    assert [set(move["rollout"]) for move in answer["moves"]] == [{"equity", "error"}] * 2
    assert (answer["games"], answer["noise"], answer["dice"]) == (2, 0.0, [3, 1])
    status, out, _ = call(main, argv, capsys)
    assert "2 games each to the end at 1 ply, freed of the luck of the dice, the same dice for all, seed 0" in out
    assert f"{answer['moves'][0]['rollout']['equity']:+.4f}" in out
    assert "14 more; --top 16 shows all" in out


def test_the_command_before_the_roll_and_without_chance(capsys):
    argv = ["backgammon", "--rollout", "1", "--threads", "1", "--evaluator", "linear"]
    assert json.loads(call(main, [*argv, "--json"], capsys)[1])["rollout"]["error"] is None
    assert "rolled out, before the roll" in call(main, argv, capsys)[1]
    status, out, _ = call(
        main, ["tic_tac_toe", "X---O----", "--rollout", "5", "--depth", "3", "--threads", "1"], capsys
    )
    assert status == 0
    assert "10 % random moves, the same random moves for all" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("tic_tac_toe --rollout 5 --noise 0", "without noise all games after a move would be the same one"),
        ("tic_tac_toe --rollout 0", "invalid count value: '0'"),
        ("backgammon --rollout 5 --noise 2", "noise is the probability of a random move: 0 to 1, not 2"),
        ("backgammon --rollout 5 --seed -1", "the seed must be at least 0"),
        ("backgammon --dice 31 --rollout 5 --evaluator pubeval", "only ranks"),
        ("connect_four --rollout 5 --solve", "--solve is exact"),
        ("connect_four --noise 0.2", "--seed, --noise and --threads belong to --rollout"),
        ("tic_tac_toe_three --rollout 5", "a roll-out needs a game for two"),
    ],
)
def test_bad_input_is_one_line(capsys, argv, message):
    assert_one_line(main, argv, message, capsys)
