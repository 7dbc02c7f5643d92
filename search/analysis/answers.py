"""What can be said of a position, as JSON and as a table: by plies and chances, by a search, by a solver.

    AgentAnswers     an agent's ranked plays, or the value before the dice
    SolveAnswers     the exact score and every best move

Both take part in batches and on the terminal in the same way (`search/analyze.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from deltaw.envs.control import Stopped
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.players.agent import Agent, line_texts
from deltaw.search.players.how import Limits
from deltaw.search.players.players import Judgement
from deltaw.search.solvers import Solution
from deltaw.search.solvers.exact import find_solver
from deltaw.search.terminal.tables import empty_table, more, shade
from deltaw.search.tree.algorithm import RootMove, SearchResult

DIGITS = 6
"""equities and chances in JSON are rounded to so many decimals"""
TABLE_MOVES = 10
"""rows of a table unless more are asked for"""

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


# --- by plies and by a search -----------------------------------------------------------------------------------------


def named_chances(game: Game, chances: Sequence[float]) -> dict[str, float]:
    """`win`, `draw`, `lose`, and `win_gammon` or `win_5` ... for outcomes of more points: each is the chance of at
    least so many."""
    named, outcomes = {}, game.rules.outcomes
    for side, sign in (("win", 1), ("lose", -1)):
        for size in sorted({abs(outcome) for outcome in outcomes} - {0}):
            word = game.win_names.get(size, "" if size == 1 else str(size))
            at_least = sum(p for outcome, p in zip(outcomes, chances, strict=True) if sign * outcome >= size)
            named[f"{side}_{word}" if word else side] = at_least
    if 0 in outcomes:
        named["draw"] = chances[list(outcomes).index(0)]
    return named


class AgentAnswers:
    """What an agent thinks: equities, chances and depths by plies; a line, nodes and seconds by a search."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.game = agent, agent.game

    def as_json(self, state: Any, top: int | None) -> dict[str, Any]:
        found = self.agent.judge(state)
        search = found.search
        answer = self._worth(found)
        if self.game.rules.num_chance(state) == 0:
            moves = [self._move(move, search is None) for move in found.moves[:top]]
            answer = {"moves": moves} if search is None else answer | {"moves": moves}
        elif search is None:
            answer["plies"] = self.agent.how.plies
        return answer if search is None else answer | self._effort(state, search)

    def _move(self, move: RootMove, by_plies: bool) -> dict[str, Any]:
        distance = {} if move.distance is None else {"distance": move.distance}
        plies = {"plies": move.depth} if by_plies else {}
        return {"move": move.text, "result": self.game.format(move.state), **self._worth(move), **distance, **plies}

    def _worth(self, found: Judgement | RootMove) -> dict[str, Any]:
        worth: dict[str, Any] = {"equity": None if found.value is None else rounded(found.value)}
        if found.chances is not None:
            named = named_chances(self.game, found.chances)
            worth["chances"] = {name: rounded(p) for name, p in named.items()}
        return worth

    def _effort(self, state: Any, search: SearchResult) -> dict[str, Any]:
        decided = self.game.rules.num_chance(state) == 0
        variation = {"variation": line_texts(self.game, state, search.variation)} if decided else {}
        distance = {} if search.distance is None else {"distance": search.distance}
        return {
            **variation,
            **distance,
            "algorithm": self.agent.how.algorithm,
            "depth": search.depth,
            "nodes": search.nodes,
            "seconds": rounded(search.seconds),
            "complete": search.complete,
        }

    def as_table(self, state: Any, top: int) -> list[Any]:
        found = self.agent.judge(state)
        return self._ply_table(state, found, top) if found.search is None else self._search_table(state, found, top)

    def _ply_table(self, state: Any, found: Judgement, top: int) -> list[Any]:
        groups = self._chance_groups() if found.chances is not None else []
        heads = ["".join(f"{SHORT.get(name, name):>5}" for name in names) + " %" for names in groups]
        if self.game.rules.num_chance(state) > 0:
            table = empty_table(f"{self.game.title}: the value before the roll", "equity", *heads, "plies")
            table.add_row(*self._worth_texts(found, groups), str(self.agent.how.plies))
        else:
            table = empty_table(f"{self.game.title}: the best plays", "", "move", "equity", *heads, "plies")
            _add_moves(table, found.moves[:top], lambda move: (*self._worth_texts(move, groups), str(move.depth)))
        if self.game.win_names:
            table.caption = "G: gammons, BG: backgammons; each chance includes the larger wins or losses"
        return [table, *more(len(found.moves), top)]

    def _search_table(self, state: Any, found: Judgement, top: int) -> list[Any]:
        search = found.search
        assert search is not None
        told = f"depth {search.depth}, {search.nodes:,} nodes, {search.seconds:.2f} s"
        head = f"{self.game.title} by {self.agent.how.algorithm}: {told}"
        table = empty_table(None, "", "move", "value", "")
        if self.game.rules.num_chance(state) > 0:
            table.add_row("", "", *self._worth_texts(found, []), "before the chance event")
            return [head, table]
        _add_moves(table, found.moves[:top], lambda move: (*self._worth_texts(move, []), _ending(move)))
        line = " ".join(line_texts(self.game, state, search.variation))
        return [head, table, f"best play: {line}", *more(len(found.moves), top)]

    def _chance_groups(self) -> list[list[str]]:
        """Names of the chances, one list a column: those of winning, of losing, and a draw."""
        named = named_chances(self.game, [0.0] * len(self.game.rules.outcomes))
        columns = [[name for name in named if name.startswith(side)] for side in ("win", "lose", "draw")]
        return [names for names in columns if names]

    def _worth_texts(self, found: Judgement | RootMove, groups: Sequence[Sequence[str]]) -> list[str]:
        texts = ["-" if found.value is None else f"{found.value:+.4f}"]
        if found.chances is not None:
            named = named_chances(self.game, found.chances)
            texts += ["".join(f"{100 * named[name]:5.1f}" for name in names) + "  " for names in groups]
        return texts


def _add_moves(table: Any, moves: Sequence[RootMove], worth: Callable[[RootMove], Sequence[str]]) -> None:
    """A row for each move, shaded by how much worse than the best it is."""
    for i, move in enumerate(moves, 1):
        best = moves[0].value
        behind = None if move.value is None or best is None else best - move.value
        table.add_row(str(i), move.text, *worth(move), style=shade(behind, i == 1))


def _ending(move: RootMove) -> str:
    if move.value is None or move.distance is None:
        return ""
    return f"{'wins' if move.value > 0 else 'loses'} in {move.distance} plies"


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
