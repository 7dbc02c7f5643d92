"""Monte Carlo tree searches: they find what minimax finds, stop whenever they are told, keep to the path of a game, and
see nothing that is hidden."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import python_state, random_game
from game_names import mostly_slow
from test_path_search import GAMES, histories

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.game import FORBIDDEN
from deltaw.envs.path import expand
from deltaw.search.equilibria.tree import exploitability, flatten
from deltaw.search.players.how import How, Limits
from deltaw.search.players.players import Decisions
from deltaw.search.players.searching_player import SearchingPlayer
from deltaw.search.tree.algorithm import algorithms, evaluate_state, make_setup, search

NAMES = [name for name, algorithm in algorithms().items() if algorithm.root is not None]
TIC_TAC_TOE, DICE = games.load("tic_tac_toe"), games.load("trees_chance")
OPEN_LINES = TIC_TAC_TOE.baselines["open_lines"]
each = pytest.mark.parametrize("name", NAMES)
one_quick = pytest.mark.parametrize("name", mostly_slow(NAMES, ("ismcts",)))


def test_there_are_three():
    assert NAMES == ["ismcts", "puct", "uct"]


@each
def test_won_and_lost_positions_are_recognised(name):
    """Every move that minimax prefers is a best one, and the value of many simulations approaches its value."""
    checked = 0
    for number in range(12):
        for state in list(random_game(TIC_TAC_TOE, 7, number))[2:-1]:
            exact = search(TIC_TAC_TOE, OPEN_LINES, state, "negamax", depth=9)
            found = search(TIC_TAC_TOE, OPEN_LINES, state, name, depth=7, full=True)
            assert found.move in exact.moves
            assert found.value == pytest.approx(exact.value, abs=0.25)
            assert len(found.ranked) == len(TIC_TAC_TOE.moves(state))
            checked += len(exact.moves) < len(found.ranked)
    assert checked > 20


@each
def test_a_search_can_be_stopped_at_any_time(name):
    state = TIC_TAC_TOE.parse("X---O----")
    found = search(TIC_TAC_TOE, OPEN_LINES, state, name, depth=128, nodes=1000)
    assert 1000 < found.nodes <= 1010
    assert not found.complete
    assert not found.proven
    again = search(TIC_TAC_TOE, OPEN_LINES, state, name, depth=128, nodes=1000)
    assert again[:4] == found[:4]
    hurried = search(TIC_TAC_TOE, OPEN_LINES, state, name, depth=128, seconds=0.0)
    assert hurried.depth == 0
    assert hurried.move in TIC_TAC_TOE.moves(state)
    whole = search(TIC_TAC_TOE, OPEN_LINES, state, name, depth=3)
    assert (whole.depth, whole.complete) == (3, True)
    with pytest.raises(InputError, match="makes no sense"):
        search(
            TIC_TAC_TOE, OPEN_LINES, state, name, depth=3, options=algorithms()[name].options._replace(simulations=0)
        )


@one_quick
def test_chance_is_drawn_by_its_probabilities(name):
    """The lectures' trees: 0.9 x 2 + 0.1 x 3 is better than 0.9 x 1 + 0.1 x 4, and the other way round."""
    baseline = DICE.baselines["static"]
    for text in ("D", "D-stretched"):
        state = DICE.parse(text)
        exact = search(DICE, baseline, state, "expectiminimax", depth=3, full=True)
        found = search(DICE, baseline, state, name, depth=9, full=True)
        assert found.move == exact.move
        assert found.value == pytest.approx(exact.value, rel=0.1)
    above = DICE.rules.play(DICE.parse("D"), 0)
    assert DICE.rules.num_chance(above) == 2
    assert evaluate_state(make_setup(DICE, baseline, name, 9), python_state(DICE, above), 9) == pytest.approx(
        -2.1, abs=0.1
    )


@pytest.mark.parametrize("repetition", [pytest.param(3, marks=pytest.mark.slow), FORBIDDEN])
def test_the_path_of_the_game_is_kept(repetition):
    """Forbidden moves are not tried, drawn positions are draws, and the caller's path stays as it was."""
    game, fewer = GAMES[repetition], 0
    for course, _ in histories(repetition)[:10]:
        moves = np.empty(game.rules.max_moves, np.int64)
        n = expand(game.rules, course.path, course.state, moves, np.empty((len(moves), game.rules.width), np.int64))
        before = course.path.copy()
        found = search(game, game.baselines["odd"], course.state, "uct", depth=4, full=True, path=course.path)
        assert {move.move for move in found.ranked} == set(moves[:n].tolist())
        assert np.array_equal(course.path, before)
        fewer += n < len(game.moves(course.state))
    assert (fewer > 0) == (repetition == FORBIDDEN)


@one_quick
def test_what_is_hidden_changes_nothing(name):
    game = games.load("leduc_poker")
    player = SearchingPlayer(game, game.baselines["zero"], name, How(algorithm=name, limits=Limits(depth=3)), threads=1)
    for texts in (["Ka Jb r", "Ja Jb r", "Qa Jb r"], ["Qa Jb rc Ka", "Qa Kb rc Ka"]):
        found = [player.judge(game.parse(text)) for text in texts]
        assert len({tuple((move.move, move.value) for move in one.moves) for one in found}) == 1


@pytest.mark.parametrize("name", ["ismcts", "uct"])
def test_information_set_search_folds_bets_and_calls(name):
    """A pure strategy from all information sets of Kuhn poker is not far from an equilibrium; determinization, which
    solves each deal by itself, and random play lose 1/6 and 11/24 to a best response."""
    flat = flatten(games.load("kuhn_poker"))
    player = SearchingPlayer(
        flat.game, flat.game.baselines["zero"], name, How(algorithm=name, limits=Limits(depth=7)), threads=1
    )
    strategy = np.zeros(len(flat.moves))
    rows = np.array([flat.game.row(state) for state in flat.states])
    for i, move in enumerate(player.choose(Decisions.of(rows), 1).moves):
        slots = range(flat.tree.start[i], flat.tree.start[i + 1])
        strategy[next(slot for slot in slots if flat.moves[slot] == move)] = 1.0
    assert exploitability(flat.tree, strategy) < 0.25
