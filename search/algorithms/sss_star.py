"""SSS*: the best of all strategies first (LECTURE S7).

A list OPEN holds triples (path, LIVE or SOLVED, h): each stands for all strategies of MAX that begin by this path, and
h bounds what the best of them is worth. The operator Gamma changes the triple with the highest h, the leftmost of
equals:

    SOLVED at the root     h is the minimax value
    SOLVED below MAX       1  his node is SOLVED with h; all other triples below it are dropped
    SOLVED below MIN       2  there is a next sibling: it becomes LIVE with h
                           3  there is none: MIN's node is SOLVED with h
    LIVE                   4  a leaf of value v: it becomes SOLVED with min(h, v), and takes its new place in the list
                           5  a node of MIN: its first child becomes LIVE with h
                           6  a node of MAX: all its children become LIVE with h

MAX is the player who is asked at the root; a node is his or MIN's by whose turn it is, however often one of them moves
in a row.

The value equals minimax. No leaf is visited that alpha-beta with the same order of moves does not visit; the price is
memory: with b moves and turns that alternate, OPEN may hold b^ceil(d/2) triples. The search is refused beforehand where
that is more than the machine has; the list itself grows as it is needed.

Source: G. Stockman, "A minimax algorithm better than alpha-beta?", Artificial Intelligence 12 (1979); leftmost among
equals: M. Campbell and T. Marsland, "A comparison of minimax tree search algorithms", Artificial Intelligence 20
(1983).

Letters: C rows, D depth; n triples are in the list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.control import enter, stopped
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.memory import check_memory
from deltaw.search.tree.algorithm import Algorithm
from deltaw.search.tree.stack import leaf_value, leave, leave_path, node_moves, node_outcome

HEAP, PLACE, LEFT, RIGHT, PLIES, SOLVED, PATH = 0, 1, 2, 3, 4, 5, 6
NONE = -1
FIRST_ROWS = 1024
"""a list begins with so many, and doubles when it is full"""


class Open(NamedTuple):
    """The list OPEN. A row is a triple, and two orders hold them together: a heap by merit, and neighbours from left to
    right in the tree."""

    rows: np.ndarray
    """int64 [C, 6 + D]. Columns: HEAP: not part of the triples, a permutation of the rows; the first n are in use, as a
    binary heap with the best at 0. PLACE: where in it a triple is. LEFT, RIGHT: its neighbours in the tree, or NONE.
    PLIES: length of the path. SOLVED: 1, or 0 for LIVE. From PATH on: the way from the root, by numbers of children
    (Dewey)"""
    merit: np.ndarray
    """float64 [C]: h"""


def make_open(game: Game, depth: int, nodes: int | None = None) -> Open:
    """An empty list for searches `depth` deep. Raises InputError where it could outgrow the memory of the machine."""
    moves, own = game.rules.max_moves, (depth + 1) // 2
    needed = moves**own * 8 * (PATH + depth + 1)
    check_memory(min(needed, 1 << 60), f"SSS* at depth {depth}, with up to {moves}^{own} open strategies,")
    return empty_open(FIRST_ROWS, depth)


@kernel
def empty_open(size, depth):
    rows = np.empty((size, PATH + depth), np.int64)
    for row in range(size):
        rows[row, HEAP] = row
    return Open(rows, np.empty(size))


@kernel
def with_room(listed, size):
    """The list with at least so many rows."""
    old, columns = listed.rows.shape
    if size <= old:
        return listed
    grown = empty_open(max(size, 2 * old), columns - PATH)
    for row in range(old):
        for column in range(columns):
            grown.rows[row, column] = listed.rows[row, column]
        grown.merit[row] = listed.merit[row]
    return grown


@kernel
def comes_first(listed, a, b):
    """Whether triple a has more merit than triple b, or as much and stands further left in the tree."""
    if listed.merit[a] != listed.merit[b]:
        return listed.merit[a] > listed.merit[b]
    rows = listed.rows
    for k in range(PATH, PATH + min(rows[a, PLIES], rows[b, PLIES])):
        if rows[a, k] != rows[b, k]:
            return rows[a, k] < rows[b, k]
    return False


@kernel
def put(rows, place, triple):
    rows[place, HEAP] = triple
    rows[triple, PLACE] = place


@kernel
def rise(listed, place):
    """Moves a triple up the heap, before those that it comes before."""
    rows, triple = listed.rows, listed.rows[place, HEAP]
    while place > 0 and comes_first(listed, triple, rows[(place - 1) // 2, HEAP]):
        put(rows, place, rows[(place - 1) // 2, HEAP])
        place = (place - 1) // 2
    put(rows, place, triple)


@kernel
def sink(listed, place, n):
    """Moves a triple down the heap, behind those that come before it."""
    rows, triple = listed.rows, listed.rows[place, HEAP]
    below = 2 * place + 1
    while below < n:
        if below + 1 < n and comes_first(listed, rows[below + 1, HEAP], rows[below, HEAP]):
            below += 1
        if not comes_first(listed, rows[below, HEAP], triple):
            break
        put(rows, place, rows[below, HEAP])
        place, below = below, 2 * below + 1
    put(rows, place, triple)


@kernel
def drop(listed, triple, n):
    """Takes a triple out of the list of n; its row is free."""
    rows, place = listed.rows, listed.rows[triple, PLACE]
    left, right, last = rows[triple, LEFT], rows[triple, RIGHT], rows[n - 1, HEAP]
    if left != NONE:
        rows[left, RIGHT] = right
    if right != NONE:
        rows[right, LEFT] = left
    put(rows, n - 1, triple)
    if last != triple:
        put(rows, place, last)
        rise(listed, place)
        sink(listed, rows[last, PLACE], n - 1)


@kernel
def purge(listed, top, n, plies):
    """Drops all triples but `top` below the node that it passes after so many plies; returns how many are left. They
    are its neighbours."""
    rows = listed.rows
    for side in (LEFT, RIGHT):
        while rows[top, side] != NONE and starts_alike(rows, rows[top, side], top, plies):
            drop(listed, rows[top, side], n)
            n -= 1
    return n


@kernel
def starts_alike(rows, a, b, plies):
    """Whether triple a lies below the node that triple b passes after so many plies."""
    if rows[a, PLIES] < plies:
        return False
    for k in range(PATH, PATH + plies):  # noqa: SIM110 - compiled
        if rows[a, k] != rows[b, k]:
            return False
    return True


@kernel
def add_sibling(listed, triple, n):
    """Puts a copy of a triple, one child further right, beside it; returns the copy, the list's triple number n."""
    rows, new = listed.rows, listed.rows[n, HEAP]
    for column in range(PLIES, PATH + rows[triple, PLIES]):
        rows[new, column] = rows[triple, column]
    rows[new, PATH + rows[new, PLIES] - 1] += 1
    right = rows[triple, RIGHT]
    rows[new, LEFT], rows[new, RIGHT], rows[triple, RIGHT] = triple, right, new
    if right != NONE:
        rows[right, LEFT] = new
    listed.merit[new] = listed.merit[triple]
    rise(listed, n)
    return new


