"""EPD, Extended Position Description: a position and what is known about it, in one line, as test suites come.

    1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - bm Qd1+; id "BK.01";

Behind the first four fields of FEN stand operations: a name, operands and a semicolon. `hmvc` and `fmvn` are the clock
and the number of the move. Source: S. Edwards, "Portable Game Notation Specification and Implementation Guide" (1994),
section 16.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from deltaw.envs.errors import InputError, short
from deltaw.envs.games.chess import notation
from deltaw.envs.games.chess.notation import format_board, read_move
from deltaw.envs.games.chess.rules import State

CLOCK, MOVE_NUMBER = "hmvc", "fmvn"
_LINE = re.compile(r"\s*((?:\S+\s+){3}\S+)\s*(.*)", re.DOTALL)
_OPERATION = re.compile(r'\s*([A-Za-z]\w*)((?:\s+(?:"[^"]*"|[^\s";]+))*)\s*;')
_OPERAND = re.compile(r'"([^"]*)"|(\S+)')
_PLAIN = re.compile(r"[^\s\";]+")
"""what needs no quotation marks"""


class Epd(NamedTuple):
    """One line."""

    state: State
    operations: dict[str, tuple[str, ...]]
    """name -> operands, without the clock and the number of the move, which are in the state"""

    def moves(self, name: str) -> list[int]:
        """The operands of bm (best moves) or am (moves to avoid) as move codes. Raises InputError."""
        return [read_move(self.state, text) for text in self.operations.get(name, ())]


def read_epd(line: str) -> Epd:
    """Raises InputError that names the operation or the field that is not right."""
    found = _LINE.fullmatch(line)
    if not found:
        raise InputError(f"{short(line.strip())} is no EPD: the first four fields of FEN and operations are right")
    board, rest = found.groups()
    operations, at = {}, 0
    while rest[at:].strip():
        operation = _OPERATION.match(rest, at)
        if not operation:
            raise InputError(f'{short(rest[at:].strip())} is no operation of EPD: bm Nf3; or id "name"; is right')
        operands = tuple(quoted or word for quoted, word in _OPERAND.findall(operation[2]))
        operations[operation[1]], at = operands, operation.end()
    counts = [" ".join(operations.pop(name, (default,))) for name, default in ((CLOCK, "0"), (MOVE_NUMBER, "1"))]
    return Epd(notation.parse(" ".join([board, *counts])), operations)


def write_epd(state: State, operations: Mapping[str, tuple[str, ...]]) -> str:
    """One line; the clock and the number of the move where they are not those of a first move. Raises InputError for an
    operand with a quotation mark, which EPD cannot hold."""
    counts = {CLOCK: (str(int(state.clock)),), MOVE_NUMBER: (str(int(state.move_number)),)}
    counts = {} if (state.clock, state.move_number) == (0, 1) else counts
    written = "".join(
        f" {name}{''.join(f' {_operand(operand)}' for operand in operands)};"
        for name, operands in {**counts, **operations}.items()
    )
    return format_board(state) + written


def _operand(text: str) -> str:
    if '"' in text:
        raise InputError(f"{short(text)} has a quotation mark, which no operand of EPD can hold")
    return text if _PLAIN.fullmatch(text) else f'"{text}"'


def parse(text: str) -> State:
    """A position in FEN or EPD, whose operations are left out. Raises InputError."""
    return read_epd(text).state if ";" in text else notation.parse(text)
