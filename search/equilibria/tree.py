"""A game with hidden cards as one flat tree of information sets, and what a strategy is worth in it.

`flatten` walks through the whole game once. From then on nothing asks the rules any more: an iteration of CFR or a best
response is a sweep over arrays. Nodes are numbered level by level, so that the children of a node lie side by side
behind it, and a loop forwards meets parents before children, backwards children before parents.

A *slot* is one move of one information set, and a strategy is a probability for every slot, those of a set adding up
to 1. Players remember what they saw and did (perfect recall): all nodes of a set have the same last slot of its owner
above them.

Letters: N nodes, I information sets, S slots, W integers a state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel

CHANCE, END = -1, -2
"""`Tree.mover` where nobody moves"""
FIRST_ROOM, MOST_NODES = 1 << 14, 1 << 23
"""nodes"""


class Tree(NamedTuple):
    """Arrays alone, which kernels take."""

    mover: np.ndarray
    """int64 [N]: the seat that moves, or CHANCE or END"""
    child: np.ndarray
    """int64 [N]: the first child"""
    children: np.ndarray
    """int64 [N]: how many"""
    slot: np.ndarray
    """int64 [N]: the slot of the first move; -1 where nobody moves"""
    chance: np.ndarray
    """float64 [N]: probability of the chance event that leads to this node; 1 behind a move"""
    payoff: np.ndarray
    """float64 [N]: of seat 0 where the game is over, else 0"""
    owner: np.ndarray
    """int64 [I]: whose information set it is"""
    start: np.ndarray
    """int64 [I + 1]: its first slot, and the one behind the last set"""
    before: np.ndarray
    """int64 [I]: the owner's last slot above this set; -1: this is his first decision"""
    level: np.ndarray
    """int64 [I]: how many decisions of the owner lie above this set"""


class Flat(NamedTuple):
    """A game's tree, and what its information sets are called."""

    game: Game
    tree: Tree
    states: tuple[Any, ...]
    """[I]: one state of each set; its mover sees what he sees in all of them"""
    moves: np.ndarray
    """int64 [S]: codes"""


def flatten(game: Game) -> Flat:
    """The tree of a game. Raises InputError for more than two players, for a game without hidden information or with
    chance events that it does not list, for one that a repetition or its length may end, and for too large a tree."""
    rules = game.rules
    if rules.num_players != 2 or not rules.hidden:
        reason = "hides nothing from its players" if rules.num_players == 2 else f"has {rules.num_players} players"
        raise InputError(f"{game.name} {reason}: equilibria are computed for two players with hidden information")
    if not rules.exact_chance or rules.repetition != 0 or rules.max_plies > 0:
        raise InputError(f"{game.name} cannot be written as a finite tree whose chance events are listed")
    room, nodes = FIRST_ROOM, -1
    while nodes < 0:
        if room > MOST_NODES:
            raise InputError(f"{game.name} is too large for equilibria: its tree has more than {room // 4:,} nodes")
        found = _Growth(
            np.empty((room, rules.width), np.int64),
            np.empty((5, room), np.int64),
            np.empty((2, room)),
        )
        nodes = grow(rules, found, *game.buffers())
        room *= 4
    return _number(game, found, nodes)


class _Growth(NamedTuple):
    """A tree while it grows."""

    rows: np.ndarray
    """int64 [N, W]"""
    numbers: np.ndarray
    """int64 [5, N]: mover, first child, number of children, move that leads here, information key"""
    reals: np.ndarray
    """float64 [2, N]: chance, payoff"""


@kernel
def grow(rules, found, moves, rows):
    """Fills `found` level by level; the number of nodes, or -1 where there is not enough room."""
    mover, child, children, move, key = found.numbers
    chance, payoff = found.reals
    rules.store(rules.initial(), found.rows[0])
    chance[0], move[0] = 1.0, -1
    node, end = 0, 1
    while node < end:
        state = rules.load(found.rows[node])
        over, value = rules.outcome(state)
        seat = rules.seat(state)
        child[node], children[node], key[node], payoff[node] = end, 0, 0, 0.0
        if over:
            mover[node], payoff[node] = END, value if seat == 0 else -value
        else:
            k = rules.num_chance(state)
            n = k if k > 0 else rules.expand(state, moves, rows)
            if end + n > len(mover):
                return -1
            mover[node], children[node] = CHANCE if k > 0 else seat, n
            for i in range(n):
                chance[end + i], move[end + i] = 1.0, -1
                if k > 0:
                    after, chance[end + i] = rules.chance(state, i)
                    rules.store(after, found.rows[end + i])
                else:
                    found.rows[end + i], move[end + i] = rows[i], moves[i]
            if k == 0:
                key[node] = rules.information_key(state)
            end += n
        node += 1
    return end


