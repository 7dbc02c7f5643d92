"""PGN, Portable Game Notation: the files in which chess games are kept.

    [White "Anderssen"]
    [Black "Kieseritzky"]
    [Result "1-0"]

    1. e4 e5 2. f4 {the gambit} exf4 (2... d5) 3. Bc4 $6 ... 1-0

Comments, variations and the marks of annotators are left out, and so are all tags but the players', the result and the
position that a game begins with. A game with a move that is not legal is read up to there, and a note of it says which
move that was.

Source: S. Edwards, "Portable Game Notation Specification and Implementation Guide" (1994).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaw.envs.errors import InputError, short
from deltaw.envs.game import Game, GameFile
from deltaw.envs.games.chess.drawing import caption
from deltaw.envs.games.chess.notation import COLOURS, format_state, move_text, read_move
from deltaw.envs.record import Event, GameRecord, after, course_of, initial_state, payoffs_of, replay

COLUMNS = 79
RESULTS: dict[tuple[float, ...] | None, str] = {
    (1.0, -1.0): "1-0",
    (-1.0, 1.0): "0-1",
    (0.0, 0.0): "1/2-1/2",
    None: "*",
}
"""payoffs of White and Black -> result"""
PAYOFFS = {text: payoffs for payoffs, text in RESULTS.items()}
VARIANTS = ("standard", "chess", "normal", "from position", "chess960", "chess 960", "fischerandom")


# --- writing ----------------------------------------------------------------------------------------------------------


def write_pgn(game: Game, records: Sequence[GameRecord]) -> str:
    """The games, an empty line behind each."""
    return "".join(_written(game, record, number) for number, record in enumerate(records, start=1))


def _written(game: Game, record: GameRecord, number: int) -> str:
    first = int(record.start.seat)
    payoffs = record.payoffs if record.payoffs is None or first == 0 else record.payoffs[::-1]
    if payoffs not in RESULTS:
        raise InputError(f"game {number} was worth {payoffs} to White and Black; PGN knows {', '.join(PAYOFFS)}")
    result = RESULTS[payoffs]
    white, black = (record.players[(seat - first) % 2] for seat in range(2))
    tags = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": str(number), "White": white, "Black": black}
    tags["Result"] = result
    if record.start != initial_state(game):
        tags |= {"SetUp": "1", "FEN": format_state(record.start)}
    if not _castles_as_usual(record.start):
        tags["Variant"] = "Chess960"
    head = "".join(f'[{name} "{_quoted(text)}"]\n' for name, text in tags.items())
    moves = textwrap.fill(" ".join([*_numbered(game, record), result]), COLUMNS, break_on_hyphens=False)
    return f"{head}\n{moves}\n\n"


def _castles_as_usual(start: Any) -> bool:
    """Whether every king and rook that may castle is where chess begins with it."""
    corners, middles = 1 << 0 | 1 << 7 | 1 << 56 | 1 << 63, 1 << 4 | 1 << 60
    ranks = [rank for rank in (0xFF, 0xFF << 56) if start.castling & rank]
    return not start.castling & ~corners and all(start.kings & middles & rank for rank in ranks)


def _numbered(game: Game, record: GameRecord) -> Iterator[str]:
    """`1. e4`, `e5`, ...: each move, with its number before White's and at the beginning."""
    for ply, (state, event) in enumerate(replay(game, record)):
        number = f"{state.move_number}." + ".." * state.seat + " " if state.seat == 0 or ply == 0 else ""
        yield number + move_text(state, event.code)


def _quoted(text: str) -> str:
    plain = re.sub(r"\s+", " ", text).strip() or "?"
    return plain.replace("\\", "\\\\").replace('"', '\\"')


# --- reading ----------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""
    ^%[^\n]* | ;[^\n]* | \{[^}]*(?:\}|\Z) | \$\d+                # comments and marks
    | \[\s*(?P<tag>\w+)\s*"(?P<text>(?:[^"\\\n]|\\.)*)"\s*\]
    | (?P<result>1-0|0-1|1/2-1/2|\*)(?=[\s{;\[()]|\Z)
    | (?P<bracket>[()])
    | \d+\.+ | \d+(?=\s|\Z) | \.+ | [!?]+ | e\.p\.                  # numbers of moves, and more marks
    | (?P<move>[^\s(){};$]+)
    """,
    re.MULTILINE | re.VERBOSE,
)


@dataclass
class Section:
    """One game, as written."""

    tags: dict[str, str] = field(default_factory=dict)
    moves: list[str] = field(default_factory=list)
    result: str | None = None


def read_pgn(game: Game, text: str) -> list[GameRecord]:
    """The games of a file. What is wrong with one is said in a note, with the number of the game and the move; where
    there is no game yet that could bear it, InputError says so."""
    records: list[GameRecord] = []
    for number, section in enumerate(_sections(text), start=1):
        try:
            records.append(_read_game(game, section, f"game {number}"))
        except InputError as error:
            if not records:
                raise
            records[-1] = records[-1]._replace(notes=(*records[-1].notes, str(error)))
    return records


def _sections(text: str) -> Iterator[Section]:
    section, depth = Section(), 0
    for token in _TOKEN.finditer(text):
        begun = section.moves or section.result
        if token["tag"]:
            if begun:
                yield section
                section, depth = Section(), 0
            section.tags[token["tag"].lower()] = re.sub(r"\\(.)", r"\1", token["text"])
        elif token["bracket"]:
            depth = max(depth + (1 if token["bracket"] == "(" else -1), 0)
        elif depth:
            continue
        elif token["result"]:
            section.result = token["result"]
            yield section
            section = Section()
        elif token["move"]:
            section.moves.append(token["move"])
    if section.tags or section.moves:
        yield section


def _read_game(game: Game, section: Section, where: str) -> GameRecord:
    start = _start(game, section.tags, where)
    events: list[Event] = []
    notes: tuple[str, ...] = ()
    state = start
    for text in section.moves:
        try:
            if game.rules.outcome(state)[0]:
                raise InputError(f"{short(text)} comes after the end of the game: {caption(state)}")
            event = Event(False, read_move(state, text))
        except InputError as error:
            complaint = f"{where}, move {state.move_number} of {COLOURS[state.seat]}: {error}"
            if not events:
                raise InputError(complaint) from None
            notes = (f"{complaint}; the rest of the game is left out",)
            break
        events.append(event)
        state = after(game, state, event)
    players = (section.tags.get("white", "White"), section.tags.get("black", "Black"))
    payoffs = payoffs_of(game, start, course_of(game, start, events))  # a third occurrence need not be claimed
    if payoffs is None and not notes:
        payoffs = PAYOFFS.get(section.result or section.tags.get("result", "*"))
        payoffs = payoffs[::-1] if payoffs and start.seat == 1 else payoffs
    return GameRecord(start, players if start.seat == 0 else players[::-1], tuple(events), payoffs, notes)


def _start(game: Game, tags: dict[str, str], where: str) -> Any:
    variant = tags.get("variant", "standard")
    if variant.lower() not in VARIANTS:
        raise InputError(f"{where} is {short(variant)}; Standard and Chess960 can be read")
    if "fen" not in tags:
        return initial_state(game)
    try:
        return game.read_position(tags["fen"])
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


PGN = GameFile("Portable Game Notation, as all chess programs read and write it", read_pgn, write_pgn)
