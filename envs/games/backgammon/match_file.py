"""Backgammon `.mat` files: the text of Jellyfish, which gnubg, XG, BGBlitz and most servers read and write.

     0 point match

     Game 1
     network : 0                     pubeval : 0
      1) 31: 8/5 6/5                 42: 8/4 6/4
      2) 66: 24/18 24/18 13/7 13/7   51: 13/8 6/5
      ...
     14)                             61: bar/24 8/2*
                                          Wins 2 points

The format has no standard; this follows what gnubg writes and what its importer accepts (`ExportGameJF` in export.c,
`ImportGame` and `ParseMatMove` in import.c). The first name has the left column in every game, whoever begins; points
are the mover's own; every checker's hop is written by itself; a roll with nothing behind it is one that cannot be
played, or the roll before a resignation.

Games here are cubeless money games: `0 point match` is written. In files of others, `Doubles => 2`, `Takes`, `Drops`,
`Beavers` and the match score are read over and noted in the record: the moves remain. What cannot be played by the
rules is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game, GameFile
from deltaw.envs.games.backgammon import rules
from deltaw.envs.games.backgammon.notation import board, chance_text, initial_state, read_chance, read_move
from deltaw.envs.games.backgammon.rules import State
from deltaw.envs.record import Event, GameRecord, after, begin, follow, is_over, payoffs_of, replay, turn_of

LEFT_WIDTH, NAME_WIDTH, LOSER_WIDTH = 27, 31, 34
"""columns of a left cell, of the left name, and before the right winner's points, as gnubg writes them"""
RIGHT_COLUMN = 15
"""what stands behind this column, alone on its line, belongs to the right player"""


# --- writing ------------------------------------------------------------------------------------------------------


def write_match(game: Game, records: Sequence[GameRecord]) -> str:
    """The games as one money session, the first game's first player on the left. Raises InputError where the players
    change, or a game does not begin at the start."""
    if not records:
        raise InputError("there is no game to write")
    names = records[0].players
    lines = ['; [Site "deltaw"]', '; [Variation "Backgammon"]', "", " 0 point match", ""]
    score = [0, 0]
    for number, record in enumerate(records, start=1):
        if sorted(record.players) != sorted(names):
            raise InputError(f"game {number} is of {' and '.join(record.players)}, game 1 of {' and '.join(names)}")
        if record.start != initial_state():
            raise InputError(f"game {number} does not begin at the start: a .mat file cannot hold it; .jsonl can")
        left_first = record.players[0] == names[0]
        lines += _written_game(game, record, number, names, score, left_first)
    return "\n".join(lines) + "\n"


def _written_game(
    game: Game, record: GameRecord, number: int, names: Sequence[str], score: list[int], left_first: bool
) -> list[str]:
    """Lines of one game, an empty one behind it; `score` goes on."""
    left, right = (f"{_plain(name)} : {points}" for name, points in zip(names, score, strict=True))
    cells = list(_cells(game, record))
    if not left_first:
        cells.insert(0, "")
    lines = [f" Game {number}", f" {left:{NAME_WIDTH}}{right}"]
    for i in range(0, len(cells), 2):
        pair = f"{cells[i]:{LEFT_WIDTH}} {cells[i + 1] if i + 1 < len(cells) else ''}"
        lines.append(f"{i // 2 + 1:3}) {pair}".rstrip())
    if record.payoffs is not None and record.payoffs[0] != 0:
        points = round(abs(record.payoffs[0]))
        left_wins = (record.payoffs[0] > 0) == left_first
        score[0 if left_wins else 1] += points
        lines.append(f"{' ' * (6 if left_wins else LOSER_WIDTH)}Wins {points} point{'s' * (points > 1)}")
    return [*lines, ""]


def _cells(game: Game, record: GameRecord) -> Iterator[str]:
    """`31: 8/5 6/5` of every turn."""
    roll = ""
    for state, event in replay(game, record):
        if event.is_chance:
            roll = chance_text(state, event.code)
        else:
            yield f"{roll}: {hops_text(state, event.code)}".rstrip()
            roll = ""
    if roll:  # rolled, then resigned
        yield f"{roll}:"


def hops_text(state: State, move: int) -> str:
    """`24/18* 18/13`: every hop by itself."""
    blots = {24 - i for i, n in enumerate(board(state)[1][:24]) if n == 1}
    texts = []
    for i in range(4):
        source = move >> 5 * i & 31
        if not source:
            continue
        landing = max(0, source - int(rules.die_of(state, move, i)))
        hit = "*" * (landing in blots)
        blots.discard(landing)
        texts.append(f"{'bar' if source == 25 else source}/{landing or 'off'}{hit}")
    return " ".join(texts)


def _plain(name: str) -> str:
    """A name that no reader takes for something else."""
    return re.sub(r"\s+", " ", name.replace(":", "-")).strip() or "nobody"


# --- reading ------------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """What one player did, as written."""

    side: int
    """0: left, 1: right"""
    text: str
    turn: str
    """number of the line's turn, for complaints"""


class Section(NamedTuple):
    """One game, as written."""

    number: str
    names: tuple[str, str]
    cells: list[Cell]


