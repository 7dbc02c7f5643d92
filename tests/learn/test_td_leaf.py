"""TDLeaf against its definition: plain minimax in Python, every update summed by hand in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import python_state, random_game
from search_learning import RATE, Toy, children, minimax, start

from deltaw.envs.game import Game
from deltaw.envs.path import make_path
from deltaw.envs.turn import explore as explored_move
from deltaw.learn.bootstrapping.games import Settings, end_of_line, make_search, new_position
from deltaw.learn.bootstrapping.strap import Step
from deltaw.learn.learners import td_leaf
from deltaw.learn.learners.td_leaf import make_leaf_trace, play_and_trace, returns_of
from deltaw.search.tree.stack import NOBODY


def traced(toy: Toy, depth: int, searches: int, trace: float, explore: float) -> np.ndarray:
    """The weights after so many searches of the compiled TDLeaf."""
    search, position = make_search(toy.game, "alphabeta", depth, toy.leaf, toy.work), new_position(toy.game)
    leaves = make_leaf_trace(len(toy.weight), toy.game.rules.width)
    learning = (leaves, trace, toy.rule, toy.samples, Step(RATE, 0.0, False))
    settings, found = Settings(5, depth, explore, 0), np.zeros(toy.game.rules.width, np.int64)
    play_and_trace(toy.game.rules, search, toy.leaf, NOBODY, position, settings, *learning, searches, found)
    return toy.weight


def white(game: Game, state: Any, value: float) -> float:
    return value if game.rules.seat(state) == 0 else -value


def next_state(game: Game, values: list[float], state: Any, number: int, ply: int, explore: float) -> tuple[Any, bool]:
    """What self-play does: the first of the best moves, or a random one."""
    behind = [child for child, _ in children(game, state)]
    chosen, random = explored_move(5, number, ply, explore, len(behind), int(np.argmax(values)))
    return behind[chosen], random


@pytest.mark.parametrize("name", ["connect_four", "checkers"])
def test_behind_the_horizon_the_leaf_is_where_quiescence_ends(name):
    toy = Toy(start(name))
    rules, moved_on, ends = toy.game.rules, 0, {}
    for state in [s for s in random_game(toy.game, 4, 0) if not rules.outcome(s)[0]][:30]:
        for quiet_plies in (0, 6):
            search = make_search(toy.game, "alphabeta", 2, toy.leaf, toy.work, quiet_plies)
            arguments = (make_path(rules), state, np.int64(2), np.int64(1), search.desk)
            value, _, _ = search.run(rules, toy.leaf, NOBODY, *arguments)
            last = python_state(toy.game, end_of_line(rules, toy.leaf, state, search.desk)[0])
            over, result = rules.outcome(last)
            own = float(result) if over else toy.value(last)
            assert value == pytest.approx(own if rules.seat(last) == rules.seat(state) else -own, abs=1e-6)
            ends[quiet_plies] = last
        moved_on += ends[0] != ends[6]
    assert moved_on > 0


@pytest.mark.parametrize("trace", [0.0, 0.7, 1.0])
def test_tdleaf_at_depth_1_is_td_of_the_positions_after_moves(trace):
    toy = Toy(start())
    game, w, e, searches = toy.game, toy.weight.copy(), np.zeros(len(toy.weight)), 0
    for number in range(6):
        state, ply = python_state(game, game.rules.initial()), 0
        e[:] = 0.0
        while not game.rules.outcome(state)[0]:
            values = []
            for child, sign in children(game, state):
                over, result = game.rules.outcome(child)
                values.append(sign * (result if over else toy.value(child, w)))
            after, _ = next_state(game, values, state, number, ply, 0.0)
            if ply > 0:  # dW_t = c (v_{t+1} - v_t) e,  e = lambda e + grad v_t
                sign = white(game, state, 1.0)
                e = trace * e + sign * toy.gradient(state, w)
                w = w + RATE * (white(game, state, max(values)) - sign * toy.value(state, w)) * e
            state, ply, searches = after, ply + 1, searches + 1
    assert traced(toy, 1, searches, trace, 0.0) == pytest.approx(w, abs=1e-12)


def test_tdleaf_is_its_definition_with_random_moves():
    """Depth 2: the best line's last position learns from the next search; a random move breaks the chain, unless it
    ends the game."""
    toy, depth, trace, explore = Toy(start()), 2, 0.6, 0.3
    game, w, searches, broken = toy.game, toy.weight.copy(), 0, 0
    for number in range(8):
        state, ply, waiting, e = python_state(game, game.rules.initial()), 0, None, np.zeros(len(toy.weight))
        over = False

        def learn_from(waiting: tuple | None, target: float, last: bool, w: np.ndarray, e: np.ndarray) -> tuple:
            if waiting is None:
                return w, e
            leaf, explored = waiting
            if explored and not last:
                return w, e * 0.0
            ended, result = game.rules.outcome(leaf)
            own = white(game, leaf, float(result) if ended else toy.value(leaf, w))
            e = trace * e + (0.0 if ended else white(game, leaf, 1.0) * toy.gradient(leaf, w))
            return w + RATE * (target - own) * e, e

        while not over:
            behind = children(game, state)
            lines = [minimax(toy, child, depth - 1, {}, w) for child, _ in behind]
            values = [sign * line[0] for (_, sign), line in zip(behind, lines, strict=True)]
            best = int(np.argmax(values))
            w_before = w
            w, e = learn_from(waiting, white(game, state, values[best]), False, w, e)
            assert w is w_before or waiting is not None
            after, explored = next_state(game, values, state, number, ply, explore)
            waiting, state, ply, searches = (lines[best][1], explored), after, ply + 1, searches + 1
            broken += explored
            over, result = game.rules.outcome(state)
        w, e = learn_from(waiting, white(game, state, float(result)), True, w, e)
    assert broken > 5
    assert traced(toy, depth, searches, trace, explore) == pytest.approx(w, abs=1e-12)


def test_the_forward_view_of_a_game_is_the_sum_of_the_backward_one():
    """Frozen weights: sum (G_t - v_t) g_t = sum d_t e_t, random moves included; g_t are unit vectors, so that nothing
    can cancel."""
    random = np.random.default_rng(0)
    values, explored, result, trace = random.normal(size=9), random.random(9) < 0.3, 1.0, 0.6
    explored[3], explored[8] = True, True
    e, backward = np.zeros(9), np.zeros(9)
    for t in range(9):
        last = t == 8
        if explored[t] and not last:
            e[:] = 0.0
            continue
        e = trace * e + np.eye(9)[t]
        backward += ((result if last else values[t + 1]) - values[t]) * e
    played = [td_leaf.Played(np.array([t]), values[t], bool(explored[t])) for t in range(9)]
    rows, targets = returns_of(played, result, trace)
    forward = np.zeros(9)
    forward[rows[:, 0]] = targets - values[rows[:, 0]]
    assert forward == pytest.approx(backward, abs=1e-12)
