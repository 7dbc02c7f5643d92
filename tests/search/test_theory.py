"""Games in normal form: the lecture's game and chicken, what any game must satisfy, and files."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from command_lines import call
from conftest import ROOT

from deltaw.envs.errors import InputError
from deltaw.search import theory
from deltaw.search.equilibria.normal_form import (
    NormalForm,
    best_replies,
    correlated_equilibrium,
    dominated,
    eliminate,
    mixed_equilibria,
    pareto_optima,
    patience,
    price_of_anarchy,
    pure_equilibria,
)
from deltaw.search.equilibria.normal_form_files import normal_form_text, read_normal_form

EXAMPLES = ROOT / "docs" / "examples"
DEFECT, COOPERATE = 0, 1
FILES = [str(EXAMPLES / "dilemma.csv"), str(EXAMPLES / "chicken.nfg")]


def table(*rows):
    """A game of two from its rows of pairs."""
    payoffs = np.array(rows, float).transpose(2, 0, 1)
    names = tuple(tuple(f"s{i}" for i in range(n)) for n in payoffs.shape[1:])
    return NormalForm("table", ("A", "B"), names, payoffs)


DILEMMA = table([(1, 1), (5, 0)], [(0, 5), (3, 3)])
CHICKEN = table([(6, 6), (2, 7)], [(7, 2), (0, 0)])
ROCK = table([(0, 0), (-1, 1), (1, -1)], [(1, -1), (0, 0), (-1, 1)], [(-1, 1), (1, -1), (0, 0)])


def random_game(seed, shape=(3, 4)):
    rng = np.random.default_rng(seed)
    names = tuple(tuple(f"s{i}" for i in range(n)) for n in shape)
    return NormalForm("random", tuple(f"P{i}" for i in range(len(shape))), names, rng.normal(size=(len(shape), *shape)))


# --- the lecture's game, and chicken ----------------------------------------------------------------------------------


def test_the_lectures_game():
    """(1,1) (5,0) (0,5) (3,3): dominance leads to (1,1), which is worse for both than (3,3)."""
    assert [(one.player, one.strategy, one.by, one.strict) for one in eliminate(DILEMMA)] == [
        (0, COOPERATE, (1, 0), True),
        (1, COOPERATE, (1, 0), True),
    ]
    assert pure_equilibria(DILEMMA) == [(DEFECT, DEFECT)]
    assert {tuple(DILEMMA.at(profile)) for profile in pareto_optima(DILEMMA)} == {(3, 3), (5, 0), (0, 5)}
    assert sorted(DILEMMA.payoffs.sum(axis=0).ravel()) == [2, 5, 5, 6]
    assert price_of_anarchy(DILEMMA, [DILEMMA.at((0, 0))]) == 3
    assert patience(DILEMMA, (COOPERATE, COOPERATE), (DEFECT, DEFECT)) == 0.5


def test_the_only_mixed_and_correlated_equilibrium_of_the_lectures_game_is_the_pure_one():
    pytest.importorskip("quantecon")
    (found,), degenerate = mixed_equilibria(DILEMMA)
    assert [mixture.tolist() for mixture in found.mixtures] == [[1, 0], [1, 0]]
    assert found.payoffs.tolist() == [1, 1]
    assert not degenerate
    assert correlated_equilibrium(DILEMMA) == pytest.approx(np.array([[1, 0], [0, 0]]), abs=1e-9)


def test_chicken():
    pytest.importorskip("quantecon")
    chances = correlated_equilibrium(CHICKEN)
    assert chances == pytest.approx(np.array([[0.5, 0.25], [0.25, 0]]), abs=1e-9)
    assert (chances * CHICKEN.payoffs.sum(axis=0)).sum() == pytest.approx(10.5)
    found, degenerate = mixed_equilibria(CHICKEN)
    assert sorted(one.mixtures[0][0] for one in found) == pytest.approx([0, 2 / 3, 1])
    assert not degenerate
    assert price_of_anarchy(CHICKEN, [one.payoffs for one in found]) == pytest.approx(12 / 9)


# --- any game ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_nobody_gains_by_leaving_a_mixed_equilibrium(seed):
    pytest.importorskip("quantecon")
    game = random_game(seed)
    found, _ = mixed_equilibria(game)
    assert len(found) % 2 == 1  # Wilson, 1971
    for one in found:
        row, column = one.mixtures
        assert (game.payoffs[0] @ column).max() == pytest.approx(one.payoffs[0])
        assert (row @ game.payoffs[1]).max() == pytest.approx(one.payoffs[1])


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2)])
def test_nobody_gains_by_disobeying_and_no_equilibrium_has_more_welfare(shape):
    pytest.importorskip("scipy")
    for seed in range(4):
        game = random_game(seed, shape)
        chances = correlated_equilibrium(game)
        assert chances.sum() == pytest.approx(1)
        for player, n in enumerate(shape):
            own, told = np.moveaxis(game.payoffs[player], player, 0), np.moveaxis(chances, player, 0)
            for i in range(n):
                assert all((told[i] * (own[other] - own[i])).sum() <= 1e-9 for other in range(n))
        best = (chances * game.payoffs.sum(axis=0)).sum()
        assert all(game.at(profile).sum() <= best + 1e-9 for profile in pure_equilibria(game))


def test_elimination_leaves_every_equilibrium():
    pytest.importorskip("scipy")
    eliminated = 0
    for seed in range(30):
        game = random_game(seed)
        out = {(one.player, one.strategy) for one in eliminate(game)}
        eliminated += len(out)
        for profile in pure_equilibria(game):
            assert not out & set(enumerate(profile))
            assert best_replies(game)[(slice(None), *profile)].all()
    assert eliminated > 20


def test_a_mixture_dominates_where_no_strategy_does():
    """Three of anything each half of the time against 1 for sure; and in the second round the column falls."""
    pytest.importorskip("scipy")
    game = table([(3, 0), (0, 1)], [(0, 0), (3, 1)], [(1, 5), (1, 0)])
    (first,) = (one for one in dominated(game) if one.strict)
    assert (first.player, first.strategy) == (0, 2)
    assert np.array(first.by) @ game.own(0) == pytest.approx([1.5, 1.5])
    assert [(one.player, one.strategy) for one in eliminate(game)] == [(0, 2), (1, 0), (0, 0)]


def test_weak_dominance_is_told_and_not_iterated():
    game = table([(1, 1), (1, 0)], [(1, 1), (0, 0)])
    assert [(one.player, one.strategy, one.strict) for one in dominated(game)] == [(0, 1, False), (1, 1, True)]
    assert [(one.player, one.strategy) for one in eliminate(game)] == [(1, 1)]


def test_a_degenerate_game_says_so_and_a_mixture_is_found():
    pytest.importorskip("quantecon")
    found, degenerate = mixed_equilibria(table([(1, 1), (1, 1)], [(1, 1), (0, 0)]))
    assert degenerate
    assert len(found) >= 3
    (only,), degenerate = mixed_equilibria(ROCK)
    assert only.mixtures[0] == pytest.approx(np.full(3, 1 / 3))
    assert not degenerate
    ((single,), _) = mixed_equilibria(table([(1, 2), (0, 3)]))
    assert single.payoffs.tolist() == [0, 3]


def test_a_threat_must_frighten():
    assert patience(CHICKEN, (0, 0), (0, 1)) is None  # Bob likes the threat better
    assert patience(DILEMMA, (DEFECT, DEFECT), (DEFECT, DEFECT)) == 0


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
@pytest.mark.parametrize("ending", [".nfg", ".csv"])
def test_games_are_written_and_read_again(shape, ending, tmp_path):
    game, path = random_game(1, shape), tmp_path / f"random{ending}"
    if len(shape) == 3 and ending == ".csv":
        with pytest.raises(InputError, match="CSV holds games of 2 players, not 3"):
            normal_form_text(game, path)
        return
    path.write_text(normal_form_text(game, path))
    again = read_normal_form(path)
    assert np.array_equal(again.payoffs, game.payoffs)
    assert (again.title, again.strategies) == (game.title, game.strategies)


def test_gambits_example_files_are_read(tmp_path):
    """The two of its manual: the same game of three lines and two columns, by payoffs and by outcomes."""
    head = 'NFG 1 R "Selten (IJGT, 75), Figure 2, normal form"\n{ "Player 1" "Player 2" } '
    by_payoffs = head + "{ 3 2 }\n\n1 1 0 2 0 2 1 1 0 3 2 0"
    by_outcomes = head + (
        '{\n{ "1" "2" "3" }\n{ "1" "2" }\n}\n"a comment"\n\n{\n{ "a" 1, 1 }\n{ "b" 0, 2 }\n{ "c" 0, 2 }\n'
        '{ "d" 1, 1 }\n{ "e" 0, 3 }\n{ "f" 2, 0 }\n}\n1 2 3 4 5 6'
    )
    wanted = [[1, 0, 0], [1, 0, 2]], [[1, 2, 2], [1, 3, 0]]
    for text in (by_payoffs, by_outcomes):
        (tmp_path / "selten.nfg").write_text(text)
        game = read_normal_form(tmp_path / "selten.nfg")
        assert game.payoffs.transpose(0, 2, 1).tolist() == list(wanted)
        assert game.strategies == (("1", "2", "3"), ("1", "2"))


def test_fractions_are_numbers(tmp_path):
    (tmp_path / "f.csv").write_text("\ufeff,a,b\nx,1/2 -3,.5 1e2\n")
    assert read_normal_form(tmp_path / "f.csv").payoffs.tolist() == [[[0.5, 0.5]], [[-3, 100]]]


HEAD = 'NFG 1 R "t" { "A" "B" } '


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.txt", "", "end in .nfg or .csv"),
        ("g.csv", "", "a first line with the second player's strategies"),
        ("g.csv", ",a,b\nx,1 1\n", "line 'x' has 1 cells, the first line 2"),
        ("g.csv", ",a\nx,1\n", "'1' are not two payoffs"),
        ("g.csv", ",a\nx,1 nan\n", "'nan' is no payoff"),
        ("g.csv", ",a\nx,1 1/0\n", "'1/0' is no payoff"),
        ("g.csv", ",a\nx,1 9e999\n", "a payoff is inf, not a number"),
        ("g.csv", ",a,a\nx,1 1,2 2\n", "the name 'a' stands for two"),
        ("g.nfg", "EFG 2 R", "NFG is missing before 'EFG'"),
        ("g.nfg", HEAD, "ends too early"),
        ("g.nfg", HEAD + "{ 2 2 } 1 2 3", "3 payoffs are not 2 for each"),
        ("g.nfg", HEAD + "{ 2 2 } 1 2 3 4", "payoffs for 2 combinations of strategies; there are 4"),
        ("g.nfg", HEAD + "{ 2 } 1 2", "2 players have names and 1 have strategies"),
        ("g.nfg", HEAD + "{ 2 0 } 1 2", "'0' is no number of strategies"),
        ("g.nfg", HEAD + "{ 999999 999999 } 1 2", "there are 999998000001"),
        ("g.nfg", HEAD + '{ 1 1 } { { "o" 1 } } 1', "outcome 'o' has 1 payoffs for 2 players"),
        ("g.nfg", HEAD + '{ 1 1 } { { "o" 1 1 } } 2', "there is no outcome '2'"),
        ("g.nfg", HEAD + '{ 1 1 } "never closed', "cannot be read"),
    ],
)
def test_bad_files_are_named_in_one_line(name, text, message, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    status, out, err = call(theory.main, [str(tmp_path / name)], capsys)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert name in err


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_explains_a_game(capsys):
    pytest.importorskip("quantecon")
    status, out, err = call(theory.main, [FILES[0]], capsys)
    assert (status, err) == (0, "")
    for line in (
        "first player: defect dominates cooperate strictly",
        "(defect, defect): 1, 1",
        "price of anarchy: 3,",
        "where the discount factor is 0.5 or more",
    ):
        assert line in out
    assert "1*, 1*" in out


def test_the_command_answers_in_json(capsys):
    pytest.importorskip("quantecon")
    status, out, _ = call(theory.main, [FILES[1], "--json"], capsys)
    found = json.loads(out)
    assert status == 0
    assert found["correlated_welfare"] == 10.5
    assert [one["payoffs"] for one in found["mixed_equilibria"]][2] == [4.666667, 4.666667]


def test_the_command_writes_the_other_format_and_explains_three_players(tmp_path, capsys):
    pytest.importorskip("quantecon")
    to = tmp_path / "dilemma.nfg"
    assert call(theory.main, [FILES[0], "--to", str(to)], capsys) == (0, f"wrote {to}\n", "")
    assert np.array_equal(read_normal_form(to).payoffs, DILEMMA.payoffs)
    three = tmp_path / "three.nfg"
    three.write_text(normal_form_text(random_game(2, (2, 3, 2)), three))
    status, out, _ = call(theory.main, [str(three)], capsys)
    assert status == 0
    assert "with 2 players of at most" in out


def test_without_the_extra_one_line_says_how_to_install_it(capsys, monkeypatch):
    for name in ("quantecon", "scipy", "scipy.optimize"):
        monkeypatch.setitem(sys.modules, name, None)
    for file in FILES:
        status, out, err = call(theory.main, [file], capsys)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert 'pip install "deltaw[theory]"' in err
