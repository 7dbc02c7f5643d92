"""Duels: the points that one vector of weights wins against another, over pairs of games with the same dice or opening
and seats swapped.

A duel is the payoff of learning automata. A *pair* is two games with the same number: they have the same dice, or
without dice the same random opening, and the seats are swapped. So equal players score exactly 0. Every random number
is keyed by (seed, pair, ply, purpose), and pairs are numbered through the whole run: a payoff does not depend on how
duels are shared among workers, nor on when a run was interrupted.

Letters: D duels, F features, W integers a state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs import games
from deltaw.envs.bits import WORLD, random_word
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import follow, reach
from deltaw.envs.turn import end, noisy_move, open_game, roll, value_for
from deltaw.learn.weights.population import member
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import Leaf, Weights, evaluate_linear
from deltaw.search.matches.match import default_opening_plies
from deltaw.search.players.plies import ALL_MOVES, ONE_PLY, Bench, find_reply, make_bench, score_moves


class Games(NamedTuple):
    """The games of a duel."""

    seed: int
    first: int
    """number of the first duel's first pair"""
    pairs: int
    """of each duel; duel d plays the pairs first + d pairs, ..."""
    opening_plies: int
    """random moves at the start of games without dice"""


class Duels(NamedTuple):
    """How duels ended."""

    points: np.ndarray
    """[D]: points a game of the first player"""
    plies: int
    """of all games together, openings included"""


class Job(NamedTuple):
    """Some duels, as plain data that can be sent to another process."""

    game: str
    weights: Weights
    """of the kind of evaluator that plays; its `first` is replaced by the two players' weights"""
    one: np.ndarray
    """float32 [D, F + 1]"""
    other: np.ndarray
    """float32 [D, F + 1]"""
    games: Games


def duel(start: Evaluator, one: np.ndarray, other: np.ndarray, games: Games, backend: Backend) -> Duels:
    """Results of the linear evaluators one[d] [F + 1] against other[d], which differ from `start` by their weights
    alone."""
    jobs = []
    for part in np.array_split(np.arange(len(one)), min(backend.workers, len(one))):
        share = games._replace(first=games.first + int(part[0]) * games.pairs)
        jobs.append(Job(start.game.name, start.leaf.weights, one[part], other[part], share))
    parts = backend.map(play_duels, jobs)
    return Duels(np.concatenate([part.points for part in parts]), sum(part.plies for part in parts))


def play_duels(job: Job) -> Duels:
    """The duels of job.one against job.other."""
    game, (seed, first, pairs, opening_plies) = games.load(job.game), job.games
    duels, size = job.one.shape
    stacked = np.stack([job.one, job.other], axis=1).astype(np.float32).reshape(2 * duels, size, 1)
    leaf = Leaf(evaluate_linear, job.weights._replace(first=stacked, dense=np.zeros((2 * duels, 0), np.float32)))
    side = Side(choose_best, leaf, make_bench(leaf._replace(weights=member(leaf.weights, 0)), game))
    one, numbers = 2 * np.repeat(np.arange(duels), 2 * pairs), 2 * first + np.arange(2 * pairs * duels)
    points, row = np.zeros(len(numbers), np.int64), np.empty(game.rules.width, np.int64)
    keyed = (np.int64(seed), np.int64(opening_plies), 0.0)
    plies = play_games(game.rules, side, side, np.stack([one, one + 1, numbers], axis=1), *keyed, row, points)
    return Duels(points.reshape(duels, 2 * pairs).mean(axis=1), int(plies))


class Side(NamedTuple):
    """A player and its scratch memory."""

    choose: Any
    """choose(rules, leaf, r, state, seed, game, ply, bench) -> index of the chosen move's result in bench.rows[0]"""
    leaf: Any
    bench: Bench


def opening_plies_of(game: Game, wanted: int) -> int:
    """`wanted` random moves at the start; -1: as in matches. Raises InputError for two deterministic players who would
    play the same game again and again."""
    if wanted < -1:
        raise InputError(f"learner.opening_plies={wanted} must be at least 0, or -1 for {default_opening_plies(game)}")
    plies = default_opening_plies(game) if wanted == -1 else wanted
    if plies == 0 and game.rules.max_chance == 0:
        raise InputError(f"learner.opening_plies=0: without dice, as in {game.name}, all games would be the same one")
    return plies


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def play_games(rules, one, other, games, seed, opening_plies, noise, row, points):
    """points[g] of the first player, `one`, in games [G, 3]: rows of the two players in their stacks, and number of the
    game, odd where `one` has seat 1. Returns the plies of all games."""
    plies, moves, rows, path = 0, one.bench.moves[0], one.bench.rows[0], one.bench.path
    for g in range(len(games)):
        number, pair = games[g, 2], games[g, 2] // 2
        ply = open_game(rules, seed, pair, opening_plies, row, path, moves, rows)
        over = False
        while not over:
            state = roll(rules, rules.load(row), seed, pair, ply)
            noisy = noisy_move(rules, path, state, seed, pair, ply, noise, moves, rows)
            if noisy >= 0:
                row[:] = rows[noisy]
            elif rules.seat(state) == number % 2:
                row[:] = rows[one.choose(rules, one.leaf, games[g, 0], state, seed, number, ply, one.bench)]
            else:
                follow(rules, other.bench.path, path)
                best = other.choose(rules, other.leaf, games[g, 1], state, seed, number, ply, other.bench)
                row[:] = other.bench.rows[0, best]
            ply += 1
            child = rules.load(row)
            reach(rules, path, state)
            over, value = end(rules, path, child, ply)
            points[g] = value_for(rules, child, value, number % 2)
        plies += ply
    return plies


@kernel
def choose_best(rules, leaf, r, state, seed, game, ply, bench):
    """The best move by evaluator r of a stack, one ply deep."""
    own = Leaf(leaf.evaluate, member(leaf.weights, r), leaf.expect)
    if rules.hidden:
        bench.word[0] = random_word(seed, game, ply, WORLD)
        return score_moves(rules, own, state, ONE_PLY, ALL_MOVES, 0.0, bench)[1]
    own.expect(rules, own.weights, state, bench.work)
    return find_reply(rules, own, bench.path, state, bench.moves[0], bench.rows[0], bench.work)[1]
