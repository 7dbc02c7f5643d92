"""The contract of a search algorithm, how algorithms are found, and how one is run.

A file in `search/algorithms/` *is* the registration; it ends with `ALGORITHM = Algorithm(...)`. Its kernel

    run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack) -> value for the player in seat `me`

searches `state` `depth` moves deep. Where the algorithm has windows it is fail-soft: a value v <= alpha is an upper
bound, v >= beta is a lower bound, and a value between them is exact. A line ends with `leaf_value`
(`search/tree/stack.py`), which asks the evaluator only while the game is on, and counts this in `control[OPEN]`.
Anything else that proves nothing, such as a move that was left out, is counted there too. A run that was told to stop
(`envs/control.py`) returns at once with anything.

    evaluate_state    one run: the value and the number of nodes that the textbook speaks of
    search            every move of the root: best moves, ties, principal variation, time and node limits
"""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
import time
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.control import LIMIT, NODES, NOISY, OPEN, PATH, STOP, Stopped, make_control, stopped, supervised
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game, meets_chance
from deltaw.envs.kernel import kernel
from deltaw.envs.path import expand, follow, make_path, outcome, reach
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import TIED
from deltaw.search.tree.deep import Deep, deep
from deltaw.search.tree.monte_carlo import SIMULATION
from deltaw.search.tree.stack import (
    DEEPEST,
    NOBODY,
    Stack,
    Visitor,
    check_depth,
    make_stack,
    node_results,
    path_in,
)
from deltaw.search.tree.transposition import DEFAULT_ENTRIES, make_table


class Algorithm(NamedTuple):
    """A search algorithm, as data."""

    name: str
    title: str
    run: Any
    """kernel, see above"""
    about: str
    """a phrase for `--help` and tables"""
    options: Any = ()
    """NamedTuple of numbers: knobs and their defaults, handed to `run`"""
    exact: bool = True
    """promises the minimax (expectiminimax, max^n) value at every depth"""
    chance: bool = False
    """knows chance nodes"""
    players: tuple[int, int] = (2, 2)
    """fewest and most players"""
    rows: bool = False
    """wants `stack.rows`"""
    scores: bool = False
    """wants `stack.scores`"""
    table: bool = False
    """wants a transposition table"""
    vectors: bool = False
    """wants a leaf that values a state for everybody: leaf.evaluate(rules, leaf.weights, state, work, out
    [num_players], the mover first)"""
    memory: Any = None
    """memory(game, depth, nodes) -> `stack.memory`, for an algorithm that needs memory of its own; nodes: the limit, or
    None; raises InputError where it would be too much"""
    extra: Any = None
    """extra(options) -> plies beyond the depth that a line may be searched: the stack has as many rows more"""
    check: Any = None
    """check(options): raises InputError for knobs that make no sense"""
    root: Any = None
    """kernel with the arguments of `search_root` in its place, for an algorithm that searches all moves of the root in
    one tree (`search/tree/monte_carlo.py`); its answer is good whenever it is stopped, and it deals by itself what the
    mover does not see"""


class RootMove(NamedTuple):
    """A move of the position that was asked about, and what is known of it; None: not known."""

    move: int
    value: float | None = None
    """for the player who moves, in outcome units"""
    distance: int | None = None
    """plies to the end of the game after a proven win or loss, where the search counts them"""
    depth: int | None = None
    """how deep it was searched: plies, or moves of a search"""
    chances: tuple[float, ...] | None = None
    """of each outcome class of the game for the player who moves"""
    line: tuple[int, ...] = ()
    """best play from here on, this move first"""
    text: str = ""
    """the move in the game's notation; empty: not written out"""
    state: Any = None
    """the position after it, for the side then to move"""


class SearchResult(NamedTuple):
    """The result of a search."""

    move: int | None
    """the best move, the first of equals; None where the game is over or a chance event is due"""
    moves: tuple[int, ...]
    """all moves that are proven to be tied for best, in the game's order"""
    value: float
    """for the mover, in outcome units"""
    variation: tuple[int, ...]
    """best play from here, as far as it was searched (to the next chance event)"""
    leaf: Any
    """the State at the end of the variation"""
    nodes: int
    depth: int
    """moves searched to the end; 0 where a limit left no time for one"""
    seconds: float
    complete: bool
    """the requested depth was searched, or a greater depth would change nothing, as the answer is `proven`"""
    distance: int | None = None
    """plies to the end of a game that is proven to be won or lost, where the search counts them"""
    proven: bool = False
    """the value rests on finished games alone"""
    ranked: tuple[RootMove, ...] = ()
    """every distinct move with its own value, best first, where they were asked for"""


