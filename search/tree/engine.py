"""The engine as people use it: a game and an evaluator that think about positions under limits of depth, time and
nodes."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from deltaw.envs.control import NODES, PATH, STOP, make_control, supervised
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game, meets_chance
from deltaw.envs.memory import check_memory
from deltaw.envs.path import begin_path, follow, make_path, outcome
from deltaw.envs.rules import unmarked
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import TIED
from deltaw.search.tree.algorithm import RootMove, SearchResult, check_dealt
from deltaw.search.tree.deep import Known, deep
from deltaw.search.tree.engine_node import (
    CONTROL_SIZE,
    GENERATION,
    HISTORY,
    VERSION,
    Memory,
    Options,
    judge,
    known_value,
    make_engine_control,
)
from deltaw.search.tree.engine_node import MARGIN as WIN_MARGIN
from deltaw.search.tree.engine_root import BEST, DEPTH, MOVES, PARTIAL, PROVEN, Root, think
from deltaw.search.tree.stack import DEEPEST, NOBODY, Visitor, check_depth, path_in
from deltaw.search.tree.transposition import DEFAULT_ENTRIES, make_table

QUIET_PLIES = 8
SINGULAR_MARGIN = 0.1
SWITCHES = (
    "quiet_plies", "singular_margin", "danger_extension", "null_reduction", "late_moves",
    "deeper", "table_from", "order_from",
)  # fmt: skip
"""the options that a player's text may set: any value of them from 0 on is safe"""
DEEP_ENOUGH = 128
"""depth, in plies, of a search that has only a limit of time or nodes"""


def default_options(game: Game) -> Options:
    """Quiescence and singular extension where the game marks noisy moves, else none; then what the game says itself."""
    marks = game.rules.noisy is not unmarked
    options = Options(quiet_plies=QUIET_PLIES if marks else 0, singular_margin=SINGULAR_MARGIN if marks else 0.0)
    return options._replace(**game.engine_options)


