"""Chess as text: positions in FEN, moves in SAN and UCI.

rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1     FEN: men, side to move, castling, en passant, clock, move
e4  Nbd2  O-O  exd6  a8=Q+                                   SAN, the moves of books and PGN files
e2e4  b1d2  e1g1  e5d6  a7a8q                                UCI, the moves of chess programs

Castling rights are written as X-FEN does: K and Q where the rook is the outermost one on its side, else its file.
Shredder-FEN, which always names the file (HAha), is read as well. The en-passant square is written where a pawn may
legally capture there, so that equal positions have equal texts; in what is read it may stand after every double step.

Source: S. Edwards, "Portable Game Notation Specification and Implementation Guide" (1994), sections 8.2.3 and 16.1.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

import numpy as np

from deltaw.envs.bits import FULL, signed
from deltaw.envs.errors import InputError, short
from deltaw.envs.games.chess import rules
from deltaw.envs.games.chess.boards import RANK_1, RANK_8
from deltaw.envs.games.chess.rules import ROOM, State
from deltaw.envs.texts import whole

EXAMPLE = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
LETTERS = "PNBRQK"
"""of the kinds, in the order of the State's fields and of promotions"""
KINDS = ("pawns", "knights", "bishops", "rooks", "queens", "kings")
WHITE, BLACK = 0, 1
COLOURS = ("White", "Black")
MOST_PLIES = 10_000
"""on the clock or in the number of a move that is read"""
LONGEST = 12
"""characters of a move, whose neighbours are looked for"""


# --- squares and men --------------------------------------------------------------------------------------------------