def _number(game: Game, found: _Growth, nodes: int) -> Flat:
    """Numbers information sets, in the order of the tree, and slots."""
    mover, child, children, move, key = (numbers[:nodes].copy() for numbers in found.numbers)
    chance, payoff = (reals[:nodes].copy() for reals in found.reals)
    decisions = np.flatnonzero(mover >= 0)
    views = np.stack([mover[decisions], key[decisions]], axis=1)
    _, firsts, sets = np.unique(views, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    sets, firsts = rank[sets.ravel()], decisions[firsts[order]]
    start = np.concatenate([[0], np.cumsum(children[firsts])])
    slot = np.full(nodes, -1)
    slot[decisions] = start[sets]
    before = np.empty((2, nodes), np.int64)
    trace(mover, child, children, slot, before)
    last = before[mover[decisions], decisions]
    if np.any(last != last[np.searchsorted(decisions, firsts)][sets]):
        raise InputError(f"{game.name} lets players forget what they did, which strategies of information sets cannot")
    last = last[np.searchsorted(decisions, firsts)]
    level = np.zeros(len(firsts), np.int64)
    for i in np.flatnonzero(last >= 0):
        level[i] = level[np.searchsorted(start, last[i], side="right") - 1] + 1
    moves = np.concatenate([move[child[node] : child[node] + children[node]] for node in firsts])
    tree = Tree(mover, child, children, slot, chance, payoff, mover[firsts], start, last, level)
    return Flat(game, tree, tuple(game.unrow(found.rows[node]) for node in firsts), moves)


@kernel
def trace(mover, child, children, slot, before):
    """before[seat, node]: the last slot of this seat above the node; -1 for none."""
    before[:, 0] = -1
    for node in range(len(mover)):
        for i in range(children[node]):
            after = child[node] + i
            before[0, after], before[1, after] = before[0, node], before[1, node]
            if mover[node] >= 0:
                before[mover[node], after] = slot[node] + i


# --- what a strategy is worth ----------------------------------------------------------------------------------------


@kernel
def sweep(tree, seat, strategy, reach, value, gain):
    """Values of one seat when both play `strategy` [S], counted with the chances that chance and the other player give
    a node (counterfactual): value [N] of nodes, the root's being the game's; gain [S] of slots, zero before.

    reach [N] is filled with these chances.
    """
    sign = 1.0 if seat == 0 else -1.0
    reach[0] = 1.0
    for node in range(len(tree.mover)):
        mover, child, chance = tree.mover[node], tree.child[node], reach[node]
        if mover == seat:
            for i in range(tree.children[node]):
                reach[child + i] = chance
        elif mover == CHANCE:
            for i in range(tree.children[node]):
                reach[child + i] = chance * tree.chance[child + i]
        elif mover != END:
            slot = tree.slot[node]
            for i in range(tree.children[node]):
                reach[child + i] = chance * strategy[slot + i]
    for node in range(len(tree.mover) - 1, -1, -1):
        mover, child, total = tree.mover[node], tree.child[node], 0.0
        if mover == END:
            total = sign * reach[node] * tree.payoff[node]
        elif mover == seat:
            slot = tree.slot[node]
            for i in range(tree.children[node]):
                total += strategy[slot + i] * value[child + i]
                gain[slot + i] += value[child + i]
        else:
            for i in range(tree.children[node]):
                total += value[child + i]
        value[node] = total


@kernel
def respond(tree, seat, strategy, response, reach, value, gain):
    """Makes `response` [S], a copy of the strategy, a best response of one seat; the last decisions are made first."""
    for level in range(tree.level.max(), -1, -1):
        gain[:] = 0.0
        sweep(tree, seat, response, reach, value, gain)
        for i in range(len(tree.owner)):
            if tree.owner[i] == seat and tree.level[i] == level:
                first, last = tree.start[i], tree.start[i + 1]
                response[first:last] = 0.0
                response[first + np.argmax(gain[first:last])] = 1.0


def uniform(tree: Tree) -> np.ndarray:
    """The strategy [S] that makes every move of a set equally often."""
    sizes = np.diff(tree.start)
    return np.repeat(1.0 / sizes, sizes)


def value_of(tree: Tree, strategy: np.ndarray, seat: int = 0) -> float:
    """What the game is worth to a seat when both play `strategy` [S]."""
    value = np.empty(len(tree.mover))
    sweep(tree, np.int64(seat), strategy, np.empty_like(value), value, np.zeros(len(strategy)))
    return float(value[0])


def best_response(tree: Tree, strategy: np.ndarray, seat: int) -> tuple[float, np.ndarray]:
    """(what a seat can win at most against `strategy`, the strategy [S] that wins it)."""
    response, reach, value = strategy.copy(), np.empty(len(tree.mover)), np.empty(len(tree.mover))
    respond(tree, np.int64(seat), strategy, response, reach, value, np.empty(len(strategy)))
    return value_of(tree, response, seat), response


def nash_conv(tree: Tree, strategy: np.ndarray) -> float:
    """What both players together could gain by best responses; 0 in an equilibrium."""
    return best_response(tree, strategy, 0)[0] + best_response(tree, strategy, 1)[0]


def exploitability(tree: Tree, strategy: np.ndarray) -> float:
    """What a best response wins on average over the two seats, beyond the value of the game: half of NashConv."""
    return nash_conv(tree, strategy) / 2
