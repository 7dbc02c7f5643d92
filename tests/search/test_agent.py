"""Agents: what they rank, choose and say, against the evaluator alone, the textbook search, and the definition of
pubeval."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from conftest import python_state, random_game, read_json, read_lines
from naive_backgammon import is_race, pubeval
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.games.backgammon.notation import board, from_board
from deltaw.search.databases.bearoff import build_bearoff, with_bearoff
from deltaw.search.players.agent import Agent
from deltaw.search.players.how import Limits
from deltaw.search.solvers.exact import SolvedEndings, find_solver
from deltaw.search.tree.algorithm import search

BACKGAMMON = games.load("backgammon")
TIC_TAC_TOE = games.load("tic_tac_toe")
OUTCOMES = np.array(BACKGAMMON.rules.outcomes)
EVALUATOR = random_evaluator(BACKGAMMON, 1)


def rolled(position: str, dice: str):
    state = BACKGAMMON.parse(position)
    return python_state(BACKGAMMON, BACKGAMMON.rules.chance(state, BACKGAMMON.find_chance(state, dice))[0])


def decisions(count: int, seed: int = 3):
    """Decisions of a random game, spread over it."""
    found = [s for s in random_game(BACKGAMMON, seed, most=120) if not BACKGAMMON.rules.num_chance(s)]
    return found[:: max(1, len(found) // count)][:count]


def finished():
    *_, last = random_game(BACKGAMMON, seed=4)
    assert BACKGAMMON.rules.outcome(last)[0]
    return last


# --- one ply ----------------------------------------------------------------------------------------------------------


def test_one_ply_is_the_evaluator_on_every_distinct_result():
    agent = Agent(BACKGAMMON, EVALUATOR)
    for state in decisions(8):
        ranked = agent.rank(state)
        assert [move.value for move in ranked] == sorted((move.value for move in ranked), reverse=True)
        assert sorted(move.move for move in ranked) == sorted(BACKGAMMON.moves(state))
        assert agent.choose(state) == ranked[0].move
        for move in ranked:
            opinion = EVALUATOR.opinion(move.state)
            assert move.state == python_state(BACKGAMMON, BACKGAMMON.rules.play(state, move.move))
            assert move.text == BACKGAMMON.move_text(state, move.move)
            assert move.value == pytest.approx(-opinion.value, abs=1e-5)
            assert move.chances == pytest.approx(opinion.chances[::-1], abs=1e-5)
            assert move.depth == 1


def test_scalar_heads_have_values_without_chances():
    agent = Agent(BACKGAMMON, random_evaluator(BACKGAMMON, 2, head="tanh"), plies=2)
    state = decisions(3)[1]
    assert all(move.chances is None and -3 <= move.value <= 3 for move in agent.rank(state))
    assert agent.value(BACKGAMMON.parse("start")).chances is None


# --- two plies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plies", [1, 2])
def test_values_are_the_textbook_searchs(plies):
    agent = Agent(BACKGAMMON, EVALUATOR, plies=plies, candidates=0)
    for state in decisions(3, seed=5):
        ranked = agent.rank(state)
        found = search(BACKGAMMON, EVALUATOR, state, "expectiminimax", depth=plies)
        assert ranked[0].value == pytest.approx(found.value, abs=1e-5)
        assert ranked[0].move in found.moves
        assert {move.depth for move in ranked} == {plies}
        for move in ranked[:: max(1, len(ranked) // 4)]:
            below = search(BACKGAMMON, EVALUATOR, move.state, "expectiminimax", depth=plies - 1)
            assert move.value == pytest.approx(-below.value, abs=1e-5)


@pytest.mark.parametrize("plies", [1, 2])
def test_chances_add_up_to_one_and_to_the_value(plies):
    agent = Agent(BACKGAMMON, EVALUATOR, plies=plies)
    opinions = [agent.value(BACKGAMMON.parse("start")), agent.value(BACKGAMMON.parse("4HPwATDgc/ABMA"))]
    opinions += [move for state in decisions(4) for move in agent.rank(state)]
    for opinion in opinions:
        assert sum(opinion.chances) == pytest.approx(1, abs=1e-5)
        assert min(opinion.chances) >= 0
        assert OUTCOMES @ opinion.chances == pytest.approx(opinion.value, abs=1e-5)


def test_chances_at_two_plies_are_those_of_the_best_replies():
    """One move of a short race, by hand: for each roll the reply that is best by the evaluator, its chances reversed
    twice."""
    state = from_board([1, 1, 0, 0, 1, 1, *[0] * 20], [2, 0, 1, 0, 0, 1, *[0] * 20])
    state = BACKGAMMON.rules.chance(state, BACKGAMMON.find_chance(state, "21"))[0]
    for ranked in Agent(BACKGAMMON, EVALUATOR, plies=2, candidates=0).rank(state):
        expected = np.zeros(6)
        for i in range(21):
            reply, probability = BACKGAMMON.rules.chance(ranked.state, i)
            best = Agent(BACKGAMMON, EVALUATOR).rank(reply)[0]
            expected += probability * np.array(best.chances[::-1])
        assert ranked.chances == pytest.approx(expected, abs=1e-5)


def test_only_candidates_are_searched_deeper_and_they_come_first():
    one, two = Agent(BACKGAMMON, EVALUATOR), Agent(BACKGAMMON, EVALUATOR, plies=2, candidates=3, margin=100.0)
    for state in decisions(8):
        first, second = one.rank(state), two.rank(state)
        deep = min(3, len(first))
        assert [move.depth for move in second] == [2] * deep + [1] * (len(first) - deep)
        assert {move.move for move in second[:deep]} == {move.move for move in first[:deep]}
        assert second[deep:] == first[deep:]
        values = [move.value for move in second[:deep]]
        assert values == sorted(values, reverse=True)
        assert two.choose(state) == second[0].move


def test_the_margin_leaves_out_what_is_far_behind():
    state = rolled("4HPwATDgc/ABMA", "62")
    values = [move.value for move in Agent(BACKGAMMON, EVALUATOR).rank(state)]
    margin = (values[0] - values[1] + values[0] - values[2]) / 2
    assert values[1] > values[2]
    ranked = Agent(BACKGAMMON, EVALUATOR, plies=2, margin=margin).rank(state)
    assert [move.depth for move in ranked] == [2, 2] + [1] * (len(values) - 2)


def test_a_tree_with_known_values():
    game = games.load("trees_chance")
    ranked = Agent(game, game.baselines["zero"], plies=2, candidates=0).rank(game.parse("D-stretched"))
    assert [(move.move, move.value) for move in ranked] == [(1, pytest.approx(40.9)), (0, pytest.approx(21))]


# --- values before the roll -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("position", "rolls"), [("start", 15), ("4HPwATDgc/ABMA", 21)])
def test_the_value_before_the_roll(position, rolls):
    """1 ply: the evaluator. 2 plies: the best move of every roll; a game does not open with a double."""
    state, one, two = BACKGAMMON.parse(position), Agent(BACKGAMMON, EVALUATOR), Agent(BACKGAMMON, EVALUATOR, plies=2)
    assert one.value(state) == EVALUATOR.opinion(state)
    outcomes = [BACKGAMMON.rules.chance(state, i) for i in range(BACKGAMMON.rules.num_chance(state))]
    assert len(outcomes) == rolls
    expected = sum(p * one.rank(after)[0].value for after, p in outcomes)
    assert two.value(state).value == pytest.approx(expected, abs=1e-5)
    chances = sum(p * np.array(one.rank(after)[0].chances) for after, p in outcomes)
    assert two.value(state).chances == pytest.approx(chances, abs=1e-5)


def test_the_value_of_a_decision_is_its_best_moves():
    state = rolled("4HPwATDgc/ABMA", "31")
    agent = Agent(BACKGAMMON, EVALUATOR, plies=2)
    assert agent.value(state) == (agent.rank(state)[0].value, agent.rank(state)[0].chances)


def test_colours_do_not_matter():
    agent = Agent(BACKGAMMON, EVALUATOR, plies=2)
    for state in decisions(3):
        other = state._replace(seat=1 - state.seat)
        assert [move._replace(state=None) for move in agent.rank(state)] == [
            move._replace(state=None) for move in agent.rank(other)
        ]


# --- rank-only players ------------------------------------------------------------------------------------------------


def test_pubeval_orders_by_its_definition_and_has_no_values():
    weights = read_json("pubeval.json")
    agent = Agent(BACKGAMMON, BACKGAMMON.baselines["pubeval"])
    for record in read_lines("moves.jsonl.gz")[::60]:
        state = rolled(record["id"], "".join(map(str, record["dice"])))
        table = weights["race" if is_race(*board(state)) else "contact"]
        ranked = agent.rank(state)
        scores = [pubeval(table, *reversed(board(move.state))) for move in ranked]
        assert len(ranked) == record["n"]
        assert all(a >= b - 1e-9 for a, b in itertools.pairwise(scores))
        assert {(move.value, move.chances, move.depth) for move in ranked} == {(None, None, 1)}
        assert agent.choose(state) == ranked[0].move


def test_pubeval_is_refused_where_a_value_is_needed():
    baseline = BACKGAMMON.baselines["pubeval"]
    with pytest.raises(InputError, match="pubeval only ranks"):
        Agent(BACKGAMMON, baseline, plies=2)
    with pytest.raises(InputError, match="gives no equity"):
        Agent(BACKGAMMON, baseline).value(BACKGAMMON.parse("start"))


# --- a game without dice, and bad input -------------------------------------------------------------------------------


def test_tic_tac_toe_at_two_plies_sees_what_one_ply_does_not():
    """O threatens the diagonal c1-a3: every other move of X loses at once."""
    state = TIC_TAC_TOE.parse("X-O-O--X-")
    agent = Agent(TIC_TAC_TOE, TIC_TAC_TOE.baselines["open_lines"], plies=2, candidates=0)
    ranked = agent.rank(state)
    assert ranked[0].text == "a3"
    assert ranked[0].value > -1
    assert {move.value for move in ranked[1:]} == {-1.0}
    assert agent.value(state).value == ranked[0].value


@pytest.mark.parametrize("call", ["rank", "choose", "value"])
def test_finished_games_are_refused(call):
    agent = Agent(BACKGAMMON, EVALUATOR)
    with pytest.raises(InputError, match="is finished"):
        getattr(agent, call)(finished())


@pytest.mark.parametrize("call", ["rank", "choose"])
def test_moves_need_dice(call):
    with pytest.raises(InputError, match="no dice yet"):
        getattr(Agent(BACKGAMMON, EVALUATOR), call)(BACKGAMMON.parse("start"))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"plies": 3}, "not 3"), ({"plies": 0}, "not 0"), ({"candidates": -1}, "-1 candidates")],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Agent(BACKGAMMON, EVALUATOR, **options)


def test_an_evaluator_of_another_game_is_refused():
    with pytest.raises(InputError, match="for backgammon, not for tic_tac_toe"):
        Agent(TIC_TAC_TOE, EVALUATOR)


# --- searching and knowing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{"depth": 5}, {"seconds": 0.02}, {"nodes": 500}])
def test_an_agent_that_searches(limits):
    agent = Agent(TIC_TAC_TOE, TIC_TAC_TOE.baselines["open_lines"], limits=Limits(**limits))
    state = TIC_TAC_TOE.parse("XX-OO----")
    assert TIC_TAC_TOE.move_text(state, agent.choose(state)) == "c1"
    ranked = agent.rank(state)
    assert (ranked[0].text, ranked[0].value) == ("c1", 1.0)
    assert agent.value(state).value == 1.0


@pytest.mark.parametrize("algorithm", ["engine", "alphabeta"])
def test_a_move_that_no_search_reached_has_no_value(algorithm):
    agent = Agent(TIC_TAC_TOE, TIC_TAC_TOE.baselines["open_lines"], algorithm=algorithm, limits=Limits(nodes=1))
    assert [(move.value, move.depth) for move in agent.rank(TIC_TAC_TOE.parse("XX-OO----"))] == [(None, 0)]


def test_databases_are_asked_first():
    class Book:
        def moves(self, state):
            return [7] if state == TIC_TAC_TOE.parse("---------") else []

    agent = Agent(TIC_TAC_TOE, TIC_TAC_TOE.baselines["open_lines"], algorithm="alphabeta", databases=[Book()])
    assert agent.choose(TIC_TAC_TOE.parse("---------")) == 7
    assert agent.choose(TIC_TAC_TOE.parse("XX-OO----")) == 2


def test_endings_are_solved_where_time_allows():
    game = games.load("connect_four")
    state = game.parse("32164625")
    assert SolvedEndings(find_solver(game), seconds=30).moves(state) == [2]
    assert SolvedEndings(find_solver(game), seconds=0).moves(game.parse("4")) == []


def test_an_agent_that_knows_the_bear_off():
    """One checker on the 6-point each: the mover wins 0.8125 of the games, whatever the network thinks."""
    side = [0] * 5 + [1] + [0] * 19 + [14]
    state = from_board(side, side)
    table = build_bearoff(BACKGAMMON, 6)
    agent = Agent(BACKGAMMON, EVALUATOR, endings=functools.partial(with_bearoff, table=table))
    assert agent.value(state).value == pytest.approx(0.625, abs=1e-6)
    assert Agent(BACKGAMMON, EVALUATOR).value(state).value != pytest.approx(0.625, abs=1e-3)