@functools.cache
def algorithms() -> dict[str, Algorithm]:
    """All algorithms by name, found by their files."""
    from deltaw.search import algorithms as folder

    found = [importlib.import_module(f"{folder.__name__}.{m.name}") for m in pkgutil.iter_modules(folder.__path__)]
    return {module.ALGORITHM.name: module.ALGORITHM for module in found if hasattr(module, "ALGORITHM")}


def find_algorithm(name: str, game: Game | None = None) -> Algorithm:
    """The algorithm called `name`; InputError for an unknown one and for one that cannot play this game."""
    known = algorithms()
    if name not in known:
        raise InputError(f"unknown algorithm {name!r}; there are: {', '.join(known)}")
    if game is not None:
        _check_fit(known[name], game)
    return known[name]


def _check_fit(algorithm: Algorithm, game: Game) -> None:
    fewest, most = algorithm.players
    if not fewest <= game.rules.num_players <= most:
        fitting = [a.name for a in algorithms().values() if a.players[0] <= game.rules.num_players <= a.players[1]]
        raise InputError(
            f"{algorithm.name} is not for {game.rules.num_players} players, which {game.name} has; "
            f"use {' or '.join(fitting)}"
        )
    if meets_chance(game.rules) and not game.rules.exact_chance:
        raise InputError(f"{game.name} does not list its chance events, which a search would have to go through")
    if meets_chance(game.rules) and not algorithm.chance:
        fitting = [a.name for a in algorithms().values() if a.chance]
        raise InputError(f"{algorithm.name} knows no chance, which {game.name} has; use {' or '.join(fitting)}")


def check_dealt(game: Game, state: Any) -> None:
    """InputError for a search without chance nodes from a position before the deal."""
    if game.rules.num_chance(state) > 0:
        raise InputError(f"{game.format(state)} is not dealt yet: a search begins at a decision")


# --- one run ----------------------------------------------------------------------------------------------------------


class Setup(NamedTuple):
    """Everything one thread needs to search one game with one evaluator by one algorithm."""

    game: Game
    algorithm: Algorithm
    deep: Deep
    visitor: Visitor
    options: Any
    stack: Stack
    path: np.ndarray
    """of the game, up to the state that is searched"""


def make_setup(
    game: Game,
    evaluator: Evaluator | Baseline,
    algorithm: Algorithm | str,
    depth: int,
    *,
    nodes: int | None = None,
    options: Any = None,
    visitor: Visitor = NOBODY,
    table: Any = None,
    path: np.ndarray | None = None,
) -> Setup:
    """`options`: None for the algorithm's own; `table`: a transposition table to go on with, where the algorithm wants
    one."""
    if isinstance(algorithm, str):
        algorithm = find_algorithm(algorithm)
    _check_fit(algorithm, game)
    check_depth(depth)
    options = algorithm.options if options is None else options
    if algorithm.check is not None:
        algorithm.check(options)
    leaf = deep(game, evaluator, vectors=algorithm.vectors)
    if algorithm.table and table is None:
        table = make_table(DEFAULT_ENTRIES)
    stack = make_stack(
        game,
        depth + (algorithm.extra(options) if algorithm.extra is not None else 0),
        make_control(nodes),
        leaf.work,
        rows=algorithm.rows,
        scores=algorithm.scores,
        table=table if algorithm.table else (),
        memory=algorithm.memory(game, depth, nodes) if algorithm.memory is not None else (),
    )
    return Setup(game, algorithm, leaf, visitor, options, stack, make_path(game.rules) if path is None else path)


def evaluate_state(setup: Setup, state: Any, depth: int, alpha: float = -math.inf, beta: float = math.inf) -> float:
    """One run of the algorithm on `state`: its value for the mover, `depth` moves deep; setup.stack.control[NODES]
    counts on.

    Raises Stopped at the setup's node limit.
    """
    rules, me = setup.game.rules, np.int64(setup.game.rules.seat(state))
    arguments = (np.int64(depth), np.float64(alpha), np.float64(beta), me, setup.options, setup.stack)
    follow(rules, path_in(setup.stack.control), setup.path)
    value = supervised(
        setup.stack.control, None, setup.algorithm.run, rules, setup.deep.leaf, setup.visitor, state, *arguments
    )
    if stopped(setup.stack.control):
        raise Stopped(f"stopped after {setup.stack.control[NODES]} nodes")
    return float(value) + 0.0  # no -0.0


