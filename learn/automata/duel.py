"""Duels: what one vector of weights wins against another, over pairs of games with the same dice or opening and seats swapped.

The payoff of learning automata. A *pair* is two games of the same number: the same dice, or without dice the same random opening, with the seats swapped; so equal
players score exactly 0. Every random number is keyed by (seed, pair, ply, purpose), and pairs are numbered through the whole run: a payoff does not depend on how
duels are shared among workers, nor on when a run was interrupted.

Letters: D duels, F features, W integers a state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs import games
from deltaw.envs.bits import OPENING, random_word
from deltaw.envs.chance import roll
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.learn.selfplay.lockstep import member
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import Leaf, Weights, evaluate_linear
from deltaw.search.matches.match import default_opening_plies
from deltaw.search.players.plies import make_bench, score_moves


class Games(NamedTuple):
    """Which games decide a duel."""

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
    """Results of the linear evaluators one[d] [F + 1] against other[d], which differ from `start` by their weights alone."""
    jobs = []
    for part in np.array_split(np.arange(len(one)), min(backend.workers, len(one))):
        share = games._replace(first=games.first + int(part[0]) * games.pairs)
        jobs.append(Job(start.game.name, start.leaf.weights, one[part], other[part], share))
    parts = backend.map(play_duels, jobs)
    return Duels(np.concatenate([part.points for part in parts]), sum(part.plies for part in parts))


def play_duels(job: Job) -> Duels:
    """The duels of job.one against job.other."""
    game = games.load(job.game)
    players = np.stack([job.one, job.other], axis=1).astype(np.float32)[..., None]  # [D, 2, F + 1, 1]
    dense = np.zeros((2, 0), np.float32)
    leaf = Leaf(evaluate_linear, job.weights._replace(first=players[0], dense=dense))
    bench = make_bench(leaf._replace(weights=member(leaf.weights, 0)), game)
    points, plies = np.zeros(len(players)), 0
    row = np.empty(game.rules.width, np.int64)
    for d, pair in enumerate(players):
        leaf = Leaf(evaluate_linear, leaf.weights._replace(first=pair))
        first = np.int64(job.games.first + d * job.games.pairs)
        points[d], played = play_pairs(
            game.rules, leaf, np.int64(job.games.seed), first, job.games.pairs, job.games.opening_plies, row, bench
        )
        plies += played
    return Duels(points, plies)


def opening_plies_of(game: Game, wanted: int) -> int:
    """`wanted` random moves at the start; -1: as in matches. InputError for two deterministic players who would play one and the same game."""
    if wanted < -1:
        raise InputError(f"learner.opening_plies={wanted} must be at least 0, or -1 for {default_opening_plies(game)}")
    plies = default_opening_plies(game) if wanted == -1 else wanted
    if plies == 0 and game.rules.max_chance == 0:
        raise InputError(f"learner.opening_plies=0: without dice, as in {game.name}, all games would be the same one")
    return plies


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def play_pairs(rules, leaf, seed, first, pairs, opening_plies, row, bench):
    """(points a game of evaluator 0 of leaf.weights against evaluator 1, plies of all games)"""
    points, plies = 0, 0
    for pair in range(first, first + pairs):
        for seat in range(2):
            result, length = play_game(rules, leaf, seed, pair, seat, opening_plies, row, bench)
            points += result
            plies += length
    return points / (2.0 * pairs), plies


@kernel
def play_game(rules, leaf, seed, pair, seat, opening_plies, row, bench):
    """(result of one game for evaluator 0, which has the seat `seat`; plies)"""
    ply = open_game(rules, seed, pair, opening_plies, row, bench)
    while True:
        state = roll(rules, rules.load(row), seed, pair, ply)
        mover = 0 if rules.seat(state) == seat else 1
        _, best = score_moves(
            rules, Leaf(leaf.evaluate, member(leaf.weights, mover), leaf.expect), state, 1, 0, 0.0, bench
        )
        ply += 1
        child = rules.load(bench.rows[0, best])
        over, value = rules.outcome(child)
        if over:
            return value if rules.seat(child) == seat else -value, ply
        if rules.max_plies > 0 and ply >= rules.max_plies:
            return np.int64(0), ply
        row[:] = bench.rows[0, best]


@kernel
def open_game(rules, seed, pair, opening_plies, row, bench):
    """The first position after the pair's random moves, as long as they do not end the game, to row [W]; returns how many were made."""
    rules.store(rules.initial(), row)
    for ply in range(opening_plies):
        state = roll(rules, rules.load(row), seed, pair, ply)
        n = rules.expand(state, bench.moves[0], bench.rows[0])
        child = bench.rows[0, random_word(seed, pair, ply, OPENING) % n]
        if rules.outcome(rules.load(child))[0]:
            return ply
        row[:] = child
    return opening_plies
