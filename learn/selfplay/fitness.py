"""Fitness by games: every individual of a population meets the same opponents with the same dice, from both seats.

The opponents of a generation are some individuals of its own population (a sample of the round robin), members of a
hall of fame, and fixed players, if any are named. Pair p is two games with the same dice, or without dice the same
random opening, with seats swapped; its opponent is number p mod K. All individuals play the same pairs, and the next
generation plays new ones. So two individuals differ by their play, not by their dice.

**Successive halving** (Jamieson & Talwalkar 2016): after each round only the better part plays on, since few games are
enough to find the bad individuals.

Games are numbered and keyed as in `search/matches/match.py`, (seed, pair, ply): the fitness of an individual
against one opponent is the mean of that match, and does not depend on who else was measured, nor on how games are
shared among workers.

Letters: N individuals, K opponents, L of them learned, G games, R evaluators in a stack, M most moves, W integers a
state, n genes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import TIE
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import expand
from deltaw.envs.turn import random_move
from deltaw.learn.knobs import CountOrZero, Share
from deltaw.learn.selfplay.duel import Side, choose_best, opening_plies_of, play_games
from deltaw.learn.strategies.strategy import Fitness, places
from deltaw.learn.weights.genome import Genome
from deltaw.learn.weights.population import member, stack
from deltaw.learn.workers.backend import Backend, Shared
from deltaw.search.evaluators.leaf import Leaf, handmade_leaf
from deltaw.search.evaluators.named import compiled, find_evaluator, shipped
from deltaw.search.players.players import RANDOM
from deltaw.search.players.plies import Bench, make_bench

SHARE = 256
"""games of a job at least: fewer would cost more to hand over than to play"""


@dataclass
class FitnessOptions:
    """Every knob of the fitness."""

    rounds: list[int] = field(default_factory=lambda: [40])
    """games that an individual has played by the end of each round; with fewer pairs than opponents the last of these
    are left out"""
    survivors: float = 0.5
    """share of the individuals that plays the next round"""
    peers: CountOrZero = 4
    """individuals of the population, drawn anew each generation, whom all play"""
    fame: CountOrZero = 4
    """members of the hall of fame, drawn anew each generation, whom all play"""
    baselines: list[str] = field(default_factory=list)
    """fixed players whom all play: random, a baseline, a shipped evaluator, a file; none: self-play alone"""
    opening_plies: int = -1
    """random moves at the start of games without dice; -1: as in matches"""
    noise: Share = 0.0
    """chance of a random move, for both players, as in matches"""


def check_fitness(options: FitnessOptions, others: int = 0) -> None:
    """Raise InputError for options that make no sense. `others`: opponents that the options do not name."""
    rounds = list(options.rounds)
    if not rounds or any(games < 2 or games % 2 for games in rounds) or rounds != sorted(set(rounds)):
        raise InputError(f"learner.rounds={rounds} must be even, ascending numbers of games: pairs with seats swapped")
    if not 0.0 < options.survivors < 1.0:
        raise InputError(f"learner.survivors={options.survivors} must be above 0 and below 1")
    if others:
        return
    if options.peers + options.fame + len(options.baselines) == 0:
        raise InputError("learner.peers=0, learner.fame=0 and no learner.baselines: nobody to play against")
    if options.peers == 0 and not options.baselines:
        raise InputError(
            "learner.peers=0 and no learner.baselines: nobody to play against while the hall of fame is empty"
        )


class Scores(NamedTuple):
    """The results of one generation's games."""

    fitness: Fitness
    against: np.ndarray
    """float64 [K]: points a game of all individuals together against each opponent; NaN where none was played"""
    games: int
    plies: int
    """of all games together, openings included"""


class Tally(NamedTuple):
    """Games of one generation so far."""

    points: np.ndarray
    """float64 [N, K]: of every individual from every opponent"""
    games: np.ndarray
    """int64 [N, K]"""
    rounds: np.ndarray
    """int64 [N]: number, from 0, of the last round that the individual played"""


