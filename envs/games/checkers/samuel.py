"""The terms of Samuel's checkers player of 1959.

A. Samuel, "Some studies in machine learning using the game of checkers", IBM Journal of Research and Development 3
(1959), appendix C, defines 26 parameters of a side that has just moved (the *passive* one) against the side to move
(the *active* one). "Each term [...] is numerically equal to the difference between the ratings for the individual
sides": here the parameter with me as the passive side minus the parameter with the opponent as the passive side. Twelve
more terms connect two of these by logic: a term counts as true where it is above 0.

Where the appendix leaves something open, it is read so:

- The squares of the centre, 11, 12, 15, 16, 20, 21, 24 and 25, are numbered as in the machine's words, which left out
  every ninth number: on the board they are 10, 11, 14, 15, 18, 19, 22 and 23. All others have their usual numbers.
- Samuel took a rating for each side after its own last move. A state does not know the one before it, so both ratings
  are of the same board.
- What can be captured or recaptured (DENY, EXCH) is judged by single jumps.
- FORK: the three squares are one in front of both men and the two on which the jumps would end.
- MOVE asks for equal pieces, which makes it the same for both sides: 1 where the side to move has "the move", -1 where
  the opponent has it.
- RECAP is defined as identical with EXCH. DIAV is counted in halves.

PIECES is the piece advantage, which he kept outside of the polynomial: 2 a man, 3 a king.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit, drop_lowest, lowest, popcount
from deltaw.envs.games.checkers.rules import (
    BACK_LEFT,
    BACK_RIGHT,
    BOARD,
    EVEN,
    FORWARD_LEFT,
    FORWARD_RIGHT,
    SQUARES,
    can_jump,
    can_step,
    step,
    turn,
)
from deltaw.envs.kernel import kernel

PARAMETERS = (
    "ADV", "APEX", "BACK", "CENT", "CNTR", "CORN", "CRAMP", "DENY", "DIA", "DIAV", "DYKE", "EXCH", "EXPOS", "FORK",
    "GAP", "GUARD", "HOLE", "KCENT", "MOB", "MOBIL", "NODE", "OREO", "POLE", "RECAP", "THRET",
)  # fmt: skip
"""without MOVE, which is no difference of two ratings"""
CONNECTIVES = (
    ("DEMO", "DEMMO", "DDEMO", "DDMM"),
    ("MODE1", "MODE2", "MODE3", "MODE4"),
    ("MOC1", "MOC3", "MOC2", "MOC4"),
)
"""A and B, A and not B, not A and B, neither: of DENY and MOB, MOBIL and DENY, MOBIL and CENT"""
CONNECTED = tuple(
    (PARAMETERS.index(a), PARAMETERS.index(b)) for a, b in (("DENY", "MOB"), ("MOBIL", "DENY"), ("MOBIL", "CENT"))
)
NAMES = ("PIECES", *PARAMETERS, "MOVE", *(name for names in CONNECTIVES for name in names))
SCALE = 0.25
"""differences are multiplied by it: the usual range becomes -1 to 1"""
FEW_PIECES = 24
"""MOVE counts below this, 2 for a man and 3 for a king"""


def mask(*numbers: int) -> int:
    return sum(1 << number - 1 for number in numbers)


CENTRE = mask(10, 11, 14, 15, 18, 19, 22, 23)
ROWS_3_4, ROWS_5_6 = 0x0000FF00, 0x00FF0000
BRIDGE, OREO = mask(1, 3), mask(2, 3, 7)
APEX = mask(7, 26)
DOUBLE_CORNERS = mask(1, 5, 28, 32)
CRAMPING, NEARBY, CRAMPED = mask(13), mask(9, 14), mask(17, 21, 22, 25)
DIAGONALS = tuple(
    sum(1 << s for s in range(SQUARES) if abs(2 * (s % 4) + 1 - s // 4 % 2 - s // 4) == apart) for apart in (1, 3, 5)
)
"""the two files that end in the double corners, those beside them, and the next ones"""


@kernel
def add_terms(state, index, value):
    """Every term that is not 0; returns how many."""
    turned_me, turned_opponent, turned_kings = turn(state.me, state.opponent, state.kings)
    mine = parameters(state.me, state.opponent, state.kings)
    his = parameters(turned_me, turned_opponent, turned_kings)
    n = add(0, SCALE * (worth(state.me, state.kings) - worth(state.opponent, state.kings)), index, value, 0)
    for i in range(len(mine)):
        n = add(1 + i, SCALE * (mine[i] - his[i]), index, value, n)
    n = add(1 + len(mine), the_move(state.me, state.opponent, state.kings), index, value, n)
    for i, (a, b) in enumerate(CONNECTED):
        kind = 2 * (mine[a] <= his[a]) + (mine[b] <= his[b])
        n = add(2 + len(mine) + 4 * i + kind, 1.0, index, value, n)
    return n


@kernel
def add(term, number, index, value, n):
    index[n] = term
    value[n] = number
    return n + (number != 0)


@kernel
def worth(pieces, kings):
    return 2 * popcount(pieces) + popcount(pieces & kings)


@kernel
def the_move(me, opponent, kings):
    """Rows 0, 2, 4 and 6 are the files that begin with the squares 1 to 4, seen from the side to move."""
    both = me | opponent
    if popcount(me) != popcount(opponent) or worth(me, kings) + worth(opponent, kings) >= FEW_PIECES:
        return 0.0
    return 1.0 if popcount(both & EVEN) & 1 else -1.0


@kernel
def parameters(passive, active, kings):
    """The PARAMETERS, with the passive side moving down the board."""
    empty = BOARD ^ (passive | active)
    active_kings, passive_kings = active & kings, passive & kings
    reached, denied, exchanges, threats = prospects(passive, active, kings, empty)
    bridge, oreo = holds(passive, BRIDGE), holds(passive, OREO)
    back = bridge and active_kings == 0
    corner = worth(active, kings) <= 6 and worth(passive, kings) > worth(active, kings)
    cramp = passive & CRAMPING and passive & NEARBY and holds(active, CRAMPED)
    return (
        popcount(passive & ~kings & ROWS_5_6) - popcount(passive & ~kings & ROWS_3_4),
        -np.int64(kings == 0 and active & APEX != 0 and passive & APEX == 0),
        np.int64(back),
        popcount(passive & ~kings & CENTRE),
        popcount((active | reached) & CENTRE),
        np.int64(corner and reached & DOUBLE_CORNERS != 0),
        np.int64(2 if cramp else 0),
        popcount(denied),
        popcount(passive & DIAGONALS[0]),
        3 * popcount(passive & DIAGONALS[0]) + 2 * popcount(passive & DIAGONALS[1]) + popcount(passive & DIAGONALS[2]),
        dykes(passive),
        popcount(exchanges),
        popcount(passive & flanked(empty)),
        popcount(can_jump(empty, passive, empty, BACK_LEFT) & can_jump(empty, passive, empty, BACK_RIGHT)),
        popcount(empty & gaps(passive)),
        np.int64(active_kings == 0 and (bridge or oreo)),
        popcount(empty & three_or_more(passive)),
        popcount(passive_kings & CENTRE),
        popcount(reached),
        popcount(reached) - popcount(denied),
        popcount(passive & three_or_more(empty)),
        np.int64(oreo and passive_kings == 0),
        popcount(passive & ~kings & alone(passive | active)),
        popcount(exchanges),
        popcount(threats),
    )


@kernel
def prospects(passive, active, kings, empty):
    """The squares that the active side can step to, jumps or not: (all, where it loses the piece for nothing, where it
    forces an exchange, where the piece threatens to jump)."""
    reached, denied, exchanges, threats = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for direction in range(4):
        left = can_step(active if direction >= BACK_LEFT else active & kings, empty, direction)
        while left:
            first = bit(lowest(left))
            left = drop_lowest(left)
            to = step(first, direction)
            pieces, free = active ^ first ^ to, empty ^ first ^ to
            crowned = kings ^ first ^ to if first & kings else kings
            lost, exchanged = replies(passive, pieces, crowned, free, to)
            reached |= to
            denied |= to if lost else np.int64(0)
            exchanges |= to if exchanged else np.int64(0)
            threats |= to if jumping(to, crowned, passive, free, BACK_LEFT) else np.int64(0)
    return reached, denied, exchanges, threats


@kernel
def replies(passive, active, kings, empty, moved):
    """What the passive side's jumps are worth: (whether one takes `moved` for nothing, whether there are some and the
    active side can answer each by a jump)."""
    lost, answered, some = False, True, False
    for direction in range(4):
        left = can_jump(passive if direction < BACK_LEFT else passive & kings, active, empty, direction)
        while left:
            first = bit(lowest(left))
            left = drop_lowest(left)
            over = step(first, direction)
            landing = step(over, direction)
            crowned = (kings ^ first ^ landing if first & kings else kings) & ~over
            free = empty ^ first ^ over ^ landing
            answer = jumping(active ^ over, crowned, passive ^ first ^ landing, free, BACK_LEFT) != 0
            some, answered = True, answered and answer
            lost = lost or (over == moved and not answer)
    return lost, some and answered


@kernel
def jumping(pieces, kings, opponent, empty, forward):
    """The pieces that can jump; `forward`: the first of the two directions in which their men move."""
    found = np.int64(0)
    for direction in range(4):
        movers = pieces if direction - forward in (0, 1) else pieces & kings
        found |= can_jump(movers, opponent, empty, direction)
    return found


# --- patterns ---------------------------------------------------------------------------------------------------------


@kernel
def holds(squares, wanted):
    return squares & wanted == wanted


@kernel
def beside(squares, direction):
    """The squares whose neighbour in this direction is one of `squares`."""
    return step(squares, 3 - direction)


@kernel
def flanked(squares):
    """Between two of `squares` on a diagonal."""
    falling = beside(squares, BACK_LEFT) & beside(squares, FORWARD_RIGHT)
    return falling | beside(squares, BACK_RIGHT) & beside(squares, FORWARD_LEFT)


@kernel
def gaps(squares):
    """Between two of `squares` on a diagonal, or between one of them and the edge of the board."""
    found = flanked(squares)
    for direction in range(4):
        edge = BOARD ^ beside(BOARD, 3 - direction)
        found |= beside(squares, direction) & edge
    return found


@kernel
def three_or_more(squares):
    """With at least three of `squares` around them."""
    left, right = beside(squares, FORWARD_LEFT), beside(squares, FORWARD_RIGHT)
    back_left, back_right = beside(squares, BACK_LEFT), beside(squares, BACK_RIGHT)
    return left & right & (back_left | back_right) | back_left & back_right & (left | right)


@kernel
def alone(squares):
    """With none of `squares` around them."""
    found = BOARD
    for direction in range(4):
        found &= ~beside(squares, direction)
    return found


@kernel
def dykes(squares):
    """Three of `squares` in a row on a diagonal."""
    left, right = squares & step(squares, FORWARD_LEFT), squares & step(squares, FORWARD_RIGHT)
    return popcount(left & step(left, FORWARD_LEFT)) + popcount(right & step(right, FORWARD_RIGHT))
