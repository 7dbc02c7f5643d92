"""Self-play in which every move is searched, compiled: what search-bootstrapped learners share.

    position --opening--> position --search--> value, best move, (nodes, best line) --learn--> --move--> next position

There are two searches. Both compute the exact minimax value at a fixed depth, so what they prove about a node is true:

    minimax      plain negamax: the value of every node
    alphabeta    the engine (`search/tree/engine_node.py`) with selective parts off, in one open window: bounds of every
                 node, and the best line. With `quiet_plies` the values behind its horizon are those of quiescence, and
                 what is proven is true of the search with these values
Every number drawn is keyed by (seed, game, ply, purpose). A search knows nothing of the one before it: history and
killers are cleared, and the table's keys hold a number of this search; so a run that was interrupted goes on exactly,
without keeping them.

Letters: M most moves of a decision, P plies, W integers a state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from deltaw.envs.bits import EXPLORE, TIE, random_word
from deltaw.envs.control import FOREVER, LIMIT, NODES, make_control
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import follow, is_drawn, reach, step_back
from deltaw.envs.turn import end, explore, open_game, value_for
from deltaw.learn.selfplay.lockstep import go_on
from deltaw.learn.selfplay.online import Position, make_position
from deltaw.search.algorithms.negamax import negamax
from deltaw.search.tree import engine_node as engine
from deltaw.search.tree.deep import DeepLeaf
from deltaw.search.tree.engine import default_options
from deltaw.search.tree.engine_node import GENERATION, HISTORY, PLAIN, VERSION, judge, line_start, quiesce
from deltaw.search.tree.engine_root import MOVES, Root, search_level
from deltaw.search.tree.stack import (
    Stack,
    make_stack,
    node_moves,
    node_noisy_moves,
    node_outcome,
    node_results,
    path_in,
)
from deltaw.search.tree.transposition import GENERATIONS, make_table

ENTRIES = 1 << 14
"""of the transposition table: what the second-level cache holds; deeper than 6 plies more would pay"""


class Search(NamedTuple):
    """A way to search, and its memory."""

    run: Any
    """run(rules, leaf, visitor, path, state, depth, version, desk) -> (value for the mover, index of the best move,
    nodes); `path`: of the game so far"""
    desk: Any
    """its memory; desk.root.rows[i] is the state behind move i of the last search"""
    drawn: DeepLeaf
    """values the positions in which a game is broken off; the evaluator itself in a game that always ends"""


class PlainDesk(NamedTuple):
    """Memory of plain minimax."""

    root: Root
    stack: Stack
    work: Any
    """the evaluator's scratch memory"""


class EngineDesk(NamedTuple):
    """Memory of the engine."""

    root: Root
    memory: engine.Memory
    options: engine.Options
    values: np.ndarray
    """float64 [M]"""
    work: Any


class Settings(NamedTuple):
    """The settings of a run that kernels need."""

    seed: int
    depth: int
    explore: float
    """chance of a random move"""
    opening: int
    """most random moves at a game's beginning"""


GAME, PLY, FINISHED, SEARCHES, PATH = range(5)
"""Position.counts, from PATH on the path (`envs/path.py`)"""
ERROR, LENGTH, VISITED, KNOWN, OUTSIDE, LOST, ENDED = range(7)
"""Position.sums: squared errors of the roots; plies of finished games; nodes searched; nodes learned from; those
outside their bounds; nodes that found no room; games finished"""


