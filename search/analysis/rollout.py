"""Roll-outs: the games after a position are played to their end, many times, and what came of them is averaged.

Both sides play the evaluator's best move at 1 ply. Every candidate meets the same dice (keyed by seed, trial and ply),
so that differences between candidates are surer than their values. Each game's result is freed of the luck of its
rolls, as matches are (`search/matches/match.py`): a roll's luck is the value of the best move after it, less the
average over all rolls; its expectation is 0 whatever the evaluator, so the mean stays right and its error shrinks the
more, the better the evaluator is.

Without chance all games after a position would be the same one: there, each move is a random one with probability
`noise`, again the same draws for all candidates. Such values are those of a game among players who err so often.

Letters: n positions, T trials, W integers a state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import begin_path, reach
from deltaw.envs.turn import after_chance, end, noisy_move, pick_chance, value_for
from deltaw.search.analysis.answers import rounded
from deltaw.search.evaluators.leaf import Leaf, forget
from deltaw.search.evaluators.named import leaf_of
from deltaw.search.matches.match import check_two_players
from deltaw.search.players.agent import Agent
from deltaw.search.players.plies import Bench, best_reply, find_reply, make_bench
from deltaw.search.players.threads import Workers
from deltaw.search.terminal.progress import counting
from deltaw.search.terminal.tables import empty_table, more, shade
from deltaw.search.tree.algorithm import RootMove

CANDIDATES = 5
"""moves that are rolled out unless more are asked for"""
USUAL_NOISE = 0.1
"""probability of a random move in games without chance"""


class Estimate(NamedTuple):
    """What roll-outs say of a position."""

    value: float
    """mean, for the side that asked, in outcome units"""
    error: float
    """standard error; NaN for one trial"""
    trials: int


def estimate(results: np.ndarray) -> Estimate:
    """Of one position's results [T]."""
    trials = len(results)
    error = float(results.std(ddof=1)) / math.sqrt(trials) if trials > 1 else math.nan
    return Estimate(float(results.mean()), error, trials)


