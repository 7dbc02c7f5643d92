"""Matches: how much stronger is one player than another, and how sure is that? The command line is `deltaw arena`.

**Pairs.** Games 2p and 2p + 1 have the same dice (keyed by seed, pair and ply) and, without dice, the same random
opening, with seats swapped. A pair's mean is one observation: the standard error is that of the pair means. Two equal
deterministic players score exactly 0. A match may stop by a sequential test over pairs
(`search/matches/sequential.py`).

`first_only`: the first player always has the first seat, every game is one observation, and no game has a random
opening unless one is asked for. This is for matches against a perfect player.

**Noise.** With this probability the player on turn, whoever it is, must play a random move. It is drawn by (seed, pair,
ply), so that two equal players still score exactly 0.

**Luck adjustment** (the analysis of variance of a game with chance; a control variate). For any fixed evaluator V,
with V(s, r) the value of the best move after roll r,

    X_adj = X - sum over rolls of sign [V(s, r) - E_r V(s, r)],     sign +1 where the first player is on roll, else -1

has the same expectation as X, since the expectation of each term is 0 whatever was played before. The better V is, the
smaller is its variance.

All slots advance in lock-step, and each player decides for all of its games in one batch. Every number is keyed by
the game, so a result does not depend on slots or threads.

Letters: G games, B slots (games in progress), W integers a state, R most outcomes of a chance node. ppg: points per
game. +- is one standard error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import make_paths, reach
from deltaw.envs.turn import after_chance, end, noisy_move, open_game, pick_chance, value_for
from deltaw.search.evaluators.leaf import Leaf
from deltaw.search.matches.sequential import Hypotheses, accepted, check_hypotheses, log_likelihood_ratio, pentanomial
from deltaw.search.players.players import Decisions, Player
from deltaw.search.players.plies import Bench, make_bench, roll_values
from deltaw.search.players.threads import Workers

SLOTS = 256
OPENING_PLIES = 2
"""random moves at the start of games without chance, which two deterministic players would otherwise repeat"""
INTERVAL = 1.96
"""standard errors to either side of a 95 % interval"""
CHECK_PAIRS = 50
"""pairs between two looks at the error, in a match that stops at a given error"""


class Slots(NamedTuple):
    """Games in progress; arrays with first axis B."""

    game: np.ndarray
    """int64 [B]: number of the game; -1: none"""
    ply: np.ndarray
    """int64 [B]: moves made"""
    rows: np.ndarray
    """int64 [B, W]: position before the roll"""
    luck: np.ndarray
    """float64 [B]: of the first player, so far"""
    paths: np.ndarray
    """int64 [B, P]: see `envs/path.py`"""


class Record(NamedTuple):
    """Ended games, by number; arrays [G], for the first player."""

    over: np.ndarray
    """int8"""
    result: np.ndarray
    """int64: outcome"""
    luck: np.ndarray
    """float64: sum of the luck of all rolls"""
    length: np.ndarray
    """int64: plies"""


class MatchResult(NamedTuple):
    """The result of a match for `first`; points are per game."""

    game: str
    first: str
    second: str
    games: int
    mean: float
    standard_error: float
    """of the mean, from pair means (without pairs: from games); NaN for a single one"""
    adjusted_mean: float | None
    """luck-adjusted; None where luck was not measured"""
    adjusted_error: float | None
    outcomes: dict[int, int]
    """outcome value for the first player -> games; 0: draws and games broken off"""
    plies: int
    """of all games together"""
    seconds: float
    seed: int
    noise: float = 0.0
    first_only: bool = False
    pentanomial: tuple[int, int, int, int, int] | None = None
    """pairs in which `first` scored 0, 1/4, 1/2, 3/4, 1; None without pairs"""
    hypotheses: Hypotheses | None = None
    """Elo differences of the sequential test, if there was one"""
    log_likelihood_ratio: float | None = None
    accepted: float | None = None
    """the Elo difference that the test accepted; None: neither"""

    @property
    def games_per_second(self) -> float:
        return self.games / max(self.seconds, 1e-9)

    @property
    def best(self) -> tuple[float, float]:
        """The most precise estimate: (mean, standard error)."""
        if self.adjusted_mean is None or self.adjusted_error is None:
            return self.mean, self.standard_error
        return self.adjusted_mean, self.adjusted_error

    @property
    def score(self) -> float:
        """Share of games won, a draw counting half."""
        return sum(n * (1.0 if value > 0 else 0.5 if value == 0 else 0.0) for value, n in self.outcomes.items()) / max(
            self.games, 1
        )


# --- the match ----------------------------------------------------------------------------------------------------


class Match:
    """A match in progress: `step` until `done`; `result` at any time."""

    def __init__(
        self,
        game: Game,
        first: Player,
        second: Player,
        games: int,
        seed: int = 0,
        *,
        slots: int = SLOTS,
        luck: Leaf | None = None,
        threads: int | None = None,
        opening_plies: int | None = None,
        until_error: float | None = None,
        noise: float = 0.0,
        first_only: bool = False,
        sequential: Hypotheses | None = None,
    ) -> None:
        """`luck`: the evaluator of the luck adjustment. `opening_plies` None: 2 without chance and with swapped seats,
        else 0. `until_error`: play on until the standard error (of the adjusted mean, if luck is measured) is at most
        this, `games` at most. `sequential`: play on until one of the two is accepted, `games` at most."""
        check_match(game, games, seed, slots, luck, noise, first_only, sequential)
        self.game, self.players, self.seed, self.first_only = game, (first, second), seed, first_only
        self._until_error, self._noise, self._sequential = until_error, float(noise), sequential
        self._twins = 1 if first_only else 2
        self._opening = np.int64(default_opening_plies(game, first_only) if opening_plies is None else opening_plies)
        self._luck = luck
        self._workers: Workers[Bench] | None = Workers(threads, lambda: make_bench(luck, game)) if luck else None
        self._buffers = game.buffers()
        self.restart_clock()
        size = min(slots, games)
        self.record = Record(*(np.zeros(games, kind) for kind in (np.int8, np.int64, np.float64, np.int64)))
        rows, paths = np.zeros((size, game.rules.width), np.int64), make_paths(game.rules, size)
        self._slots = Slots(np.arange(size), np.zeros(size, np.int64), rows, np.zeros(size), paths)
        self._next = size
        self._units = 0
        self._pentanomial = np.zeros(5, np.int64)
        self._checked = 0
        self._settled = False
        self._begin(np.arange(size))

    def _begin(self, slots: np.ndarray) -> None:
        keyed = (np.int64(self.seed), np.int64(self._twins), self._opening)
        begin_games(self.game.rules, self._slots, slots, *keyed, *self._buffers)

    def restart_clock(self) -> None:
        self._started = time.perf_counter()

    @property
    def ended(self) -> int:
        """Games that have ended."""
        return int(self.record.over.sum())

    @property
    def done(self) -> bool:
        return self._settled or self._twins * self._units == len(self.record.over)

    def step(self) -> None:
        """Every game in progress moves on by one ply; ended ones make room for the next."""
        rules, slots = self.game.rules, self._slots
        active = np.flatnonzero(slots.game >= 0)
        before = slots.rows[active]
        keys = np.stack([slots.game[active], slots.ply[active]], axis=1)
        rolled, rolls, seats = np.empty_like(before), np.empty(len(active), np.int64), np.empty(len(active), np.int64)
        roll_rows(rules, before, keys, np.int64(self.seed), np.int64(self._twins), rolled, rolls, seats)
        mine = seats == keys[:, 0] % self._twins  # the first player has seat 0 in even games, or in all
        if self._luck is not None:
            slots.luck[active] += np.where(mine, 1.0, -1.0) * self._luck_of(before, rolls)
        decisions = Decisions(rolled, keys, slots.paths[active])
        chosen, free = self._noisy(decisions)
        for player, turn in zip(self.players, (mine & free, ~mine & free), strict=True):
            if turn.any():
                chosen[turn] = player.choose(decisions.at(turn), self.seed).rows
        ended = np.empty(len(active), np.int64)
        n = settle(rules, slots, active, rolled, chosen, np.int64(self._twins), self.record, ended)
        self._refill(ended[:n])
        self._count()

    def _noisy(self, decisions: Decisions) -> tuple[np.ndarray, np.ndarray]:
        """Results [n, W] of the moves that noise makes, and where there is none and the player may choose [n]."""
        chosen, free = np.empty_like(decisions.rows), np.ones(len(decisions.rows), bool)
        if self._noise > 0.0:
            keyed = (np.int64(self.seed), np.int64(self._twins), self._noise)
            play_noise(self.game.rules, decisions, *keyed, *self._buffers, chosen, free)
        return chosen, free

    def _luck_of(self, rows: np.ndarray, rolls: np.ndarray) -> np.ndarray:
        """Luck [n] of the side on roll: the value of its roll, less the expectation over all rolls; 0 where
        nothing was rolled."""
        assert self._workers is not None
        luck = np.zeros(len(rows))
        waiting = np.flatnonzero(rolls >= 0)
        size = (len(waiting), max(self.game.rules.max_chance, 1))
        values, chances, counts = np.zeros(size), np.zeros(size), np.empty(len(waiting), np.int64)
        before = rows[waiting]

        def work(part: slice, bench: Bench) -> None:
            roll_values(self.game.rules, self._luck, before[part], bench, values[part], chances[part], counts[part])

        if len(waiting):
            self._workers.run(work, len(waiting))
            luck[waiting] = values[np.arange(len(waiting)), rolls[waiting]] - (chances * values).sum(axis=1)
        return luck

    def _refill(self, free: np.ndarray) -> None:
        """Start the next games in the slots `free`."""
        n = min(len(free), len(self.record.over) - self._next)
        self._slots.game[free[:n]] = np.arange(self._next, self._next + n)
        self._next += n
        self._begin(free[:n])

    def _count(self) -> None:
        """Number of leading pairs (without pairs: games) that are complete. Only these count, since the games that end
        first are the short ones, which would bias the result."""
        over, twins = self.record.over, self._twins
        while twins * self._units < len(over) and over[twins * self._units : twins * (self._units + 1)].all():
            self._units += 1
            if self._is_enough():
                self._settled = True
                return

    def _is_enough(self) -> bool:
        """Whether the match may stop after the unit that was just counted."""
        if self._sequential is not None:
            self._pentanomial += pentanomial(self.record.result[2 * self._units - 2 : 2 * self._units])
            if accepted(self._pentanomial.tolist(), self._sequential) is not None:
                return True
        if self._until_error is None or self._units < self._checked + CHECK_PAIRS:
            return False
        self._checked = self._units
        return self.result().best[1] <= self._until_error

    def result(self) -> MatchResult:
        """Of the leading pairs that are complete."""
        games = self._twins * self._units
        result, luck = self.record.result[:games], self.record.luck[:games]
        mean, error = paired(result, self._twins)
        adjusted, adjusted_error = paired(result - luck, self._twins) if self._luck is not None else (None, None)
        counts, test = None if self.first_only else pentanomial(result), self._sequential
        values, numbers = np.unique(result, return_counts=True)
        return MatchResult(
            game=self.game.name,
            first=self.players[0].name,
            second=self.players[1].name,
            games=games,
            mean=mean,
            standard_error=error,
            adjusted_mean=adjusted,
            adjusted_error=adjusted_error,
            outcomes={int(value): int(n) for value, n in zip(values, numbers, strict=True)},
            plies=int(self.record.length[:games].sum()),
            seconds=time.perf_counter() - self._started,
            seed=self.seed,
            noise=self._noise,
            first_only=self.first_only,
            pentanomial=counts,
            hypotheses=test,
            log_likelihood_ratio=log_likelihood_ratio(counts, test) if counts and test else None,
            accepted=accepted(counts, test) if counts and test else None,
        )


def match(
    game: Game,
    first: Player,
    second: Player,
    games: int,
    seed: int = 0,
    *,
    slots: int = SLOTS,
    luck: Leaf | None = None,
    threads: int | None = None,
    opening_plies: int | None = None,
    until_error: float | None = None,
    noise: float = 0.0,
    first_only: bool = False,
    sequential: Hypotheses | None = None,
    progress: Callable[[int], None] | None = None,
) -> MatchResult:
    """A whole match (see `Match`); `progress` is called with the number of ended games."""
    contest = Match(
        game, first, second, games, seed,
        slots=slots, luck=luck, threads=threads, opening_plies=opening_plies, until_error=until_error,
        noise=noise, first_only=first_only, sequential=sequential,
    )  # fmt: skip
    while not contest.done:
        contest.step()
        if progress is not None:
            progress(contest.ended)
    return contest.result()


def check_two_players(game: Game, what: str) -> None:
    """InputError, naming what was asked for, for a game that is not for two."""
    if game.rules.num_players != 2:
        raise InputError(f"{game.name} has {game.rules.num_players} players; {what} needs a game for two")


def check_match(
    game: Game,
    games: int,
    seed: int,
    slots: int,
    luck: Leaf | None,
    noise: float,
    first_only: bool,
    sequential: Hypotheses | None,
) -> None:
    """InputError for a match that cannot be played."""
    check_two_players(game, "a match")
    if first_only and games < 1:
        raise InputError(f"a match needs at least 1 game, not {games}")
    if not first_only and (games < 2 or games % 2):
        raise InputError(f"games come in pairs with seats swapped: --games must be even and at least 2, not {games}")
    if not 0 <= seed < 1 << 63:
        raise InputError(f"the seed must be at least 0 and below 2^63, not {seed}")
    if slots < 1:
        raise InputError(f"a match needs at least 1 slot, not {slots}")
    if luck is not None and game.rules.max_chance == 0:
        raise InputError(f"{game.name} has no dice: there is no luck to adjust for")
    if luck is not None and not game.rules.exact_chance:
        raise InputError(f"luck is measured over all chance outcomes, which {game.name} does not list")
    if not 0.0 <= noise <= 1.0:
        raise InputError(f"noise is the probability of a random move: 0 to 1, not {noise:g}")
    if sequential is not None:
        if first_only:
            raise InputError("a sequential test is one over pairs with seats swapped: without --first-only")
        check_hypotheses(sequential)


def default_opening_plies(game: Game, first_only: bool = False) -> int:
    return OPENING_PLIES if game.rules.max_chance == 0 and not first_only else 0


def paired(points: np.ndarray, twins: int = 2) -> tuple[float, float]:
    """Mean of `points` [twins x U] and its standard error from the U means of `twins` neighbours."""
    if len(points) == 0:
        return math.nan, math.nan
    means = points.reshape(-1, twins).mean(axis=1)
    error = float(means.std(ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.nan
    return float(means.mean()), error


class Elo(NamedTuple):
    """A rating difference."""

    difference: float
    error: float
    """to first order"""
    low: float
    """of the 95 % interval, which is that of the score, as ratings; minus infinity where it reaches a score of 0"""
    high: float


def elo_of_score(score: float) -> float:
    """400 log10(s / (1 - s)); infinite where nothing was won, or everything."""
    if not 0.0 < score < 1.0:
        return -math.inf if score <= 0.0 else math.inf
    return 400.0 * math.log10(score / (1.0 - score))


def elo(result: MatchResult) -> Elo | None:
    """Rating difference 400 log10(s / (1 - s)) of the score s = (1 + mean) / 2, whose standard error is that of the
    pair means; None where s is 0 or 1. For games whose outcomes are -1, 0 and 1."""
    score, error = result.score, result.standard_error / 2.0
    if not 0.0 < score < 1.0:
        return None
    slope = 400.0 / (math.log(10.0) * score * (1.0 - score))
    ends = (elo_of_score(score - INTERVAL * error), elo_of_score(score + INTERVAL * error))
    return Elo(elo_of_score(score), slope * error, *(math.nan if math.isnan(error) else end for end in ends))


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def roll_rows(rules, rows, keys, seed, twins, rolled, rolls, seats):
    """Decisions `rolled` after the chance events of `rows`, the outcomes' numbers `rolls` (-1: none), and who is
    to move; `twins` games have the same."""
    for i in range(len(rows)):
        state = rules.load(rows[i])
        rolls[i] = pick_chance(rules, state, seed, keys[i, 0] // twins, keys[i, 1])
        seats[i] = rules.seat(state)
        rolled[i] = rows[i]
        if rolls[i] >= 0:
            rules.store(after_chance(rules, state, rolls[i]), rolled[i])


@kernel
def begin_games(rules, slots, which, seed, twins, opening_plies, moves, children):
    """Set up the games of the slots `which`: the position after random moves, the same for both games of a pair."""
    for slot in which:
        pair = slots.game[slot] // twins
        slots.ply[slot] = open_game(
            rules, seed, pair, opening_plies, slots.rows[slot], slots.paths[slot], moves, children
        )
        slots.luck[slot] = 0.0


@kernel
def play_noise(rules, decisions, seed, twins, noise, moves, children, chosen, free):
    """free[i]: whether the mover of decision i may choose; if not, chosen[i] is one of the distinct results."""
    rows, keys, paths = decisions
    for i in range(len(rows)):
        pair, ply = keys[i, 0] // twins, keys[i, 1]
        noisy = noisy_move(rules, paths[i], rules.load(rows[i]), seed, pair, ply, noise, moves, children)
        free[i] = noisy < 0
        if noisy >= 0:
            chosen[i] = children[noisy]


@kernel
def settle(rules, slots, active, rolled, chosen, twins, record, ended):
    """The slots `active` move on from the decisions `rolled` to the positions `chosen`; ended games go to the record.
    Returns how many slots, listed in `ended`, are free."""
    n = 0
    for i in range(len(active)):
        slot = active[i]
        state = rules.load(chosen[i])
        slots.rows[slot] = chosen[i]
        slots.ply[slot] += 1
        reach(rules, slots.paths[slot], rules.load(rolled[i]))
        over, value = end(rules, slots.paths[slot], state, slots.ply[slot])
        if over:
            game = slots.game[slot]
            record.result[game] = value_for(rules, state, value, game % twins)
            record.luck[game] = slots.luck[slot]
            record.length[game] = slots.ply[slot]
            record.over[game] = 1
            slots.game[slot] = -1
            ended[n] = slot
            n += 1
    return n