# --- the root ---------------------------------------------------------------------------------------------------------


@kernel
def search_root(rules, run, leaf, visitor, state, depth, options, stack, moves, rows, n, first, full, values):
    """values[i]: of each root move for the mover, `depth` >= 1 moves deep.

    moves [M] and rows [M, W] hold the n distinct moves, the one at index `first` is searched first. With `full` every
    value is what the algorithm gives with an open window. Otherwise the window closes as better moves are found, but
    never so far that a tie is lost: values within `TIED` of the best are exact, the others are upper bounds.
    """
    me = np.int64(rules.seat(state))
    best = -np.inf
    for k in range(n):
        i = first if k == 0 else k - 1 if k <= first else k
        alpha = -np.inf if full or k == 0 else np.nextafter(best - TIED, -np.inf)
        child = rules.load(rows[i])
        stack.control[NOISY] = rules.noisy(state, moves[i])
        values[i] = run(rules, leaf, visitor, child, depth - 1, alpha, np.inf, me, options, stack)
        best = max(best, values[i])
        if stopped(stack.control):
            break
    stack.control[NOISY] = 0


class _Root(NamedTuple):
    """The moves of one root."""

    moves: np.ndarray
    rows: np.ndarray
    values: np.ndarray


def _search_root(
    setup: Setup, root: _Root, state: Any, depth: int, first: int, full: bool, seconds: float | None
) -> int:
    """`search_root` under supervision; the number of moves, or 0 if it was stopped and has no answer."""
    rules, algorithm = setup.game.rules, setup.algorithm
    arguments = (setup.deep.leaf, setup.visitor, state, np.int64(depth), setup.options, setup.stack, *root[:2])
    follow(rules, path_in(setup.stack.control), setup.path)
    n = node_results(rules, state, *root[:2], setup.stack)  # so that a large generator is not compiled once more
    ordered = (np.int64(n), np.int64(first), full, root.values)
    entry = algorithm.root or search_root
    supervised(setup.stack.control, seconds, entry, rules, algorithm.run, *arguments, *ordered)
    return 0 if stopped(setup.stack.control) and algorithm.root is None else int(n)


def _ranked(root: _Root, n: int) -> tuple[RootMove, ...]:
    order = np.argsort(-root.values[:n], kind="stable")
    return tuple(RootMove(int(root.moves[i]), float(root.values[i]) + 0.0) for i in order)


def _make_root(game: Game) -> _Root:
    moves, rows = game.buffers()
    return _Root(moves, rows, np.empty(len(moves)))


def search(
    game: Game,
    evaluator: Evaluator | Baseline,
    state: Any,
    algorithm: Algorithm | str = "alphabeta",
    *,
    depth: int,
    seconds: float | None = None,
    nodes: int | None = None,
    options: Any = None,
    visitor: Visitor = NOBODY,
    table: Any = None,
    full: bool = False,
    path: np.ndarray | None = None,
) -> SearchResult:
    """The best moves of `state`, `depth` moves deep; with `full` the value of every move. `path`: of the game so far
    (`envs/path.py`); None: it begins here.

    With a limit of time or nodes the search descends by levels (iterative deepening, LECTURE S11): depth 1, 2, ... and
    the answer is that of the last level that was completed; with no level completed, the first legal move, the
    evaluator's value and depth 0.

    Raises InputError for a negative depth or limit, and where algorithm, evaluator and game do not fit.
    """
    start = time.perf_counter()
    setup = make_setup(
        game, evaluator, algorithm, depth,
        nodes=nodes, options=options, visitor=visitor, table=table, path=path,
    )  # fmt: skip
    if not setup.algorithm.chance or not game.rules.exact_chance:
        check_dealt(game, state)
    if depth == 0 or outcome(game.rules, setup.path, state)[0] or game.rules.num_chance(state) > 0:
        return _result(setup, state, (), evaluate_state(setup, state, depth), depth, depth, start)
    limited = seconds is not None or nodes is not None
    levels = range(1, depth + 1) if limited and setup.algorithm.root is None else (depth,)
    found = _descend(setup, state, depth, levels, start, seconds, full)
    if found is None:
        return _unsearched(setup, state, depth, start)
    return found


