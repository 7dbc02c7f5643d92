"""One turn of a game, in small kernels: self-play, matches, roll-outs, recordings and fronts are all made of them.

    open_game -> position -roll-> decision -(a choice, explore or noisy_move)-> position -end-> value_for a seat

The path of the game (`envs/path.py`) goes with the position: whoever has chosen a move calls `reach` with the decision,
and then asks `end` about the position that follows.

Random numbers come from counters: each is a function of (seed, game, ply, purpose), so a game does not depend on the
games beside it. Two games that need the same dice get the same number, that of their pair.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import EXPLORE, EXPLORED_MOVE, NOISE, NOISY_MOVE, OPENING, ROLL, random_unit, random_word
from deltaw.envs.kernel import kernel
from deltaw.envs.path import begin_path, expand, outcome, reach, step_back
from deltaw.envs.rules import listed_outcome


@kernel
def pick_chance(rules, state, seed, game, ply):
    """What chance decides at this ply of this game: the number of the outcome, or 63 random bits where the game does
    not list its outcomes; -1 where nothing is due."""
    if rules.num_chance(state) == 0:
        return np.int64(-1)
    word = random_word(seed, game, ply, ROLL)
    if rules.exact_chance:
        return np.int64(listed_outcome(rules.num_chance, rules.chance, state, word))
    return np.int64(word)


@kernel
def after_chance(rules, state, outcome):
    """`state` after the chance event that `pick_chance` has picked."""
    if rules.exact_chance:
        rolled, _ = rules.chance(state, outcome)
        return rolled
    return rules.sample_chance(state, outcome)


@kernel
def roll(rules, state, seed, game, ply):
    """`state` after its chance event, if one is due."""
    if rules.num_chance(state) == 0:
        return state
    return rules.sample_chance(state, random_word(seed, game, ply, ROLL))


@kernel
def random_move(rules, path, state, seed, game, ply, purpose, moves, rows):
    """Index of a move of the decision `state`, each distinct result being equally likely; fills `moves` and `rows` with
    the legal moves and their results."""
    return random_word(seed, game, ply, purpose) % expand(rules, path, state, moves, rows)


@kernel
def explore(seed, game, ply, probability, n, best):
    """(index of the move that is made, whether it is random): one of all n with this probability, else `best`."""
    if probability > 0.0 and random_unit(seed, game, ply, EXPLORE) < probability:
        return random_word(seed, game, ply, EXPLORED_MOVE) % n, True
    return best, False


@kernel
def noisy_move(rules, path, state, seed, game, ply, probability, moves, rows):
    """Index of the random move that the mover has to make, with this probability, as `random_move` finds it; -1 where
    he may choose."""
    if probability > 0.0 and random_unit(seed, game, ply, NOISE) < probability:
        return random_move(rules, path, state, seed, game, ply, NOISY_MOVE, moves, rows)
    return -1


@kernel
def open_game(rules, seed, game, plies, row, path, moves, rows):
    """The position after so many random moves from the start, to `row` [W], and its path; no move is made that would
    end the game, nor any after it. Returns how many were made."""
    rules.store(rules.initial(), row)
    begin_path(rules, path)
    for ply in range(plies):
        state = roll(rules, rules.load(row), seed, game, ply)
        child = rows[random_move(rules, path, state, seed, game, ply, OPENING, moves, rows)]
        reach(rules, path, state)
        if end(rules, path, rules.load(child), ply + 1)[0]:
            step_back(rules, path)
            return ply
        row[:] = child
    return plies


@kernel
def end(rules, path, state, plies):
    """(whether a game that has come to `state` in so many moves is over, its value for the mover): after `max_plies`
    moves it is a draw."""
    over, value = outcome(rules, path, state)
    if not over and 0 < rules.max_plies <= plies:
        return True, np.int64(0)
    return over, value


@kernel
def value_for(rules, state, value, seat):
    """A value for the mover of `state`, as the player in `seat` sees it; for two players."""
    return value if rules.seat(state) == seat else -value


@kernel
def payoffs_by_seat(rules, state, out):
    """What a game that ended in `state` is worth to each seat, to out float64 [num_players]; zeros where it goes on, or
    was drawn by a repetition or broken off."""
    out[:] = 0.0
    if rules.outcome(state)[0]:
        rules.payoffs(state, out)
        out[:] = np.roll(out, rules.seat(state))