class Fixed(NamedTuple):
    """An opponent that does not learn. Baselines travel to other processes by name."""

    name: str
    leaf: Leaf | None
    """of an evaluator; stacked, with one row"""


class Job(NamedTuple):
    """Some games, with everything needed to play them."""

    game: Game
    stacked: Shared[Leaf]
    """evaluators of the individuals and of the learned opponents"""
    opponent: Fixed | None
    """None: evaluators of the stack"""
    games: np.ndarray
    """int64 [G, 3]: rows of the individual and of the opponent in their stacks; number of the game, odd where the
    individual has seat 1"""
    seed: int
    opening_plies: int
    noise: float


class Arena:
    """Measures populations of evaluators like that of `genome`."""

    def __init__(self, genome: Genome, options: FitnessOptions, backend: Backend) -> None:
        game = genome.start.game
        self.genome, self.options, self._backend = genome, options, backend
        self.opening_plies = opening_plies_of(game, options.opening_plies)
        self.fixed = [find_fixed(game, name) for name in options.baselines]

    def measure(self, genomes: np.ndarray, rivals: np.ndarray, seed: int) -> Scores:
        """Fitness of genomes [N, n] against the evaluators rivals [L, n] and the fixed players, with the dice of
        `seed`."""
        stacked = self._backend.share(self.genome.leaf(np.concatenate([genomes, rivals])))
        size, opponents = len(genomes), len(rivals) + len(self.fixed)
        tally = Tally(np.zeros((size, opponents)), np.zeros((size, opponents), np.int64), np.zeros(size, np.int64))
        alive, plies, first = np.arange(size), 0, 0
        for number, last in enumerate(self.options.rounds):
            if number > 0:
                alive = survivors(tally, alive, self.options.survivors)
                tally.rounds[alive] = number
            schedule = pairings(alive, len(rivals), size, len(self.fixed), first, last)
            points, length = self._play(stacked, schedule, seed)
            individual, opponent = schedule[:, 1], schedule[:, 3] // 2 % opponents
            np.add.at(tally.points, (individual, opponent), points)
            np.add.at(tally.games, (individual, opponent), 1)
            plies += length
            first = last
        return scores(tally, plies)

    def _play(self, stacked: Shared[Leaf], schedule: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
        """Points [G] of the individuals in the games of `schedule` (see `pairings`), and all plies."""
        jobs, where = [], []
        for kind in np.unique(schedule[:, 0]):
            games = np.flatnonzero(schedule[:, 0] == kind)
            opponent = None if kind == 0 else self.fixed[kind - 1]
            for part in np.array_split(games, max(1, min(self._backend.workers, len(games) // SHARE))):
                settings = (seed, self.opening_plies, float(self.options.noise))
                jobs.append(Job(self.genome.start.game, stacked, opponent, schedule[part, 1:], *settings))
                where.append(part)
        points, plies = np.zeros(len(schedule)), 0
        for part, (won, length) in zip(where, self._backend.map(play_job, jobs), strict=True):
            points[part] = won
            plies += length
        return points, plies


def pairings(alive: np.ndarray, learned: int, size: int, fixed: int, first: int, last: int) -> np.ndarray:
    """int64 [G, 4]: the games first .. last - 1 of every individual in `alive`: kind of opponent (0 learned, k the k-th
    fixed player), rows of the individual and of the opponent in their stacks, number of the game."""
    numbers = np.arange(first, last)
    opponent = numbers // 2 % (learned + fixed)
    kind = np.maximum(opponent - learned + 1, 0)
    row = np.where(kind == 0, size + opponent, 0)
    each = np.stack([kind, np.zeros_like(kind), row, numbers], axis=1)
    schedule = np.tile(each, (len(alive), 1))
    schedule[:, 1] = np.repeat(alive, len(numbers))
    return schedule


def survivors(tally: Tally, alive: np.ndarray, share: float) -> np.ndarray:
    """Those of `alive` who play the next round: the better `share` of them, at least one; ties go to the first."""
    means = tally.points[alive].sum(axis=1) / tally.games[alive].sum(axis=1)
    kept = max(1, round(share * len(alive)))
    return np.sort(alive[np.argsort(-means, kind="stable")[:kept]])


def scores(tally: Tally, plies: int) -> Scores:
    """The scores of a finished tally."""
    games = tally.games.sum(axis=1)
    mean = tally.points.sum(axis=1) / games
    fitness = Fitness(mean, games, places(np.lexsort((-mean, -tally.rounds))))
    played = tally.games.sum(axis=0)
    against = np.divide(tally.points.sum(axis=0), played, out=np.full(len(played), np.nan), where=played > 0)
    return Scores(fitness, against, int(games.sum()), plies)


# --- opponents ----------------------------------------------------------------------------------------------------


def find_fixed(game: Game, name: str) -> Fixed:
    """The player called `name`. Raises InputError, which lists the known names."""
    if name == RANDOM:
        return Fixed(name, None)
    if name not in game.baselines and name not in shipped(game) and not name.endswith(".safetensors"):
        known = ", ".join([RANDOM, *game.baselines, *shipped(game)])
        raise InputError(
            f"learner.baselines: no player {name!r} for {game.name}: name an evaluator file or one of {known}"
        )
    found = compiled(find_evaluator(game, name))
    if isinstance(found, Baseline):
        return Fixed(name, None)
    return Fixed(name, alone(found.leaf))


def alone(leaf: Leaf) -> Leaf:
    """The leaf as a stack of one."""
    return leaf._replace(weights=stack([leaf.weights]))


def side_of(game: Game, stacked: Leaf, opponent: Fixed | None) -> Side:
    """An evaluator of the stack, or a fixed player."""
    leaf = stacked if opponent is None else opponent.leaf
    if leaf is not None:
        return Side(choose_best, leaf, _bench(game, leaf))
    assert opponent is not None
    spare = _bench(game, stacked)
    if opponent.name == RANDOM:
        return Side(choose_randomly, (), spare)
    baseline = game.baselines[opponent.name]
    if baseline.kind == "rank":
        return Side(choose_ranked, baseline.function, spare)
    handmade = alone(handmade_leaf(baseline))
    return Side(choose_best, handmade, _bench(game, handmade))


def _bench(game: Game, stacked: Leaf) -> Bench:
    return make_bench(stacked._replace(weights=member(stacked.weights, 0)), game)


def play_job(job: Job) -> tuple[np.ndarray, int]:
    """Points int64 [G] of the individuals, and the plies of all games."""
    stacked = job.stacked.value
    one, other = side_of(job.game, stacked, None), side_of(job.game, stacked, job.opponent)
    points = np.zeros(len(job.games), np.int64)
    row = np.empty(job.game.rules.width, np.int64)
    settings = (np.int64(job.seed), np.int64(job.opening_plies), job.noise)
    plies = play_games(job.game.rules, one, other, job.games, *settings, row, points)
    return points, int(plies)


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def choose_ranked(rules, rank, r, state, seed, game, ply, bench):
    """The highest-ranked move; ties go to the first."""
    n = expand(rules, bench.path, state, bench.moves[0], bench.rows[0])
    best, highest = 0, -np.inf
    for k in range(n):
        score = rank(state, bench.moves[0, k], rules.load(bench.rows[0, k]))
        if score > highest:
            best, highest = k, score
    return best


@kernel
def choose_randomly(rules, nothing, r, state, seed, game, ply, bench):
    """One of the distinct results, drawn by (seed, game, ply)."""
    return random_move(rules, bench.path, state, seed, game, ply, TIE, bench.moves[0], bench.rows[0])
