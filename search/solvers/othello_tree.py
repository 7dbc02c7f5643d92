"""The tree above the last few squares: null windows, a table of bounds, and moves in the order in which they are likely
to cut off.

    memory, int64 [TABLE + 4 x entries]
        [BUCKETS]              buckets of the table - 1
        [GENERATION]           number of the position being solved
        [FRAMES + 40 e ..]     sorted moves of the node with e empty squares: rank x 64 + square
        [TABLE ..]             two entries a bucket, one cache line: me, opponent, about, nodes it took

    about = generation x 2^24 + best move x 2^16 + (upper bound + 64) x 2^8 + lower bound + 64

An entry holds the whole position, so none is taken for another, and bounds are true whoever asks: the table serves for
all positions to come.

What each step saves, in nodes (17 positions with 19 to 23 empty squares, geometric mean): ordering by a short search
instead of by mobility alone 28 %, the children's entries 10 %, parity 7 %; safe discs save nothing there, but 87 %
where one side can be wiped out (FFO 39, all best moves).

Sources: Gunnar Andersson's Zebra and Richard Delorme's Edax for the order of the steps; A. Plaat, J. Schaeffer, W.
Pijls and A. de Bruin, "Exploiting graph properties of game trees" (1996), for cut-offs by the table's entries of the
children.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit, drop_lowest, lowest, popcount
from deltaw.envs.control import NODES, enter, stopped
from deltaw.envs.games.othello.boards import CORNERS, flips, mobility, near, scramble
from deltaw.envs.games.othello.rules import final_score
from deltaw.envs.kernel import kernel
from deltaw.search.solvers.othello_end import MOST_FEW, NONE, QUADRANT, last_few
from deltaw.search.solvers.othello_judge import LOSS, glance, safe_discs

BUCKETS, GENERATION, FRAMES = 0, 1, 8
FRAME = 40
"""room for the moves of a position"""
TABLE = FRAMES + 64 * FRAME
ENTRY = 4
BUCKET = 2 * ENTRY

TABLE_FROM = 9
"""empty squares from which on the table is asked: below, a position is searched faster than it is found"""
CHILDREN_FROM = 10
"""empty squares from which on the children's entries are looked at before any is searched"""
GLANCE_FROM = 13
"""empty squares from which on moves are ordered by a short search, one move deep and one more for every two squares"""
DEEPEST_GLANCE = 5
FRONTIER_FROM = 9
"""empty squares from which on ranks look at the discs that a move leaves open"""
GLANCE_MARGIN = 60
"""moves worse than the best by more than so many tenths of a disc are not told apart"""