def make_search(game: Game, name: str, depth: int, leaf: DeepLeaf, work: Any, quiet_plies: int = 0) -> Search:
    """`name`: minimax or alphabeta; `leaf`, `work`: the evaluator and its scratch memory. Raises InputError for
    `quiet_plies` above 0 where there is no quiescence."""
    if quiet_plies > 0 and (name == "minimax" or not default_options(game).quiet_plies):
        raise InputError(
            f"learner.quiet_plies={quiet_plies} must be 0 "
            + ("in a search by minimax" if name == "minimax" else f"in {game.name}, which marks no noisy moves")
        )
    drawn = leaf._replace(evaluate=evaluate_draw) if game.rules.max_plies else leaf
    most, plies = game.rules.max_moves, depth + quiet_plies + 3
    root = Root(
        *game.buffers(), np.empty(most), np.empty(most, np.int64), np.zeros(5, np.int64), np.zeros(plies + 1, np.int64)
    )
    if name == "minimax":
        return Search(search_plainly, PlainDesk(root, make_stack(game, depth, make_control(), work), work), drawn)
    control = engine.make_engine_control(game.rules, plies)
    frames = np.zeros((plies, 2 * most + 3 + plies), np.int64)
    memory = engine.Memory(frames, make_table(ENTRIES), control, work)
    options = PLAIN._replace(quiet_plies=quiet_plies, order_from=default_options(game).order_from)
    return Search(search_pruned, EngineDesk(root, memory, options, np.empty(most), work), drawn)


def new_position(game: Game) -> Position:
    """Self-play begins."""
    return make_position(game, PATH, ENDED + 1)


def position_state(position: Position) -> dict[str, Any]:
    """For a checkpoint."""
    return {"row": torch.from_numpy(position.row.copy()), "played": torch.from_numpy(position.counts.copy())}


def restore_position(position: Position, state: dict[str, Any]) -> None:
    position.row[:], position.counts[:] = state["row"].numpy(), state["played"].numpy()


def renew(search: Search) -> None:
    """Empties the table: its entries may be of searches that are yet to come."""
    if isinstance(search.desk, EngineDesk):
        search.desk.memory.table[:] = 0


# --- searches -----------------------------------------------------------------------------------------------------


@kernel
def evaluate_draw(rules, weights, state, work):
    return 0.0


@kernel
def allow_everything(control):
    control[:4] = 0
    control[LIMIT] = FOREVER


@kernel
def search_plainly(rules, leaf, visitor, path, state, depth, version, desk):
    """Minimax without pruning; the visitor sees exact values. Precondition: `state` is a decision, depth >= 1."""
    root, mover = desk.root, rules.seat(state)
    allow_everything(desk.stack.control)
    follow(rules, path_in(desk.stack.control), path)
    best, index = -np.inf, np.int64(0)
    root.found[MOVES] = node_results(rules, state, root.moves, root.rows, desk.stack)
    for i in range(root.found[MOVES]):
        child = rules.load(root.rows[i])
        value = negamax(rules, leaf, visitor, child, depth - 1, desk.stack)
        if rules.seat(child) != mover:
            value = -value
        if value > best:
            best, index = value, np.int64(i)
    return best, index, desk.stack.control[NODES]


@kernel
def search_pruned(rules, leaf, visitor, path, state, depth, version, desk):
    """The engine's search of one depth in an open window; the same value, and the best line in frames[0]. `version`:
    number of this search."""
    root, memory = desk.root, desk.memory
    control, frames = memory.control, memory.frames
    allow_everything(control)
    control[HISTORY : engine.CONTROL_SIZE] = 0
    follow(rules, path_in(control), path)
    frames[:, 2 * rules.max_moves : 2 * rules.max_moves + 2] = -1
    # The table's old entries are another version's, so none is found; but one of the same generation may keep its
    # place.
    control[VERSION] = random_word(version, 0, 0, TIE)
    control[GENERATION] = version % GENERATIONS
    if control[GENERATION] == 0:
        memory.table[:] = 0
    n = node_results(rules, state, root.moves, root.rows, memory)
    root.found[MOVES] = n
    for i in range(n):
        root.order[i] = i
    best, index, _ = search_level(
        rules, leaf, visitor, desk.options, state, depth, -np.inf, np.inf, memory, root, desk.values
    )
    # Weights that have diverged give values that are no numbers; no move is then better than any, and index is -1.
    return best, max(index, np.int64(0)), control[NODES]