@kernel
def walk(rules, root, triple, plies, moves, stack):
    """The state after the first plies of a triple, whose states `walk_back` takes from the path of the game again. SSS*
    remembers moves, and makes the states anew."""
    state = root
    for k in range(PATH, PATH + plies):
        node_moves(rules, state, moves, stack)
        state = rules.play(state, moves[triple[k]])
    return state


@kernel
def walk_back(rules, plies, stack):
    for _ in range(plies):
        leave_path(rules, stack)


@kernel
def go_on_from_solved(rules, visitor, root, depth, most, listed, n, stack):
    """Cases 1, 2 and 3 of Gamma for the first triple; returns the length of the list."""
    top, moves = listed.rows[0, HEAP], stack.moves[depth]
    triple, value = listed.rows[top], listed.merit[top]
    plies = triple[PLIES] - 1
    parent = walk(rules, root, triple, plies, moves, stack)
    own, children = rules.seat(parent) == most, np.int64(0)
    if not own:
        children = np.int64(node_moves(rules, parent, moves, stack))
        leave_path(rules, stack)
    walk_back(rules, plies, stack)
    if own:
        n = purge(listed, top, n, plies)
    elif triple[PATH + plies] + 1 < children:
        triple[PATH + plies] += 1
        triple[SOLVED] = 0
        return n
    triple[PLIES] = plies
    value = value if own else -value
    # Only at the root is h more than something MAX is sure of: no other strategy can be better.
    low, high = (-np.inf, np.inf) if plies == 0 else (-np.inf, value) if own else (value, np.inf)
    leave(visitor, stack.control, parent, depth - plies, value, low, high)
    return n


@kernel
def go_on_from_live(rules, leaf, visitor, root, depth, most, listed, n, stack):
    """Cases 4, 5 and 6 of Gamma for the first triple; returns the length of the list. Precondition: there is room for
    all children."""
    top, moves = listed.rows[0, HEAP], stack.moves[depth]
    triple, merit = listed.rows[top], listed.merit
    plies = triple[PLIES]
    state = walk(rules, root, triple, plies, moves, stack)
    own = rules.seat(state) == most
    over, result = node_outcome(rules, state, stack)
    children = np.int64(1)
    if own and not over and plies < depth:
        children = np.int64(node_moves(rules, state, moves, stack))
        leave_path(rules, stack)
    walk_back(rules, plies, stack)
    if over or plies == depth:
        value = leaf_value(rules, leaf, visitor, state, depth - plies, over, result, stack)
        merit[top] = min(merit[top], value if own else -value)
        triple[SOLVED] = 1
        sink(listed, 0, n)
        return n
    triple[PLIES] = plies + 1
    triple[PATH + plies] = 0
    for _ in range(children - 1):
        top = add_sibling(listed, top, n)
        n += 1
    return n


@kernel
def sss_star(rules, leaf, visitor, root, depth, most, stack):
    """Value of `root` for the player in seat `most`, MAX, searched `depth` moves deep."""
    listed, n, control = stack.memory, np.int64(1), stack.control
    top = listed.rows[0, HEAP]
    listed.merit[top] = np.inf
    listed.rows[top, PLACE], listed.rows[top, LEFT], listed.rows[top, RIGHT] = 0, NONE, NONE
    listed.rows[top, PLIES], listed.rows[top, SOLVED] = 0, 0
    while not stopped(control) and not (listed.rows[top, SOLVED] and listed.rows[top, PLIES] == 0):
        if listed.rows[top, SOLVED]:
            n = go_on_from_solved(rules, visitor, root, depth, most, listed, n, stack)
        elif not enter(control):
            listed = with_room(listed, n + rules.max_moves)
            n = go_on_from_live(rules, leaf, visitor, root, depth, most, listed, n, stack)
        top = listed.rows[0, HEAP]
    return listed.merit[top]


@kernel
def run(rules, leaf, visitor, state, depth, alpha, beta, me, options, stack):
    return sss_star(rules, leaf, visitor, state, depth, me, stack)


ALGORITHM = Algorithm(
    "sss_star", "SSS*", run, "the most promising strategy first, at a price in memory", memory=make_open
)
