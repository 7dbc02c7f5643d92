"""What the tests of environments share: random actions to the end, payoffs, and backgammon positions by
their points."""

from __future__ import annotations

import numpy as np
from gymnasium.utils.env_checker import data_equivalence

from deltaw.envs.games.backgammon.notation import from_board, read_roll

START = {24: 2, 13: 5, 8: 3, 6: 5}


def choose(mask, rng):
    return int(rng.choice(np.flatnonzero(mask)))


def finish(env, rng, info, most=5000):
    """Random legal actions to the end: [(observation, reward, terminated, truncated, info), ...]"""
    steps = []
    while len(steps) < most:
        steps.append(env.step(choose(info["action_mask"], rng)))
        info = steps[-1][-1]
        if steps[-1][2] or steps[-1][3]:
            return steps
    raise AssertionError(f"no end after {most} actions")


def payoff(game, state, seat):
    """What a state is worth to a seat: 0 while the game is on."""
    out = np.zeros(game.rules.num_players)
    if game.rules.outcome(state)[0]:
        game.rules.payoffs(state, out)
    return out[(seat - game.rules.seat(state)) % len(out)]


def same(a, b):
    return data_equivalence(a, b, exact=True)


def backgammon_state(mine, his, dice=None):
    """A state from {point: checkers}, each side counting from its own end, 25 the bar; the others are borne off."""
    me, opponent = ([side.get(point, 0) for point in range(1, 26)] + [0] for side in (mine, his))
    state = from_board(me, opponent)
    return state._replace(roll=read_roll(state, dice)) if dice else state