def roll_out(
    game: Game,
    leaf: Leaf,
    rows: np.ndarray,
    trials: int,
    seed: int = 0,
    *,
    noise: float = 0.0,
    adjust: bool = True,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> np.ndarray:
    """Results float64 [n, T], for the mover of each of the positions `rows` int64 [n, W] (before their roll or after
    it), in outcome units, freed of luck where `adjust`. They depend on `seed`, not on `threads`. Raises InputError for
    a game of more than two players, and where every trial would be the same."""
    check_roll_out(game, trials, seed, noise)
    workers: Workers[Bench] = Workers(threads, lambda: make_bench(leaf, game))
    results, done = np.empty((len(rows), trials)), 0

    def work(i: int, bench: Bench) -> None:
        nonlocal done
        which, trial = divmod(i, trials)
        keyed = (np.int64(seed), np.int64(trial), float(noise))
        value, luck = play_out(game.rules, leaf, rows[which], *keyed, adjust, bench)
        results[which, trial] = value - luck
        done += 1
        if progress is not None:
            progress(done)

    workers.each(work, results.size)
    return results


def check_roll_out(game: Game, trials: int, seed: int, noise: float) -> None:
    """InputError for roll-outs that say nothing."""
    check_two_players(game, "a roll-out")
    if game.rules.hidden:
        raise InputError(f"{game.name} hides something from its players: roll-outs would see it")
    if trials < 1:
        raise InputError(f"at least 1 game is rolled out, not {trials}")
    if not 0 <= seed < 1 << 63:
        raise InputError(f"the seed must be at least 0 and below 2^63, not {seed}")
    if not 0.0 <= noise <= 1.0:
        raise InputError(f"noise is the probability of a random move: 0 to 1, not {noise:g}")
    if noise == 0.0 and game.rules.max_chance == 0:
        raise InputError(f"{game.name} has no chance: without noise all games after a move would be the same one")


@kernel
def play_out(rules, leaf, row, seed, trial, noise, adjust, bench):
    """(outcome, luck) of one game from the position `row` [W], for its mover."""
    state = rules.load(row)
    asker = rules.seat(state)
    luck, ply = 0.0, 0
    begin_path(rules, bench.path)
    while True:
        over, value = end(rules, bench.path, state, ply)
        if over:
            return np.float64(value_for(rules, state, value, asker)), luck
        i = pick_chance(rules, state, seed, trial, ply)
        if i >= 0:
            if adjust:
                luck += value_for(rules, state, luck_of(rules, leaf, state, i, bench), asker)
            state = after_chance(rules, state, i)
            if rules.outcome(state)[0]:
                continue
        chosen = noisy_move(rules, bench.path, state, seed, trial, ply, noise, bench.moves[1], bench.rows[1])
        if chosen < 0:
            forget(bench.work)
            _, chosen = find_reply(rules, leaf, bench.path, state, bench.moves[1], bench.rows[1], bench.work)
        reach(rules, bench.path, state)
        state = rules.load(bench.rows[1, chosen])
        ply += 1


@kernel
def luck_of(rules, leaf, state, i, bench):
    """What the chance outcome i of `state` is worth to the side on roll, less the average of all."""
    forget(bench.work)
    mean, got = 0.0, 0.0
    for r in range(rules.num_chance(state)):
        rolled, probability = rules.chance(state, r)
        over, value = rules.outcome(rolled)
        worth = np.float64(value)
        if not over:
            worth = best_reply(rules, leaf, rolled, bench)
        mean += probability * worth
        if r == i:
            got = worth
    return got - mean


# --- answers ------------------------------------------------------------------------------------------------------


class Rolled(NamedTuple):
    """A move, as it was ranked, and its roll-outs."""

    move: RootMove
    found: Estimate
    behind: Estimate
    """how much worse than the best by roll-outs, from differences game by game"""


class RollOutAnswers:
    """The answers of `search/analysis/answers.py`, by roll-outs of an agent's best moves. Raises InputError for an
    evaluator without values, and as `roll_out`."""

    def __init__(
        self,
        agent: Agent,
        trials: int,
        seed: int = 0,
        *,
        noise: float | None = None,
        candidates: int = CANDIDATES,
        threads: int | None = None,
    ) -> None:
        """`noise` None: 0 with chance, else USUAL_NOISE. `candidates`: how many of the best moves are rolled out."""
        self.agent, self.game, self.leaf = agent, agent.game, leaf_of(agent.evaluator)
        self.trials, self.seed, self.candidates, self.threads = trials, seed, candidates, threads
        self.noise = noise if noise is not None else 0.0 if agent.game.rules.max_chance > 0 else USUAL_NOISE
        check_roll_out(self.game, trials, seed, self.noise)

    def moves(self, state: Any) -> tuple[list[Rolled], int]:
        """(the best moves of the decision `state`, best first by roll-outs; how many moves there are)."""
        ranked = self.agent.rank(state)
        chosen = ranked[: self.candidates]
        results = self._results([move.state for move in chosen])
        for result, move in zip(results, chosen, strict=True):
            if self.game.rules.seat(move.state) != self.game.rules.seat(state):
                result *= -1.0
        order = np.argsort(-results.mean(axis=1), kind="stable")
        best = results[order[0]]
        rolled = [Rolled(chosen[i], estimate(results[i]), estimate(best - results[i])) for i in order]
        return rolled, len(ranked)

    def before_roll(self, state: Any) -> Estimate:
        return estimate(self._results([state])[0])

    def _results(self, states: Sequence[Any]) -> np.ndarray:
        rows = np.array([self.game.row(state) for state in states])
        with counting(len(rows) * self.trials, "games") as advance:
            return roll_out(
                self.game, self.leaf, rows, self.trials, self.seed,
                noise=self.noise, threads=self.threads, progress=advance,
            )  # fmt: skip

    def as_json(self, state: Any, top: int | None) -> dict[str, Any]:
        how = {"games": self.trials, "seed": self.seed, "noise": self.noise}
        if self.game.rules.num_chance(state) > 0:
            static, found = self.agent.value(state), self.before_roll(state)
            return {"equity": rounded(static.value), "rollout": _as_json(found)} | how
        rolled, _ = self.moves(state)
        return {"moves": [self._move_json(move) for move in rolled]} | how

    def _move_json(self, rolled: Rolled) -> dict[str, Any]:
        move = rolled.move
        static = None if move.value is None else rounded(move.value)
        result = {"move": move.text, "result": self.game.format(move.state), "equity": static, "plies": move.depth}
        return result | {"rollout": _as_json(rolled.found)}

    def as_table(self, state: Any, top: int) -> list[Any]:
        if self.game.rules.num_chance(state) > 0:
            found = self.before_roll(state)
            table = empty_table(None, "rolled out", "±", "static")
            table.add_row(*_texts(found), f"{self.agent.value(state).value:+.4f}")
            return [f"{self.game.title}: rolled out, before the roll", table, self._how()]
        rolled, moves = self.moves(state)
        heads = ("", "move", "rolled out", "±", "behind", "±", "static", "plies")
        table = empty_table(f"{self.game.title}: the best plays, rolled out", *heads)
        for i, (move, found, behind) in enumerate(rolled, 1):
            static = "-" if move.value is None else f"{move.value:+.4f}"
            gap = ["", ""] if i == 1 else [f"{behind.value:.4f}", _texts(behind)[1]]
            table.add_row(
                str(i), move.text, *_texts(found), *gap, static, str(move.depth), style=shade(behind.value, i == 1)
            )
        return [table, self._how(), *more(moves, len(rolled))]

    def _how(self) -> str:
        """How the games were played, in words."""
        freed = "freed of the luck of the dice, " if self.game.rules.max_chance > 0 else ""
        noisy = f"{100 * self.noise:g} % random moves, " if self.noise > 0.0 else ""
        dice = "dice" if self.game.rules.max_chance > 0 else "random moves"
        return (
            f"[dim]{self.trials} games each to the end at 1 ply, {noisy}{freed}the same {dice} for all, "
            f"seed {self.seed}; ± is one standard error[/dim]"
        )


def _texts(found: Estimate) -> list[str]:
    return [f"{found.value:+.4f}", "?" if math.isnan(found.error) else f"{found.error:.4f}"]


def _as_json(found: Estimate) -> dict[str, Any]:
    error = None if math.isnan(found.error) else rounded(found.error)
    return {"equity": rounded(found.value), "error": error}
