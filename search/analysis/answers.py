"""What can be said of a position, as JSON and as a table: by plies and chances, by a search, by a solver.

    PlyAnswers       an agent's ranked plays with equities and chances; the value before the dice
    SearchAnswers    every move's value by a search algorithm, principal variation, nodes, seconds
    SolveAnswers     the exact score and every best move

All three take part in batches and on the terminal in the same way (`search/analyze.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from deltaw.envs.control import Stopped
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.players.agent import Agent, RankedMove
from deltaw.search.players.searcher import Limits, Searcher
from deltaw.search.solvers import Solution
from deltaw.search.solvers.exact import find_solver
from deltaw.search.terminal.tables import empty_table, more, shade
from deltaw.search.tree.algorithm import SearchResult

DIGITS = 6
"""equities and chances in JSON are rounded to so many decimals"""
TABLE_MOVES = 10
"""rows of a table unless more are asked for"""

SIZES = {1: "", 2: "gammon", 3: "backgammon"}
"""words for outcomes of more than one point"""
SHORT = {"win_gammon": "G", "win_backgammon": "BG", "lose_gammon": "G", "lose_backgammon": "BG"}
"""heads of narrow columns"""


class Answers(Protocol):
    """Somebody who can be asked about positions of one game."""

    game: Game

    def as_json(self, state: Any, top: int | None) -> dict[str, Any]:
        """What JSON says of `state`, of its `top` best moves or of all."""
        ...

    def as_table(self, state: Any, top: int) -> list[Any]:
        """Things that rich can print, one below the other."""
        ...


def rounded(number: float) -> float:
    return round(number, DIGITS) + 0.0  # no -0.0


# --- by plies ---------------------------------------------------------------------------------------------------------


def named_chances(outcomes: Sequence[int], chances: Sequence[float]) -> dict[str, float]:
    """`win`, `draw`, `lose`, and `win_gammon` ... for outcomes of more points: each is the chance of at least so
    many."""
    named = {}
    for side, sign in (("win", 1), ("lose", -1)):
        for size in sorted({abs(outcome) for outcome in outcomes} - {0}):
            word = SIZES.get(size, str(size))
            at_least = sum(p for outcome, p in zip(outcomes, chances, strict=True) if sign * outcome >= size)
            named[f"{side}_{word}" if word else side] = at_least
    if 0 in outcomes:
        named["draw"] = chances[list(outcomes).index(0)]
    return named


class PlyAnswers:
    def __init__(self, agent: Agent) -> None:
        self.agent, self.game = agent, agent.game

    def as_json(self, state: Any, top: int | None) -> dict[str, Any]:
        if self.game.rules.num_chance(state) > 0:
            value, chances = self.agent.value(state)
            return self._worth(value, chances) | {"plies": self.agent.plies}
        return {"moves": [self._move(ranked) for ranked in self.agent.rank(state)[:top]]}

    def _move(self, ranked: RankedMove) -> dict[str, Any]:
        worth = self._worth(ranked.value, ranked.chances)
        return {"move": ranked.text, "result": self.game.format(ranked.state), **worth, "plies": ranked.plies}

    def _worth(self, value: float | None, chances: tuple[float, ...] | None) -> dict[str, Any]:
        worth: dict[str, Any] = {"equity": None if value is None else rounded(value)}
        if chances is not None:
            named = named_chances(self.game.rules.outcomes, chances)
            worth["chances"] = {name: rounded(p) for name, p in named.items()}
        return worth

    def as_table(self, state: Any, top: int) -> list[Any]:
        if self.game.rules.num_chance(state) == 0:
            return self._moves_table(self.agent.rank(state), top)
        value, chances = self.agent.value(state)
        table = self._table(f"{self.game.title}: the value before the roll", chances is not None)
        table.add_row(*self._worth_texts(value, chances), str(self.agent.plies))
        return [table]

    def _moves_table(self, ranked: Sequence[RankedMove], top: int) -> list[Any]:
        table, best = (
            self._table(f"{self.game.title}: the best plays", ranked[0].chances is not None, "", "move"),
            ranked[0].value,
        )
        for i, move in enumerate(ranked[:top], 1):
            worth = self._worth_texts(move.value, move.chances)
            table.add_row(str(i), move.text, *worth, str(move.plies), style=shade(_behind(move.value, best), i == 1))
        return [table, *more(len(ranked), top)]

    def _table(self, title: str, with_chances: bool, *first: str) -> Any:
        groups = self._chance_groups() if with_chances else []
        heads = ["".join(f"{SHORT.get(name, name):>5}" for name in names) + " %" for names in groups]
        table = empty_table(title, *first, "equity", *heads, "plies")
        if any(len(names) > 1 for names in groups):
            table.caption = "G: gammons, BG: backgammons; each chance includes the larger wins or losses"
        return table

    def _chance_groups(self) -> list[list[str]]:
        """Names of the chances, one list a column: those of winning, of losing, and a draw."""
        outcomes = self.game.rules.outcomes
        named = named_chances(outcomes, [0.0] * len(outcomes))
        columns = [[name for name in named if name.startswith(side)] for side in ("win", "lose", "draw")]
        return [names for names in columns if names]

    def _worth_texts(self, value: float | None, chances: tuple[float, ...] | None) -> list[str]:
        texts = ["-" if value is None else f"{value:+.4f}"]
        if chances is not None:
            named = named_chances(self.game.rules.outcomes, chances)
            texts += ["".join(f"{100 * named[name]:5.1f}" for name in names) + "  " for names in self._chance_groups()]
        return texts


# --- by a search ------------------------------------------------------------------------------------------------------


class SearchAnswers:
    def __init__(self, searcher: Searcher) -> None:
        self.searcher, self.game = searcher, searcher.game

    def as_json(self, state: Any, top: int | None) -> dict[str, Any]:
        found = self.searcher.search(state, full=True)
        answer: dict[str, Any] = {"equity": rounded(found.value)}
        if self.game.rules.num_chance(state) == 0:
            answer["moves"] = [self._move(state, m, value, distance) for m, value, distance in self._moves(found)[:top]]
            answer["variation"] = self._variation(state, found)
        if found.distance is not None:
            answer["distance"] = found.distance
        return answer | {
            "algorithm": self.searcher.name,
            "depth": found.depth,
            "nodes": found.nodes,
            "seconds": rounded(found.seconds),
            "complete": found.complete,
        }

    def _moves(self, found: SearchResult) -> list[tuple[int, float | None, int | None]]:
        """(move, value, distance); without time for a level, one legal move of unknown value."""
        ranked = [tuple(ranked) for ranked in found.ranked]
        return ranked or [(move, None, None) for move in found.variation[:1]]  # type: ignore[return-value]

    def _move(self, state: Any, move: int, value: float | None, distance: int | None) -> dict[str, Any]:
        after = self.game.state(*(int(field) for field in self.game.rules.play(state, move)))
        worth: dict[str, Any] = {"equity": None if value is None else rounded(value)}
        if distance is not None:
            worth["distance"] = distance
        return {"move": self.game.move_text(state, move), "result": self.game.format(after), **worth}

    def _variation(self, state: Any, found: SearchResult) -> list[str]:
        texts = []
        for move in found.variation:
            texts.append(self.game.move_text(state, move))
            state = self.game.rules.play(state, move)
        return texts

    def as_table(self, state: Any, top: int) -> list[Any]:
        found = self.searcher.search(state, full=True)
        told = f"depth {found.depth}, {found.nodes:,} nodes, {found.seconds:.2f} s"
        head = f"{self.game.title} by {self.searcher.name}: {told}"
        table = empty_table(None, "", "move", "value", "")
        if self.game.rules.num_chance(state) > 0:
            table.add_row("", "", f"{found.value:+.4f}", "before the chance event")
            return [head, table]
        moves = self._moves(found)
        for i, (move, value, distance) in enumerate(moves[:top], 1):
            worth = "-" if value is None else f"{value:+.4f}"
            style = shade(_behind(value, moves[0][1]), i == 1)
            table.add_row(str(i), self.game.move_text(state, move), worth, _ending(value, distance), style=style)
        line = " ".join(self._variation(state, found))
        return [head, table, f"best play: {line}", *more(len(moves), top)]


def _behind(value: float | None, best: float | None) -> float | None:
    """How much worse than the best; None where values are not known."""
    return None if value is None or best is None else best - value


def _ending(value: float | None, distance: int | None) -> str:
    if value is None or distance is None:
        return ""
    return f"{'wins' if value > 0 else 'loses'} in {distance} plies"


# --- by a solver ------------------------------------------------------------------------------------------------------


class SolveAnswers:
    """Raises InputError for games that are not solved here; a position that a limit leaves unsolved is an InputError
    too."""

    def __init__(self, game: Game, limits: Limits) -> None:
        if limits.depth is not None:
            raise InputError(f"--solve searches to the end of the game: --depth {limits.depth} does not belong to it")
        self.game, self.limits, self.solver = game, limits, find_solver(game)

    def solve(self, state: Any) -> Solution:
        over, _ = self.game.rules.outcome(state)
        if over:
            score = int(self.game.rules.score(state))
            raise InputError(f"{self.game.format(state)} is finished: {score:+d} for the side to move")
        try:
            return self.solver.solve(state, seconds=self.limits.seconds, nodes=self.limits.nodes)
        except Stopped as stop:
            raise InputError(f"{self.game.format(state)}: {stop}; allow more seconds or nodes") from None

    def as_json(self, state: Any, top: int | None) -> dict[str, Any]:
        solution = self.solve(state)
        best = [self.game.move_text(state, move) for move in solution.best]
        return {"score": solution.score, "best": best[:top], "nodes": solution.nodes}

    def as_table(self, state: Any, top: int) -> list[Any]:
        solution = self.solve(state)
        table = empty_table(None, "score", "best moves")
        table.add_row(f"{solution.score:+d}", "  ".join(self.game.move_text(state, move) for move in solution.best))
        return [f"{self.game.title}: solved, {solution.nodes:,} nodes", table]