_GAME = re.compile(r"\s*game\s+(\d+)\s*$", re.IGNORECASE)
_LENGTH = re.compile(r"\s*(\d{1,9})\s+point\s+match", re.IGNORECASE)
_NAMES = re.compile(r"\s*(\S.*?)\s*:\s*(\d+)\s+(\S.*?)\s*:\s*(\d+)\s*$")
_TURN = re.compile(r"\s*(\d+)\)")
_DICE = re.compile(r"([1-6])([1-6]):\s*(.*)$")
_CUBE = re.compile(r"(doubles?|takes?|drops?|beavers?|raccoons?)\b", re.IGNORECASE)
_WINS = re.compile(r"wins?\s+(\d{1,9})\s+point", re.IGNORECASE)
_BEGINNING = re.compile(
    r"(?<![^\s)])(?:[1-6][1-6]:|(?:doubles?|takes?|drops?|beavers?|raccoons?|wins?|resigns?)\b)", re.IGNORECASE
)
"""how what a player did begins"""
_NOTHING = re.compile(r"(cannot move|no move|\?{3,4})$", re.IGNORECASE)


def read_match(game: Game, text: str) -> list[GameRecord]:
    """The games of a `.mat` file. Raises InputError that names the game and the turn of what is no legal play."""
    length, sections = _sections(text)
    return [_read_game(game, section, length) for section in sections]


def _sections(text: str) -> tuple[int, list[Section]]:
    """(length of the match, 0 for money; the games)."""
    length, sections, turn = 0, [], "1"
    for line in text.splitlines():
        if not line.strip() or line.lstrip()[0] in ";#":
            if re.match(r"\s*; *Set Pos=", line):
                raise InputError("a position was set up by hand ('Set Pos'): only games from the start can be read")
            continue
        if found := _GAME.match(line):
            sections.append(Section(found[1], ("", ""), []))
            turn = "1"
        elif not sections:
            found = _LENGTH.match(line)
            length = int(found[1]) if found else length
        elif not sections[-1].names[0]:
            sections[-1] = sections[-1]._replace(names=_names(sections[-1].number, line))
        else:
            found = _TURN.match(line)
            turn = found[1] if found else turn
            sections[-1].cells.extend(_cells_of(line, turn, f"game {sections[-1].number}, move {turn}"))
    return length, sections


def _names(number: str, line: str) -> tuple[str, str]:
    found = _NAMES.match(line)
    if not found:
        raise InputError(
            f"game {number}: {line.strip()!r} does not name the players, as in 'network : 0   pubeval : 0'"
        )
    return found[1], found[3]


def _cells_of(line: str, turn: str, where: str) -> Iterator[Cell]:
    """What the players did by one line: the left one, the right one, or both."""
    found = _TURN.match(line)
    begins = [match.start() for match in _BEGINNING.finditer(line, found.end() if found else 0)]
    if len(begins) > 2 or (not begins and line[found.end() if found else 0 :].strip()):
        raise InputError(f"{where}: {line.strip()!r} is not understood: dice and moves, such as 31: 8/5 6/5, are right")
    sides = [0, 1] if len(begins) == 2 else [int(first > RIGHT_COLUMN) for first in begins]
    ends = [*begins[1:], len(line)]
    for side, first, end in zip(sides, begins, ends, strict=False):
        yield Cell(side, line[first:end].strip(), turn)


def _read_game(game: Game, section: Section, length: int) -> GameRecord:
    course, first, won, cube = begin(game, initial_state()), None, None, 0
    for cell in section.cells:
        where = f"game {section.number}, move {cell.turn} of {section.names[cell.side]}"
        if dice := _DICE.match(cell.text):
            first = cell.side if first is None else first
            if won is not None or is_over(game, course):
                raise InputError(f"{where}: {cell.text!r} comes after the end of the game")
            if (turn_of(game, initial_state(), course.state) + first) % 2 != cell.side or course.state.roll > 0:
                raise InputError(f"{where}: {cell.text!r} comes although the other side is to move")
            for event in _read_turn(game, course.state, dice[1] + dice[2], dice[3], where):
                course = follow(game, course, event)
        elif wins := _WINS.match(cell.text):
            won = (cell.side, int(wins[1]))
        elif _CUBE.match(cell.text):
            cube += 1
        elif not re.match("resign", cell.text, re.IGNORECASE):
            raise InputError(f"{where}: {cell.text!r} is not understood")
    first = first or 0
    players = section.names if first == 0 else (section.names[1], section.names[0])
    payoffs = payoffs_of(game, initial_state(), course)
    if payoffs is None and won is not None:
        payoffs = (float(won[1]), -float(won[1])) if won[0] == first else (-float(won[1]), float(won[1]))
    return GameRecord(initial_state(), players, course.events, payoffs, _notes(section.number, cube, length))


def _read_turn(game: Game, state: State, dice: str, text: str, where: str) -> list[Event]:
    """The roll and the play; the roll alone where nothing is written although something could be played."""
    try:
        roll = Event(True, read_chance(state, dice))
        rolled = after(game, state, roll)
        if not _NOTHING.sub("", text).strip():
            moves = game.moves(rolled)
            return [roll, Event(False, moves[0])] if len(moves) == 1 else [roll]
        return [roll, Event(False, read_move(rolled, text))]
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _notes(number: str, cube: int, length: int) -> tuple[str, ...]:
    notes = []
    if cube:
        notes.append(f"game {number}: the doubling cube ({cube} times) is left out")
    if length:
        notes.append(f"game {number}: the score of the {length}-point match is left out")
    return tuple(notes)


MATCH_FILE = GameFile("Jellyfish's text, as gnubg and XG read and write it", read_match, write_match)