@kernel
def end_of_line(rules, leaf, state, desk):
    """(the state at the end of the best line that `search_pruned` has just found from `state`, whether a repetition
    ends the game there); quiescence goes on behind the horizon."""
    memory = desk.memory
    line, path = memory.frames[0, line_start(rules) :], path_in(memory.control)
    for i in range(line[0]):
        if i > 0:
            reach(rules, path, state)
        state = rules.play(state, line[1 + i])
    state, noisy = end_of_noise(rules, leaf, desk.options, state, line[0], memory)
    drawn = is_drawn(rules, path, state)
    for _ in range(line[0] - 1 + noisy):
        step_back(rules, path)
    return state, drawn


@kernel
def end_of_noise(rules, leaf, options, state, ply, memory):
    """(the state that gave `quiesce` its value of `state`, how many moves away it is); the path leads to it."""
    for made in range(options.quiet_plies):
        left, frame, mover = options.quiet_plies - made, memory.frames[ply + made], rules.seat(state)
        value = quiesce(rules, leaf, options, state, -np.inf, np.inf, ply + made, left, memory)
        over, _ = node_outcome(rules, state, memory)
        in_danger = rules.in_danger(state)
        if over or (not in_danger and value == judge(rules, leaf, options, state, memory)):
            return state, made
        n = node_moves(rules, state, frame, memory) if in_danger else node_noisy_moves(rules, state, frame, memory)
        for i in range(n):
            if not in_danger and rules.gain(state, frame[i]) < 0:
                continue
            child = rules.play(state, frame[i])
            worth = quiesce(rules, leaf, options, child, -np.inf, np.inf, ply + made + 1, left - 1, memory)
            if value == (worth if rules.seat(child) == mover else -worth):
                state = child
                break
    return state, options.quiet_plies


# --- self-play ----------------------------------------------------------------------------------------------------


@kernel
def position_to_search(rules, position, settings, root):
    """The state of `position`; where a game begins, after its random opening, which never ends the game."""
    seed, counts = settings.seed, position.counts
    if counts[PLY] == 0 and settings.opening > 0:
        plies = random_word(seed, counts[GAME], 0, EXPLORE) % (settings.opening + 1)
        counts[PLY] = open_game(rules, seed, counts[GAME], plies, position.row, counts[PATH:], root.moves, root.rows)
    return rules.load(position.row)


@kernel
def look(rules, search, leaf, visitor, position, settings):
    """Searches the position: (state, value for the mover, index of the best move). Where the game is broken off, the
    search ends with a draw."""
    state = position_to_search(rules, position, settings, search.desk.root)
    version, depth, left = position.counts[SEARCHES], np.int64(settings.depth), rules.max_plies - position.counts[PLY]
    position.counts[SEARCHES] += 1
    path = position.counts[PATH:]
    if rules.max_plies > 0 and left <= depth:
        value, best, nodes = search.run(rules, search.drawn, visitor, path, state, left, version, search.desk)
    else:
        value, best, nodes = search.run(rules, leaf, visitor, path, state, depth, version, search.desk)
    position.sums[VISITED] += nodes
    return state, value, best


@kernel
def move_on(rules, root, position, settings, best):
    """Plays the best move, or a random one: (whether it was random, whether the game is over, its result for seat
    0)."""
    counts, sums = position.counts, position.sums
    best, explored = explore(settings.seed, counts[GAME], counts[PLY], settings.explore, root.found[MOVES], best)
    child, path = rules.load(root.rows[best]), counts[PATH:]
    reach(rules, path, rules.load(position.row))
    over, value = end(rules, path, child, counts[PLY] + 1)
    if over:
        sums[LENGTH] += counts[PLY] + 1
        sums[ENDED] += 1.0
    go_on(rules, position.row, counts, path, root.rows[best], over)
    return explored, over, np.float64(value_for(rules, child, value, 0))
