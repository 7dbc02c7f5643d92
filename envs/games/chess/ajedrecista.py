"""El Ajedrecista, the machine that mates with king and rook.

L. Torres y Quevedo built it in 1912. It plays by six rules and looks nothing ahead; the first that applies gives the
move. The *zones* of the board are the files a to c and f to h.

    the opponent's king is in the rook's zone             the rook goes to the far side, to the file h or a
    the rook is more than one rank above him              the rook goes down one rank
    the kings are more than two ranks apart               the king goes down one rank
    the kings' files are an odd number apart              the rook waits: between a and b, or between h and g
    ... an even number, but not 0                         the king goes one file towards him
    ... 0                                                 the rook goes down one rank

The machine drives the king down the board. From its king on a8 and its rook on b8 it mates every king on the ranks 1 to
4 that is not in check; perfect play takes 16 moves at most, the machine 51 to 67 against the best defence. By the
50-move rule, which it does not know, such games are drawn.

Source: H. Vigneron, "Les automates", La Nature (1914).
"""

from __future__ import annotations

from deltaw.envs.bits import lowest
from deltaw.envs.errors import InputError
from deltaw.envs.games.chess.notation import format_state, men, moves_of
from deltaw.envs.games.chess.rules import State
from deltaw.envs.kernel import kernel


@kernel
def machine_move(state):
    """The move by the rules, which need not be legal. Precondition: king and rook against king."""
    king, rook = lowest(state.kings & state.me), lowest(state.rooks & state.me)
    enemy = lowest(state.kings & state.opponent)
    apart = king % 8 - enemy % 8
    if (rook % 8 < 3 and enemy % 8 < 3) or (rook % 8 > 4 and enemy % 8 > 4):
        origin, target = rook, rook - rook % 8 + (7 if rook % 8 < 3 else 0)
    elif rook // 8 - enemy // 8 > 1:
        origin, target = rook, rook - 8
    elif king // 8 - enemy // 8 > 2:
        origin, target = king, king - 8
    elif apart % 2 == 1:
        origin, target = rook, rook ^ 1
    elif apart != 0:
        origin, target = king, king - 1 if apart > 0 else king + 1
    else:
        origin, target = rook, rook - 8
    return origin | target << 6


@kernel
def ajedrecista(parent, move, child):
    return 1.0 if move == machine_move(parent) else 0.0


def check_ending(state: State) -> None:
    """InputError where the machine has no move."""
    if sorted("".join(men(state).values()).lower()) != ["k", "k", "r"] or not state.rooks & state.me:
        raise InputError(
            f"ajedrecista mates with king and rook against a king and plays nothing else; {format_state(state)} is "
            "another position, or the bare king is to move"
        )
    if int(machine_move(state)) not in moves_of(state):
        raise InputError(f"ajedrecista's rules give no legal move in {format_state(state)}")
