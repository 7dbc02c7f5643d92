"""Monte Carlo tree search: the common part of UCT, PUCT and information-set MCTS.

A simulation walks from the root along the moves that a rule selects, by what earlier simulations have found; where it
leaves the tree it adds a node, values it, and tells all moves on its way. Nodes are *information sets*: what the mover
of the root does not see is dealt anew for every simulation, and positions that their mover cannot tell apart share a
node (M. Lanctot et al., 2014; P. Cowling et al., IEEE TCIAIG 4, 2012). Where everybody sees everything, that is a
position, however it was reached, unless a repetition on the way to it matters. Chance events are drawn.

A search to `depth` d makes `simulations` x 2^d simulations. It can be stopped at any time, and its answer is then what
it has found so far.

Letters: M most moves of a decision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs import path as paths
from deltaw.envs.bits import EXPLORED_MOVE, ROLL, WORLD, mix, random_word
from deltaw.envs.control import OPEN, enter
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.search.tree.stack import node_outcome, path_in

LONGEST = 200
"""moves of a simulation; then the evaluator is asked. A random play-out may be as long again"""
MOST_NODES, MOST_SLOTS = 1 << 18, 1 << 21
"""of a tree; when it is full, simulations go on in it"""
MOST_DOUBLINGS = 40


class Options(NamedTuple):
    """Of every such search."""

    exploration: float
    """how much a move is preferred that was seldom made, in units of the game's greatest outcome"""
    simulations: int = 32
    """at depth 0; every move of depth doubles them"""
    seed: int = 0


class Memory(NamedTuple):
    """A tree. A slot is a move of a node."""

    keys: np.ndarray
    """int64 [table]: what the node in this place of the table stands for; 0: nothing"""
    start: np.ndarray
    """int64 [table]: its first slot"""
    children: np.ndarray
    """int64 [table]: how many slots it has"""
    visits: np.ndarray
    """int64 [table]"""
    used: np.ndarray
    """int64 [3]: nodes, slots, simulations"""
    move: np.ndarray
    """int64 [slots]"""
    tried: np.ndarray
    """int64 [slots]: how often"""
    total: np.ndarray
    """float64 [slots]: sum of values for the mover"""
    guess: np.ndarray
    """float64 [slots]: value before the first try, where the algorithm has one"""
    prior: np.ndarray
    """float64 [slots]"""
    trail: np.ndarray
    """int64 [3, LONGEST]: places, slots and seats on the way of the simulation"""
    row: np.ndarray
    """int64 [W]"""
    moves: np.ndarray
    """int64 [M]"""
    rows: np.ndarray
    """int64 [M, W]"""


NODE, SLOT, SIMULATION = range(3)
PLACES, SLOTS, SEATS = range(3)


def make_tree(game: Game, depth: int, nodes: int | None) -> Memory:
    most = min(MOST_NODES, 64 << min(depth, MOST_DOUBLINGS), MOST_NODES if nodes is None else nodes + 1)
    slots = min(most * game.rules.max_moves, MOST_SLOTS) + game.rules.max_moves
    keys, start, children, visits = np.zeros((4, 2 * most), np.int64)
    move, tried = np.zeros((2, slots), np.int64)
    total, guess, prior = np.zeros((3, slots))
    used, trail = np.zeros(3, np.int64), np.zeros((3, LONGEST), np.int64)
    row = np.zeros(game.rules.width, np.int64)
    return Memory(
        keys, start, children, visits, used, move, tried, total, guess, prior, trail, row, *game.buffers()
    )  # fmt: skip


def extra(options: Options) -> int:
    """Plies that a line may have beyond the depth, which says nothing about them."""
    return LONGEST + 1


def check(options: Options) -> None:
    if not options.exploration >= 0 or options.simulations < 1:
        raise InputError(f"{options} makes no sense: exploration is at least 0, and there is at least 1 simulation")


@kernel
def place_of(rules, state, stack):
    """Where the node of this decision stands in the table, or would stand."""
    memory, word = stack.memory, mix(np.uint64(rules.information_key(state)) ^ np.uint64(rules.seat(state)))
    if rules.repetition != 0:
        word = mix(word ^ np.uint64(paths.past_key(rules, path_in(stack.control), state)))
    key = np.int64(word >> np.uint64(2)) + 1
    place = key % len(memory.keys)
    while memory.keys[place] != 0 and memory.keys[place] != key:
        place = (place + 1) % len(memory.keys)
    return key, place


