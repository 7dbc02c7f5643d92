"""Chance events drawn by counters: the same dice for the same (seed, game, ply), whoever asks and whenever."""

from __future__ import annotations

from deltaw.envs.bits import ROLL, random_unit
from deltaw.envs.kernel import kernel


@kernel
def pick_chance(rules, state, seed, game, ply):
    """Index of the chance outcome at this ply of this game; -1 where nothing is due."""
    k = rules.num_chance(state)
    left = random_unit(seed, game, ply, ROLL) if k > 0 else 0.0
    for i in range(k):
        _, probability = rules.chance(state, i)
        left -= probability
        if left < 0.0:
            return i
    return k - 1


@kernel
def roll(rules, state, seed, game, ply):
    """`state` after its chance event, if one is due."""
    i = pick_chance(rules, state, seed, game, ply)
    if i < 0:
        return state
    rolled, _ = rules.chance(state, i)
    return rolled
