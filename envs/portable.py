"""Portable Game Notation and what has been made after it: tags, then moves with comments and variations between them.

    [White "Anderssen"]
    [Black "Kieseritzky"]
    [Result "1-0"]

    1. e4 e5 2. f4 {the gambit} exf4 (2... d5) 3. Bc4 $6 ... 1-0

Comments, variations and the marks of annotators are left out, and so are all tags but the players', the result and the
position that a game begins with. A game with a move that is not legal is read up to there, and a note of it says which
move that was. `Portable` says what is special to a game.

Source: S. Edwards, "Portable Game Notation Specification and Implementation Guide" (1994).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaw.envs.errors import InputError, short
from deltaw.envs.game import Game
from deltaw.envs.record import Event, GameRecord, after, course_of, initial_state, payoffs_of, replay

COLUMNS = 79


@dataclass(frozen=True)
class Portable:
    """How a game for two is written."""

    name: str
    """of the notation"""
    seats: tuple[str, str]
    """what the players are called, by seat; names of tags, too"""
    results: Mapping[str, tuple[float, float] | None]
    """what may be written -> payoffs by seat; of several texts for the same the first is written"""
    caption: Callable[[Any], str]
    """(state) -> how the game has ended"""
    first_number: Callable[[Any], int] = lambda start: 1
    """(start) -> the number of the first move"""
    check: Callable[[Mapping[str, str]], None] = lambda tags: None
    """(tags) raises InputError for a game that is another one"""
    extra_tags: Callable[[Any], dict[str, str]] = lambda start: {}
    """(start) -> tags beside the usual ones"""

    def read(self, game: Game, text: str) -> list[GameRecord]:
        """The games of a file. What is wrong with one is said in a note, with the number of the game and the move;
        where there is no game yet that could bear it, InputError says so."""
        records: list[GameRecord] = []
        for number, section in enumerate(_sections(text, self.results), start=1):
            try:
                records.append(self._read_game(game, section, f"game {number}"))
            except InputError as error:
                if not records:
                    raise
                records[-1] = records[-1]._replace(notes=(*records[-1].notes, str(error)))
        return records

    def write(self, game: Game, records: Sequence[GameRecord]) -> str:
        """The games, an empty line behind each."""
        return "".join(self._written(game, record, number) for number, record in enumerate(records, start=1))

    # --- writing ------------------------------------------------------------------------------------------------------

    def _written(self, game: Game, record: GameRecord, number: int) -> str:
        first = int(record.start.seat)
        payoffs = record.payoffs if record.payoffs is None or first == 0 else record.payoffs[::-1]
        result = next((text for text, worth in self.results.items() if worth == payoffs), None)
        if result is None:
            raise InputError(
                f"game {number} was worth {payoffs} to {' and '.join(self.seats)}; {self.name} knows "
                f"{', '.join(self.results)}"
            )
        names = {name: record.players[(seat - first) % 2] for seat, name in enumerate(self.seats)}
        tags = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": str(number), **names, "Result": result}
        if record.start != initial_state(game):
            tags |= {"SetUp": "1", "FEN": game.format(record.start)}
        tags |= self.extra_tags(record.start)
        head = "".join(f'[{name} "{_quoted(text)}"]\n' for name, text in tags.items())
        moves = textwrap.fill(" ".join([*self._numbered(game, record), result]), COLUMNS, break_on_hyphens=False)
        return f"{head}\n{moves}\n\n"

    def _numbered(self, game: Game, record: GameRecord) -> Iterator[str]:
        """`1. e4`, `e5`, ...: each move, with its number before those of seat 0 and at the beginning."""
        for ply, (state, event) in enumerate(replay(game, record)):
            dots = "." + ".." * int(state.seat)
            number = f"{self._number(record.start, ply)}{dots} " if state.seat == 0 or ply == 0 else ""
            yield number + game.move_text(state, event.code)

    def _number(self, start: Any, ply: int) -> int:
        return self.first_number(start) + (int(start.seat) + ply) // 2

    # --- reading ------------------------------------------------------------------------------------------------------

    def _read_game(self, game: Game, section: Section, where: str) -> GameRecord:
        start = self._start(game, section.tags, where)
        events: list[Event] = []
        notes: tuple[str, ...] = ()
        state = start
        for ply, text in enumerate(section.moves):
            try:
                if game.rules.outcome(state)[0]:
                    raise InputError(f"{short(text)} comes after the end of the game: {self.caption(state)}")
                event = Event(False, game.find_move(state, text))
            except InputError as error:
                mover = self.seats[int(state.seat)]
                complaint = f"{where}, move {self._number(start, ply)} of {mover}: {error}"
                if not events:
                    raise InputError(complaint) from None
                notes = (f"{complaint}; the rest of the game is left out",)
                break
            events.append(event)
            state = after(game, state, event)
        payoffs = payoffs_of(game, start, course_of(game, start, events))  # a third occurrence need not be claimed
        if payoffs is None and not notes:
            worth = self.results.get(section.result or section.tags.get("result", "*"))
            payoffs = worth[::-1] if worth and start.seat == 1 else worth
        players = tuple(section.tags.get(name.lower(), name) for name in self.seats)
        return GameRecord(start, players if start.seat == 0 else players[::-1], tuple(events), payoffs, notes)

    def _start(self, game: Game, tags: dict[str, str], where: str) -> Any:
        try:
            self.check(tags)
            return game.read_position(tags["fen"]) if "fen" in tags else initial_state(game)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def _quoted(text: str) -> str:
    plain = re.sub(r"\s+", " ", text).strip() or "?"
    return plain.replace("\\", "\\\\").replace('"', '\\"')


# --- the text ---------------------------------------------------------------------------------------------------------

_TOKEN = r"""
    ^%[^\n]* | ;[^\n]* | \{[^}]*(?:\}|\Z) | \$\d+                # comments and marks
    | \[\s*(?P<tag>\w+)\s*"(?P<text>(?:[^"\\\n]|\\.)*)"\s*\]
    | (?P<result>RESULTS)(?=[\s{;\[()]|\Z)
    | (?P<bracket>[()])
    | \d+\.+ | \d+(?=\s|\Z) | \.+ | [!?]+ | e\.p\.                  # numbers of moves, and more marks
    | (?P<move>[^\s(){};$]+)
    """


@dataclass
class Section:
    """One game, as written."""

    tags: dict[str, str] = field(default_factory=dict)
    moves: list[str] = field(default_factory=list)
    result: str | None = None


def _sections(text: str, results: Mapping[str, Any]) -> Iterator[Section]:
    token_of = re.compile(_TOKEN.replace("RESULTS", "|".join(map(re.escape, results))), re.MULTILINE | re.VERBOSE)
    section, depth = Section(), 0
    for token in token_of.finditer(text):
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