def _descend(
    setup: Setup, state: Any, depth: int, levels: Any, start: float, seconds: float | None, full: bool
) -> SearchResult | None:
    root, first, found = _make_root(setup.game), 0, None
    known: tuple[int, ...] = ()
    start += _load(setup, root, state)
    for level in levels:
        left = _time_left(start, seconds)
        if left is not None and left <= 0:
            break
        setup.stack.control[OPEN] = 0
        n = _search_root(setup, root, state, level, first, full, left)
        if n == 0:
            break
        values = root.values[:n]
        first = int(np.argmax(values))
        best = tuple(int(move) for move in root.moves[:n][values >= values[first] - TIED])
        found = _result(setup, state, best, float(values[first]), _reached(setup, level), depth, start)
        found = found._replace(ranked=_ranked(root, n) if full else ())
        if setup.algorithm.root is None:
            found = _with_variation(setup, state, found, known, start, seconds)
        known = found.variation
        if found.proven:  # nothing lies deeper
            break
    return found


def _reached(setup: Setup, level: int) -> int:
    """The level that has been searched: a search of one tree may have been stopped before it was done."""
    if setup.algorithm.root is None:
        return level
    return max(0, int(setup.stack.memory.used[SIMULATION] // setup.options.simulations).bit_length() - 1)


def _load(setup: Setup, root: _Root, state: Any) -> float:
    """Compiles or loads the kernels, by a search that stops at once; the seconds this took are nobody's thinking
    time."""
    start = time.perf_counter()
    setup.stack.control[STOP] = 1
    _search_root(setup, root, state, 1, 0, False, None)
    setup.stack.control[STOP] = 0
    return time.perf_counter() - start


def _result(
    setup: Setup, state: Any, best: tuple[int, ...], value: float, level: int, depth: int, start: float
) -> SearchResult:
    """The answer of a search `level` moves deep, where `depth` was asked for."""
    variation = best[:1]
    leaf = _played(setup.game, state, variation)
    spent, nodes = time.perf_counter() - start, int(setup.stack.control[NODES])
    move, proven = best[0] if best else None, setup.stack.control[OPEN] == 0
    complete = bool(proven or level == depth)
    return SearchResult(
        move, best, float(value) + 0.0, variation, leaf, nodes, level, spent, complete, proven=bool(proven)
    )


def _played(game: Game, state: Any, moves: tuple[int, ...]) -> Any:
    for move in moves:
        state = game.rules.play(state, move)
    return game.state(*(int(field) for field in state))


def _time_left(start: float, seconds: float | None) -> float | None:
    return None if seconds is None else seconds - (time.perf_counter() - start)


def _with_variation(
    setup: Setup, state: Any, found: SearchResult, known: tuple[int, ...], start: float, seconds: float | None
) -> SearchResult:
    """Best play behind the best move, by ever shallower searches within the limits of the whole; `known`: that of the
    last level.

    Their nodes count towards the limit, but not among those of the result.
    """
    root, moves, leaf, control = _make_root(setup.game), found.variation, found.leaf, setup.stack.control
    limit, path = control[LIMIT], setup.path.copy()
    reach(setup.game.rules, path, state)
    for depth in range(found.depth - 1, 0, -1):
        left = _time_left(start, seconds)
        if (
            outcome(setup.game.rules, path, leaf)[0]
            or setup.game.rules.num_chance(leaf) > 0
            or (left is not None and left <= 0)
        ):
            break
        control[LIMIT] = min(limit, control[NODES] + 4 * found.nodes + 1000)
        n = 0 if stopped(control) else _search_root(setup._replace(path=path), root, leaf, depth, 0, False, left)
        if n == 0:
            break
        reach(setup.game.rules, path, leaf)
        moves += (int(root.moves[np.argmax(root.values[:n])]),)
        leaf = _played(setup.game, leaf, moves[-1:])
    control[LIMIT] = limit
    if known[: len(moves)] == moves:
        moves, leaf = known, _played(setup.game, state, known)
    return found._replace(variation=moves, leaf=leaf, seconds=time.perf_counter() - start)


def _unsearched(setup: Setup, state: Any, depth: int, start: float) -> SearchResult:
    """The result where no level was completed: the first move in the game's order."""
    game = setup.game
    setup.stack.control[: PATH + 1] = make_control()
    root = _make_root(game)
    expand(game.rules, setup.path, state, *root[:2])
    move, value = int(root.moves[0]), evaluate_state(setup, state, 0)
    return _result(setup, state, (move,), value, 0, depth, start)._replace(moves=())


__all__ = [
    "DEEPEST",
    "Algorithm",
    "RootMove",
    "SearchResult",
    "Setup",
    "algorithms",
    "evaluate_state",
    "find_algorithm",
    "make_setup",
    "search",
]