class Engine:
    """A searcher with its memory: the table and the history of good moves are kept from one position to the next. One
    thread at a time. It does not search a position that is `known`.

    Raises InputError for games with chance or more than two players, evaluators that give no values, and tables beyond
    the machine's memory.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | Baseline,
        *,
        options: Options | None = None,
        entries: int = DEFAULT_ENTRIES,
        visitor: Visitor = NOBODY,
        known: Known | None = None,
    ) -> None:
        _check(game)
        self.game, self.visitor, self.known = game, visitor, known
        self.options = default_options(game) if options is None else options
        self.table = make_table(entries)
        self.control = make_engine_control(game.rules, self._plies(DEEPEST, self.options))
        self.use(evaluator)

    def use(self, evaluator: Evaluator | Baseline) -> None:
        """Goes on with another evaluator; the entries of the old one are no longer found in the table."""
        self.deep = deep(self.game, evaluator)
        if self.known is not None:
            leaf = self.deep.leaf._replace(look_up=known_value, known=self.known)
            self.deep = self.deep._replace(leaf=leaf, version=self.deep.version ^ self.known.version)
        self.control[VERSION] = self.deep.version

    def forget(self) -> None:
        """Empties the table and the history."""
        self.table[:] = 0
        self.control[HISTORY:CONTROL_SIZE] = 0

    def search(
        self,
        state: Any,
        *,
        depth: int | None = None,
        seconds: float | None = None,
        nodes: int | None = None,
        ties: bool = False,
        full: bool = False,
        path: np.ndarray | None = None,
    ) -> SearchResult:
        """The best move of `state`, to which the game has come by `path` (`envs/path.py`; None: it begins here). Under
        any limit, 0 included, the move is legal.

        `ties`: find all moves tied for best (a little slower), else `moves` has the best one only; `full`: the exact
        value of every move. Raises InputError for negative limits, or none at all.
        """
        depth = self._check_limits(depth, seconds)
        limits = make_control(nodes)
        if depth is None and nodes is None and seconds is None:
            raise InputError("a search needs a limit: a depth, seconds or nodes")
        depth = DEEP_ENOUGH if depth is None else depth
        check_dealt(self.game, state)
        path = make_path(self.game.rules) if path is None else path
        over, value = outcome(self.game.rules, path, state)
        if over or depth == 0:
            return self._unsearched(state, float(value) if over else self._static(state))
        options = self.options._replace(ties=int(ties), full=int(full))
        memory, root = self._memory(depth, options), self._root(depth, options)
        arguments = (self.game.rules, self.deep.leaf, self.visitor, options, state, np.int64(depth), memory, root)
        scratch = np.empty(self.game.rules.max_moves)
        self._load(arguments, scratch)
        self._prepare(limits, path)
        start = time.perf_counter()
        supervised(self.control, seconds, think, *arguments, scratch)
        return self._result(state, depth, root, time.perf_counter() - start, options)

    def _check_limits(self, depth: int | None, seconds: float | None) -> int | None:
        if depth is not None:
            check_depth(depth)
        if seconds is not None and not seconds >= 0:
            raise InputError(f"a limit of {seconds} seconds is negative")
        return depth

    def _load(self, arguments: tuple, scratch: np.ndarray) -> None:
        """Compiles or loads the kernels before the clock starts, by a search that stops at once."""
        begin_path(self.game.rules, path_in(self.control))
        self.control[STOP] = 1
        supervised(self.control, None, think, *arguments, scratch)

    def _prepare(self, limits: np.ndarray, path: np.ndarray) -> None:
        self.control[:PATH] = limits[:PATH]
        self.control[GENERATION] += 1
        self.control[HISTORY:CONTROL_SIZE] >>= 3  # old merits fade
        follow(self.game.rules, path_in(self.control), path)

    def _plies(self, depth: int, options: Options) -> int:
        extends = options.singular_margin > 0 or options.danger_extension > 0
        extended = 2 * depth if extends else depth
        return extended + options.quiet_plies + 3

    def _memory(self, depth: int, options: Options) -> Memory:
        plies, most = self._plies(depth, options), self.game.rules.max_moves
        width = 2 * most + 3 + plies
        check_memory(8 * plies * width, f"a search {depth} plies deep")
        frames = np.zeros((plies, width), np.int64)
        frames[:, 2 * most : 2 * most + 2] = -1  # no killers yet
        return Memory(frames, self.table, self.control, self.deep.work)

    def _root(self, depth: int, options: Options) -> Root:
        moves, rows = self.game.buffers()
        n = len(moves)
        line = np.zeros(self._plies(depth, options) + 1, np.int64)
        return Root(moves, rows, np.empty(n), np.empty(n, np.int64), np.zeros(5, np.int64), line)

    def _result(self, state: Any, depth: int, root: Root, seconds: float, options: Options) -> SearchResult:
        nodes, searched, best, n = int(self.control[NODES]), *(int(root.found[i]) for i in (DEPTH, BEST, MOVES))
        if searched == 0 and not root.found[PARTIAL]:
            move = int(root.moves[0])
            leaf = self._played(state, (move,))
            return SearchResult(move, (), self._static(state), (move,), leaf, nodes, 0, seconds, False)
        value, move = float(root.values[best]), int(root.moves[best])
        proven = bool(root.found[PROVEN]) or self._certain(value)
        all_known = (options.ties or options.full) and not root.found[PARTIAL]
        tied = root.moves[:n][root.values[:n] >= value - TIED] if all_known else (move,)
        line = tuple(int(move) for move in root.line[1 : 1 + root.line[0]])
        return SearchResult(
            move,
            tuple(int(move) for move in tied),
            self._outcome(value),
            line,
            self._played(state, line),
            nodes,
            searched,
            seconds,
            complete=proven or searched == depth,
            distance=self._distance(value),
            proven=proven,
            ranked=self._ranked(root, n) if options.full and searched else (),
        )

    def _ranked(self, root: Root, n: int) -> tuple[RootMove, ...]:
        order = np.argsort(-root.values[:n], kind="stable")
        pairs = [(int(root.moves[i]), float(root.values[i])) for i in order]
        return tuple(RootMove(move, self._outcome(value), self._distance(value)) for move, value in pairs)

    def _unsearched(self, state: Any, value: float) -> SearchResult:
        return SearchResult(None, (), value + 0.0, (), state, 0, 0, 0.0, True)

    def _static(self, state: Any) -> float:
        memory = self._memory(1, self.options)
        return float(judge(self.game.rules, self.deep.leaf, self.options, state, memory))

    def _played(self, state: Any, moves: tuple[int, ...]) -> Any:
        for move in moves:
            state = self.game.rules.play(state, move)
        return self.game.state(*(int(field) for field in state))

    # --- wins counted in plies

    def _certain(self, value: float) -> bool:
        return self.options.step > 0 and abs(value) > self.game.rules.outcomes[-1] - WIN_MARGIN

    def _outcome(self, value: float) -> float:
        return math.copysign(self.game.rules.outcomes[-1], value) if self._certain(value) else value + 0.0

    def _distance(self, value: float) -> int | None:
        """Plies to the end of a won or lost game."""
        return round((self.game.rules.outcomes[-1] - abs(value)) / self.options.step) if self._certain(value) else None


def _check(game: Game) -> None:
    if game.rules.num_players != 2:
        raise InputError(f"the engine is for two players; {game.name} has {game.rules.num_players}: use max_n")
    if meets_chance(game.rules):
        raise InputError(f"the engine knows no chance, which {game.name} has; use expectiminimax, star1 or star2")