def square_name(square: int) -> str:
    return "abcdefgh"[square % 8] + str(square // 8 + 1)


def as_white(state: State) -> State:
    """The same position with the board as White sees it: `me` is White."""
    return state if state.seat == WHITE else _plain(rules.mirrored(state, state.en_passant))


def board_square(state: State, square: int) -> int:
    """A square of the mover's board as White counts it."""
    return square if state.seat == WHITE else square ^ 56


def men(state: State) -> dict[int, str]:
    """Square, as White counts it, -> letter of the man there: upper case for White's."""
    seen, found = as_white(state), {}
    for letter, kind in zip(LETTERS, KINDS, strict=True):
        for square in _squares(getattr(seen, kind)):
            found[square] = letter if seen.me >> square & 1 else letter.lower()
    return found


def table(state: State) -> list[int]:
    """What stands on the squares from a8 to h1: 0 nothing, else 1 + colour + 2 x kind."""
    placed, found = men(state), [0] * 64
    for square, man in placed.items():
        found[square ^ 56] = 1 + man.islower() + 2 * LETTERS.index(man.upper())
    return found


def _squares(mask: int) -> list[int]:
    mask, found = mask & FULL, []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found


def _plain(state: State) -> State:
    return State(*(int(field) for field in state))


# --- FEN --------------------------------------------------------------------------------------------------------------


def format_state(state: State) -> str:
    """The position in FEN."""
    return f"{format_board(state)} {int(state.clock)} {int(state.move_number)}"


def format_board(state: State) -> str:
    """The first four fields of FEN, which is how a line of EPD begins."""
    placed = men(state)
    ranks = ["".join(placed.get(8 * rank + file, " ") for file in range(8)) for rank in range(7, -1, -1)]
    board = re.sub(" +", lambda gap: str(len(gap[0])), "/".join(ranks))
    seen = as_white(state)
    passed = square_name(_squares(seen.en_passant)[0]) if seen.en_passant else "-"
    return f"{board} {'wb'[int(state.seat)]} {_castling_text(seen) or '-'} {passed}"


def _castling_text(seen: State) -> str:
    letters = ""
    for colour, rank in ((WHITE, RANK_1), (BLACK, RANK_8)):
        side = seen.me if colour == WHITE else seen.opponent
        for rook in reversed(_squares(seen.castling & rank)):
            king = _squares(seen.kings & side)[0]
            letter = "K" if rook > king else "Q"
            if rook != _outermost(seen, side & rank, letter):
                letter = "ABCDEFGH"[rook % 8]
            letters += letter if colour == WHITE else letter.lower()
    return letters


def _outermost(seen: State, side_on_rank: int, wing: str) -> int | None:
    """The rook that is farthest from the king to the right (K) or left (Q) on the rank; None without one."""
    king = _squares(seen.kings & side_on_rank)[0]
    rooks = [rook for rook in _squares(seen.rooks & side_on_rank) if (rook > king) == (wing == "K")]
    return (max if wing == "K" else min)(rooks, default=None)


def parse(text: str) -> State:
    """A position in FEN, Shredder-FEN or X-FEN; clock and number of the move may be missing. Raises InputError, also
    for what no game leads to: two kings of a colour, a side not to move in check, a right to castle without the rook.
    """
    try:
        return _parse(text.split())
    except InputError as error:
        raise InputError(f"{short(text.strip(), 90)} is no position: {error}") from None


def _parse(fields: list[str]) -> State:
    if not 4 <= len(fields) <= 6:
        raise InputError(f"{len(fields)} fields; FEN has men, side, castling, en passant, clock, move: {EXAMPLE}")
    placed = _read_men(fields[0])
    _check_men(placed)
    if fields[1] not in ("w", "b"):
        raise InputError(f"the side to move is {short(fields[1])}; w or b is right")
    clock = _count(fields[4], "clock") if len(fields) > 4 else 0
    number = _count(fields[5], "move") if len(fields) > 5 else 1
    kinds = {kind: _mask(placed, letter + letter.lower()) for kind, letter in zip(KINDS, LETTERS, strict=True)}
    white, black = (_mask(placed, letters) for letters in (LETTERS, LETTERS.lower()))
    seen = State(white, black, **kinds, castling=0, en_passant=0, clock=clock, move_number=max(number, 1), seat=WHITE)
    seen = seen._replace(castling=_read_castling(seen, fields[2]))
    state = seen if fields[1] == "w" else _plain(rules.mirrored(seen, 0))
    if rules.in_check(rules.mirrored(state, 0)):
        raise InputError(f"{COLOURS[1 - state.seat]} is in check, but {COLOURS[state.seat]} is to move")
    return state._replace(en_passant=_read_en_passant(state, fields[3]))


def _read_men(text: str) -> dict[int, str]:
    ranks = text.split("/")
    if len(ranks) != 8:
        raise InputError(f"{len(ranks)} ranks with / between them; a board has 8")
    placed = {}
    for row, rank in enumerate(ranks):
        strange = re.search("[^PNBRQKpnbrqk1-8]", rank)
        if strange:
            raise InputError(f"{strange[0]!r} in rank {8 - row}; PNBRQK, pnbrqk and 1 to 8 are right")
        squares = re.sub("[1-8]", lambda gap: " " * int(gap[0]), rank)
        if len(squares) != 8:
            raise InputError(f"rank {8 - row} has {len(squares)} squares; 8 are right")
        placed.update({8 * (7 - row) + file: man for file, man in enumerate(squares) if man != " "})
    return placed


def _mask(placed: dict[int, str], letters: str) -> int:
    """The squares of the men with one of these letters."""
    return signed(sum(1 << square for square, man in placed.items() if man in letters))


def _check_men(placed: dict[int, str]) -> None:
    for colour, letters in zip(COLOURS, (LETTERS, LETTERS.lower()), strict=True):
        pawns, knights, bishops, rooks, queens, kings = (list(placed.values()).count(letter) for letter in letters)
        if kings != 1:
            raise InputError(f"{colour} has {kings} kings; one is right")
        if pawns > 8:
            raise InputError(f"{colour} has {pawns} pawns; 8 are the most")
        promoted = max(knights - 2, 0) + max(bishops - 2, 0) + max(rooks - 2, 0) + max(queens - 1, 0)
        if promoted > 8 - pawns:
            raise InputError(f"{colour} has {pawns} pawns and {promoted} promoted men; together 8 are the most")
    outer = next((square for square, man in placed.items() if man in "Pp" and square // 8 in (0, 7)), None)
    if outer is not None:
        raise InputError(f"there is a pawn on {square_name(outer)}; none can be on the first or the last rank")


def _read_castling(seen: State, text: str) -> int:
    """The rooks that the field names."""
    if not re.fullmatch("-|[KQkqA-Ha-h]{1,4}", text):
        raise InputError(f"castling is {short(text)}; letters of KQkq, files of the rooks, or - are right")
    rooks = {_castling_rook(seen, letter) for letter in text.replace("-", "")}
    for king in _squares(seen.kings):
        sides = [rook > king for rook in rooks if rook // 8 == king // 8]
        if len(sides) > len(set(sides)):
            raise InputError(f"castling {text} names two rooks on one side of a king")
    return signed(sum(1 << rook for rook in rooks))


def _castling_rook(seen: State, letter: str) -> int:
    side, rank, name = (seen.me, RANK_1, "first") if letter.isupper() else (seen.opponent, RANK_8, "last")
    if not seen.kings & side & rank:
        raise InputError(f"castling {letter}, but the king is not on the {name} rank")
    wing = letter.upper()
    if wing in "KQ":
        rook = _outermost(seen, side & rank, wing)
    else:
        rooks = _squares(seen.rooks & side & rank)
        rook = next((rook for rook in rooks if rook % 8 == "ABCDEFGH".index(wing)), None)
    if rook is None:
        raise InputError(f"castling {letter}, but there is no such rook beside the king")
    return rook


def _read_en_passant(state: State, text: str) -> int:
    """The square as the mover sees it, if a pawn may legally capture there; else 0."""
    if text == "-":
        return 0
    rank = "6" if state.seat == WHITE else "3"
    if not re.fullmatch(f"[a-h]{rank}", text):
        raise InputError(f"en passant is {short(text)}; a square of rank {rank}, or - is right")
    square = 40 + "abcdefgh".index(text[0])
    passed, occupied = 1 << square, state.me | state.opponent
    if occupied & (passed | passed << 8) or not state.pawns & state.opponent & passed >> 8:
        raise InputError(f"en passant is {text}, but no pawn can just have passed it")
    return passed if rules.en_passant_takers(state, passed) else 0


def _count(text: str, name: str) -> int:
    try:
        number = whole(text)
    except ValueError:
        number = -1
    if not 0 <= number <= MOST_PLIES:
        raise InputError(f"the {name} is {short(text)}; a number from 0 to {MOST_PLIES} is right")
    return number


# --- moves ------------------------------------------------------------------------------------------------------------


def moves_of(state: State) -> list[int]:
    out = np.empty(ROOM, np.int64)
    return [int(move) for move in out[: rules.legal_moves(state, out)]]


def uci(state: State, move: int, chess960: bool = False) -> str:
    """The move as chess programs write it. Castling is the king's two steps, `e1g1`, or with `chess960`, and from other
    squares than e1 and e8, the way to his rook, `e1h1`."""
    origin, target = move & 63, move >> 6 & 63
    if is_castling(state, move) and origin % 8 == 4 and not chess960:
        target = int(rules.castled_squares(origin, target)[0])
    squares = (square_name(board_square(state, square)) for square in (origin, target))
    return "".join(squares) + " nbrq"[move >> 12].strip()


def clicks(state: State, move: int) -> list[list[int]]:
    """The two squares of the move, counted from a8; to castle, the king may also go to his rook."""
    ways = dict.fromkeys(uci(state, move, chess960) for chess960 in (False, True))
    return [["abcdefgh".index(way[i]) + 8 * (8 - int(way[i + 1])) for i in (0, 2)] for way in ways]


def is_castling(state: State, move: int) -> bool:
    return bool(state.me >> (move >> 6 & 63) & 1)


def move_text(state: State, move: int) -> str:
    """The move in SAN."""
    return _san(state, move, moves_of(state))


def _san(state: State, move: int, legal: list[int]) -> str:
    after = rules.play(state, move)
    check = "" if not rules.in_check(after) else "+" if rules.can_move(after) else "#"
    origin, target = move & 63, move >> 6 & 63
    if is_castling(state, move):
        return ("O-O" if target > origin else "O-O-O") + check
    kind = kind_of(state, origin)
    x = "x" if state.opponent >> target & 1 or (kind == "P" and origin % 8 != target % 8) else ""
    name, place = square_name(board_square(state, origin)), square_name(board_square(state, target))
    if kind == "P":
        promotion = f"={LETTERS[move >> 12]}" if move >> 12 else ""
        return (name[0] if x else "") + x + place + promotion + check
    others = [
        other & 63
        for other in legal
        if other & 63 != origin and other >> 6 & 63 == target and kind_of(state, other & 63) == kind
    ]
    if not others or is_castling(state, move):
        name = ""
    elif all(other % 8 != origin % 8 for other in others):
        name = name[0]
    elif all(other // 8 != origin // 8 for other in others):
        name = name[1]
    return kind + name + x + place + check


def kind_of(state: State, square: int) -> str:
    """Letter of the man on a square of the mover's board."""
    return next(letter for letter, kind in zip(LETTERS, KINDS, strict=True) if getattr(state, kind) >> int(square) & 1)


_CASTLING = re.compile("[O0o](-?[O0o]){1,2}")
_UCI = re.compile("([a-h][1-8])[x:-]?([a-h][1-8])=?([nbrqNBRQ]?)")
_SAN = re.compile("([NBRQKP]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:=?\\(?([NBRQ])\\)?)?")


def read_move(state: State, text: str) -> int:
    """The legal move that was written in SAN or UCI; capture, check and comment signs may be missing or wrong. Raises
    InputError with the legal moves that are close."""
    word = "".join(text.split()).rstrip("+#!?").removesuffix("e.p.").removesuffix("ep").rstrip("+#!?")
    legal = moves_of(state)
    found = _fitting(state, legal, word)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{short(text.strip())} can be {_listed(state, found, legal)}: write which")
    names = {name: move for move in legal for name in (_san(state, move, legal).rstrip("+#"), uci(state, move))}
    near = list(dict.fromkeys(names[name] for name in difflib.get_close_matches(word[:LONGEST], names, 5, 0.5)))
    which = f"close to it: {_listed(state, near, legal)}" if near else f"legal: {_listed(state, legal, legal)}"
    raise InputError(f"{short(text.strip())} is not a legal move here; {which}")


def _listed(state: State, some: Iterable[int], legal: list[int]) -> str:
    return ", ".join(_san(state, move, legal) for move in some) or "none, the game is over"


def _fitting(state: State, legal: list[int], word: str) -> list[int]:
    """The legal moves that `word` can mean."""
    if squares := _UCI.fullmatch(word):
        name = "".join(squares.groups()).lower()
        return [move for move in legal if name in (uci(state, move), uci(state, move, chess960=True))]
    if _CASTLING.fullmatch(word):
        right = len(re.findall("[O0o]", word)) == 2
        return [move for move in legal if is_castling(state, move) and (move >> 6 & 63 > move & 63) == right]
    said = _SAN.fullmatch(word)
    if not said:
        return []
    letter, file, rank, place, promotion = said.groups(default="")
    of_kind = getattr(state, KINDS[LETTERS.index(letter or "P")])
    if letter in ("", "P") and not file:
        file = place[0]
    target = board_square(state, "abcdefgh".index(place[0]) + 8 * int(place[1]) - 8)
    found = [
        move
        for move in legal
        if move >> 6 & 63 == target
        and of_kind >> (move & 63) & 1
        and LETTERS[move >> 12].replace("P", "") == promotion
        and not is_castling(state, move)
    ]
    names = (square_name(board_square(state, move & 63)) for move in found)
    return [move for move, name in zip(found, names, strict=True) if file in ("", name[0]) and rank in ("", name[1])]