_QUARTER = ((9, 2, 8, 6), (2, 1, 3, 4), (8, 3, 7, 5), (6, 4, 5, 0))
SQUARE_RANK = np.array([_QUARTER[min(s // 8, 7 - s // 8)][min(s % 8, 7 - s % 8)] for s in range(64)], np.int64)
"""[64]: corners first, X squares last"""
REPLY_RANK, OPEN_RANK, ODD_RANK = -64, -16, 8
"""a reply of the opponent's, an open square beside a disc of mine, and an odd quadrant, on the scale of SQUARE_RANK
(about Edax's proportions)"""
HINT_RANK = 1 << 40
"""the table's move goes first"""


# --- the table ------------------------------------------------------------------------------------------------------


@kernel
def find(memory, me, opponent):
    """Where the entry of this position is, or 0."""
    place = TABLE + BUCKET * (scramble(me, opponent) & memory[BUCKETS])
    if memory[place] == me and memory[place + 1] == opponent:
        return place
    place += ENTRY
    if memory[place] == me and memory[place + 1] == opponent:
        return place
    return np.int64(0)


@kernel
def lower_bound(memory, entry):
    return (memory[entry + 2] & 0xFF) - 64


@kernel
def upper_bound(memory, entry):
    return (memory[entry + 2] >> 8 & 0xFF) - 64


@kernel
def best_move(memory, entry):
    return memory[entry + 2] >> 16 & 0xFF


@kernel
def remember(memory, me, opponent, alpha, score, move, nodes):
    """What a search with the window of `alpha` found. A new position takes the place of the one of its bucket that took
    fewer nodes; those of earlier generations count as none."""
    entry, lower, upper = find(memory, me, opponent), np.int64(-64), np.int64(64)
    if entry:
        lower, upper = lower_bound(memory, entry), upper_bound(memory, entry)
    else:
        entry = TABLE + BUCKET * (scramble(me, opponent) & memory[BUCKETS])
        if effort(memory, entry + ENTRY) < effort(memory, entry):
            entry += ENTRY
    if score > alpha:
        lower = max(lower, score)
    else:
        upper = min(upper, score)
    memory[entry], memory[entry + 1] = me, opponent
    memory[entry + 2] = memory[GENERATION] << 24 | move << 16 | (upper + 64) << 8 | (lower + 64)
    memory[entry + 3] = nodes


@kernel
def effort(memory, entry):
    return memory[entry + 3] if memory[entry + 2] >> 24 == memory[GENERATION] else np.int64(-1)


@kernel
def refuted_by_table(memory, me, opponent, moves, alpha):
    """A score > alpha that some move has according to its result's entry, or NONE."""
    while moves:
        square = lowest(moves)
        moves = drop_lowest(moves)
        turned = flips(square, me, opponent)
        entry = find(memory, opponent ^ turned, me | turned | bit(square))
        if entry and -upper_bound(memory, entry) > alpha:
            return -upper_bound(memory, entry)
    return np.int64(NONE)


# --- the order of moves ---------------------------------------------------------------------------------------------


@kernel
def rank_moves(memory, control, me, opponent, odd, moves, hint, empties):
    """Puts the moves with their ranks into the node's frame; returns how many. `hint`: the table's move, or -1."""
    frame, n, best = FRAMES + FRAME * empties, 0, np.int64(LOSS)
    depth = glance_depth(empties)
    while moves:
        square = lowest(moves)
        moves = drop_lowest(moves)
        turned = flips(square, me, opponent)
        his, mine = opponent ^ turned, me | turned | bit(square)
        parity = ODD_RANK if odd >> square & 1 else 0
        if square == hint:
            rank = np.int64(HINT_RANK)
        elif depth >= 0:
            rating = -glance(his, mine, depth, np.int64(LOSS), GLANCE_MARGIN - best, control)
            best = max(best, rating)
            rank = 64 * rating + parity
        else:
            rank = rank_cheaply(his, mine, square, empties) + parity
        memory[frame + n] = 64 * rank + square
        n += 1
    return n


@kernel
def glance_depth(empties):
    return np.int64(min((empties - GLANCE_FROM) // 2, DEEPEST_GLANCE)) if empties >= GLANCE_FROM else np.int64(-1)


@kernel
def rank_cheaply(his, mine, square, empties):
    """Fastest first: the fewer replies, corners counted twice, the smaller the tree below and the likelier a
    cut-off."""
    replies = mobility(his, mine)
    rank = SQUARE_RANK[square] + REPLY_RANK * (popcount(replies) + popcount(replies & CORNERS))
    if empties >= FRONTIER_FROM:
        rank += OPEN_RANK * popcount(near(mine) & ~(mine | his))
    return rank


@kernel
def take_best(memory, frame, i, n):
    """The best of the moves i .. n-1, brought to place i."""
    best = i
    for j in range(i + 1, n):
        if memory[frame + j] > memory[frame + best]:
            best = j
    entry = memory[frame + best]
    memory[frame + best] = memory[frame + i]
    memory[frame + i] = entry
    return entry & 63


# --- the search -----------------------------------------------------------------------------------------------------


@kernel
def search(memory, control, me, opponent, odd, alpha, empties):
    """Score of a position with more than MOST_FEW empty squares, `empties` of them; a bound as `othello_end` says.
    Anything when stopped."""
    if enter(control):
        return np.int64(0)
    # 1. A forced pass, the end.
    moves = mobility(me, opponent)
    if moves == 0:
        if mobility(opponent, me) == 0:
            return final_score(me, opponent)
        return -search(memory, control, opponent, me, odd, -alpha - 1, empties)
    # 2. His safe discs: there must be many to matter, so they are counted only where much is asked for.
    if alpha >= 2 * empties - 2:
        score = 64 - 2 * safe_discs(opponent, me)
        if score <= alpha:
            return score
    # 3. The table: this position, the results of its moves.
    hint = np.int64(-1)
    entry = find(memory, me, opponent) if empties >= TABLE_FROM else np.int64(0)
    if entry:
        if lower_bound(memory, entry) > alpha:
            return lower_bound(memory, entry)
        if upper_bound(memory, entry) <= alpha:
            return upper_bound(memory, entry)
        hint = best_move(memory, entry)
    if empties >= CHILDREN_FROM:
        score = refuted_by_table(memory, me, opponent, moves, alpha)
        if score != NONE:
            return score
    # 4. The moves, best first.
    before, frame, best, move = control[NODES], FRAMES + FRAME * empties, np.int64(NONE), np.int64(0)
    n = rank_moves(memory, control, me, opponent, odd, moves, hint, empties)
    for i in range(n):
        square = take_best(memory, frame, i, n)
        turned = flips(square, me, opponent)
        his, mine, below = opponent ^ turned, me | turned | bit(square), odd ^ QUADRANT[square]
        if empties - 1 <= MOST_FEW:
            score = -last_few(his, mine, below, -alpha - 1, empties - 1, control)
        else:
            score = -search(memory, control, his, mine, below, -alpha - 1, empties - 1)
        if score > best:
            best, move = score, square
            if best > alpha:
                break
    # 5. What is known now.
    if empties >= TABLE_FROM and not stopped(control):
        remember(memory, me, opponent, alpha, best, move, control[NODES] - before)
    return best