@kernel
def add_node(rules, expand_node, leaf, state, key, place, stack):
    """The value of a new node for its mover, by `expand_node`; it joins the tree where there is room."""
    memory, first = stack.memory, stack.memory.used[SLOT]
    n = paths.expand(rules, path_in(stack.control), state, memory.moves, memory.rows)
    has_room = 2 * memory.used[NODE] < len(memory.keys) and first + n + rules.max_moves <= len(memory.move)
    if memory.keys[place] == 0 and has_room:
        memory.keys[place], memory.start[place], memory.children[place], memory.visits[place] = key, first, n, 0
        memory.used[NODE] += 1
        memory.used[SLOT] += n
    memory.move[first : first + n] = memory.moves[:n]
    memory.tried[first : first + n] = 0
    memory.total[first : first + n] = 0.0
    memory.guess[first : first + n] = 0.0
    stack.control[OPEN] += 1
    return expand_node(rules, leaf, state, n, first, stack)


@kernel
def simulate(rules, select, expand_node, leaf, root, options, stack):
    """One simulation; its value for the mover of `root`."""
    memory, control = stack.memory, stack.control
    number, ply, events, value = memory.used[SIMULATION], 0, 0, 0.0
    memory.used[SIMULATION] += 1
    rules.store(root, memory.row)
    if rules.num_chance(root) == 0:
        rules.store(rules.determinize(root, random_word(options.seed, number, 0, WORLD)), memory.row)
    while True:
        state = rules.load(memory.row)
        over, result = node_outcome(rules, state, stack)
        if over:
            value = np.float64(result)
            break
        if rules.num_chance(state) > 0:
            rules.store(rules.sample_chance(state, random_word(options.seed, number, events, ROLL)), memory.row)
            events += 1
            continue
        key, place = place_of(rules, state, stack)
        if memory.keys[place] == 0 or ply == LONGEST:
            value = np.float64(add_node(rules, expand_node, leaf, state, key, place, stack))
            break
        slot = select(memory, place, options.exploration * rules.outcomes[-1])
        memory.trail[PLACES, ply], memory.trail[SLOTS, ply], memory.trail[SEATS, ply] = place, slot, rules.seat(state)
        paths.reach(rules, path_in(control), state)
        rules.store(rules.play(state, memory.move[slot]), memory.row)
        ply += 1
    seat = rules.seat(state)
    for k in range(ply):
        slot = memory.trail[SLOTS, k]
        memory.visits[memory.trail[PLACES, k]] += 1
        memory.tried[slot] += 1
        memory.total[slot] += value if memory.trail[SEATS, k] == seat else -value
        paths.step_back(rules, path_in(control))
    return value if rules.seat(root) == seat else -value


@kernel
def grow_tree(rules, select, expand_node, leaf, state, depth, options, stack):
    """Simulations from `state` until they are enough or the search is stopped, one at least; their mean value."""
    memory, total = stack.memory, 0.0
    memory.keys[:] = 0
    memory.used[:] = 0
    wanted = np.int64(options.simulations) << min(depth, MOST_DOUBLINGS)
    while True:
        total += simulate(rules, select, expand_node, leaf, state, options, stack)
        if enter(stack.control) or memory.used[SIMULATION] >= wanted:
            return total / memory.used[SIMULATION]


@kernel
def worth(memory, slot):
    """Mean value of a move, or the guess."""
    return memory.total[slot] / memory.tried[slot] if memory.tried[slot] > 0 else memory.guess[slot]


@kernel
def play_out(rules, state, stack):
    """What the game is worth to the mover of `state` after random moves; 0 where it does not end in 2 LONGEST plies."""
    memory, seat, number = stack.memory, rules.seat(state), stack.memory.used[SIMULATION]
    rules.store(state, memory.row)
    for ply in range(2 * LONGEST):
        now = rules.load(memory.row)
        over, result = rules.outcome(now)
        if over:
            return np.float64(result if rules.seat(now) == seat else -result)
        word = random_word(rules.key(state), number, ply, EXPLORED_MOVE)
        if rules.num_chance(now) > 0:
            rules.store(rules.sample_chance(now, word), memory.row)
        else:
            n = rules.legal_moves(now, memory.moves)
            rules.store(rules.play(now, memory.moves[word % n]), memory.row)
    return 0.0


def kernels(select: Any, expand_node: Any) -> tuple[Any, Any]:
    """`run` and `root` of an algorithm (`search/tree/algorithm.py`) with this rule and these new nodes.

    select(memory, place, exploration) -> the slot that the next simulation tries
    expand_node(rules, leaf, state, n, first, stack) -> value of a new node for its mover; may fill `guess` and `prior`
    of the n slots from `first` on, whose results are in memory.rows
    """

    @kernel
    def root(rules, run, leaf, visitor, state, depth, options, stack, moves, rows, n, first, full, values):
        memory = stack.memory
        grow_tree(rules, select, expand_node, leaf, state, depth, options, stack)
        _, place = place_of(rules, state, stack)
        for i in range(n):
            values[i] = worth(memory, memory.start[place] + i)

    @kernel
    def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
        value = grow_tree(rules, select, expand_node, leaf, state, depth, options, stack)
        return value if rules.seat(state) == me else -value

    return run, root
