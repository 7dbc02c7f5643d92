"""The line protocol's requests and answers, without any input or output: one JSON object in, one out
(docs/protocol.md).

    request = read_request(line)                    InputError: not JSON, not an object, too long
    answer = protocol.answer(request, thinker)      a dict that JSON can write; errors are answers too

`search/lines.py` is the door for programs (standard input and output), `search/serve.py` the one for pages (HTTP).
Requests come from strangers: every key is checked, what takes time is limited, and an error is one line that names no
file.
"""

from __future__ import annotations

import functools
import json
import secrets
import sys
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.control import Switch
from deltaw.envs.errors import InputError, cut, one_line, short
from deltaw.envs.game import Game, GameFile
from deltaw.envs.record import JSON_LINES, Event, GameRecord, event_text, formats, payoffs_of, read_event, replay
from deltaw.envs.texts import read_json
from deltaw.envs.turn import pick_chance
from deltaw.search.databases.database import program_version
from deltaw.search.doors import view
from deltaw.search.doors.offer import Offer, Offered
from deltaw.search.doors.thinker import Thinker, Thought, Wish
from deltaw.search.players.agent import line_texts

MOST_BYTES = 1 << 16
"""of a request"""
MOST_ERROR = 300
"""characters of an error"""
MOST_POSITION = 1000
"""characters of a position"""
MOST_STEPS = 1000
"""moves and rolls between a position and the one that is asked about"""
MOST_TEXT, MOST_GAMES = 32_000, 100
"""characters of a text that games are read from, and games in it"""
MOST_NAME = 100
"""characters of dice, a move or a name"""
SECONDS = 1.0
"""of a search, where nothing is said"""
LONGEST = 10.0
"""seconds: the most that a request may ask for"""
SHORTEST = 0.01
DEEPEST = 64
"""moves: the most that a request may ask for"""
LARGEST_SEED = (1 << 63) - 1
DIGITS = 6
"""decimals of values"""

PLACE = ("game", "position", "steps", "dice")
THINKING = ("player", "seconds", "depth", "plies")
KEYS = {
    "info": (),
    "show": PLACE,
    "roll": (*PLACE, "seed"),
    "move": (*PLACE, "move"),
    "write": (*PLACE, "players", "format"),
    "read": ("game", "text", "format"),
    "replay": ("game", "position", "steps"),
    "analyze": (*PLACE, *THINKING, "top"),
    "choose": (*PLACE, *THINKING),
}
"""what a request may say besides `do` and `id`"""
THOUGHTFUL = ("analyze", "choose")
"""requests that take time"""


class Pace(NamedTuple):
    """Seconds of a search."""

    usual: float = SECONDS
    longest: float = LONGEST


USUAL_PACE = Pace()


# --- reading ----------------------------------------------------------------------------------------------------------


def read_request(text: bytes | str) -> dict[str, Any]:
    """The JSON object in `text`; raises InputError."""
    request = read_json(text, MOST_BYTES)
    if not isinstance(request, dict):
        raise InputError(f'{_json(request)} is no object; a request is {{"do": "info"}}')
    return request


def write_answer(answer: dict[str, Any]) -> bytes:
    """The answer as one line of ASCII, without the line's end. If one of its numbers cannot be written in JSON, the
    line is an error."""
    try:
        return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii")
    except ValueError:  # an evaluator's values may overflow
        return write_answer(failure("a value is no finite number: this player cannot judge the position", answer))


def failure(error: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
    """The answer to a request that cannot be fulfilled."""
    return {"ok": False, "error": one_line(error, MOST_ERROR)} | _id(request)


def success(request: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"ok": True, **fields} | _id(request)


def _id(request: dict[str, Any] | None) -> dict[str, Any]:
    """The request's id, to be given back; null if it has none or a wrong one."""
    if request is None or "id" not in request:
        return {}
    return {"id": request["id"] if _is_id(request["id"]) else None}


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


# --- checking ---------------------------------------------------------------------------------------------------------


def check_keys(request: dict[str, Any], keys: dict[str, tuple[str, ...]]) -> str:
    """What the request asks for. Raises InputError for an unknown request, for keys that do not belong to it, and for a
    wrong id."""
    if not _is_id(request.get("id")):
        raise InputError(f'"id" is {_json(request["id"])}; it must be a text, a whole number or null')
    do = request.get("do")
    if not isinstance(do, str) or do not in keys:
        what = "is missing" if "do" not in request else f"is {_json(do)}"
        raise InputError(f'"do" {what}; it is one of: {", ".join(keys)}')
    strange = [key for key in request if key not in ("do", "id", *keys[do])]
    if strange:
        raise InputError(f"{do} takes no {short(strange[0])}; it takes: {', '.join(keys[do]) or 'nothing'}")
    return do


def text_of(request: dict[str, Any], key: str, most: int = MOST_NAME) -> str | None:
    value = request.get(key)
    if value is None or (isinstance(value, str) and value.strip() and len(value) <= most):
        return value
    what = f"has {len(value)} characters" if isinstance(value, str) and value.strip() else f"is {_json(value)}"
    raise InputError(f'"{key}" {what}; it must be a text of 1 to {most}')


def needed(request: dict[str, Any], key: str) -> str:
    value = text_of(request, key)
    if value is None:
        raise InputError(f'{request["do"]} needs a "{key}"')
    return value


def texts_of(request: dict[str, Any], key: str, most: int) -> list[str]:
    """A list of texts; empty where there is none."""
    texts = request.get(key)
    if texts is None:
        return []
    if not isinstance(texts, list) or len(texts) > most:
        what = f"has {len(texts)} entries" if isinstance(texts, list) else f"is {_json(texts)}"
        raise InputError(f'"{key}" {what}; it must be a list of at most {most} texts')
    for text in texts:
        if not isinstance(text, str) or not 0 < len(text) <= MOST_NAME:
            raise InputError(f'"{key}" has {_json(text)} in it; texts of 1 to {MOST_NAME} are right')
    return texts


def whole_of(request: dict[str, Any], key: str, least: int, most: int) -> int | None:
    value = request.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and least <= value <= most):
        return value
    raise InputError(f'"{key}" is {_json(value)}; it must be a whole number from {least} to {most}')


def seconds_of(request: dict[str, Any], pace: Pace) -> float | None:
    value = request.get("seconds")
    right = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (right and SHORTEST <= value <= pace.longest):
        return value
    raise InputError(f'"seconds" is {_json(value)}; it must be a number from {SHORTEST} to {pace.longest:g}')


def _json(value: Any) -> str:
    """A value as it stood in the request, shortened."""
    return cut(json.dumps(value))


# --- answering --------------------------------------------------------------------------------------------------------


class Protocol:
    """Answers requests about the games and players of an offer. From any number of threads, each with a `Thinker` of
    its own."""

    def __init__(self, offer: Offer, pace: Pace = USUAL_PACE) -> None:
        self.offer, self.pace = offer, pace
        self._answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "info": self._info,
            "show": self._show,
            "roll": self._roll,
            "move": self._move,
            "write": self._write,
            "read": self._read,
            "replay": self._replay,
        }
        self._thoughts = {"analyze": self._analyze, "choose": self._choose}

    def answer(
        self, request: dict[str, Any], thinker: Thinker | None = None, switch: Switch | None = None
    ) -> dict[str, Any]:
        """The answer; a bad request gets one too. `switch` ends a search early. Without a thinker, requests that need
        one are answered by an error."""
        try:
            do = check_keys(request, KEYS)
            if do in self._answers:
                return success(request, **self._answers[do](request))
            if thinker is None:
                raise InputError(f"{do} is not answered here")
            with switch or Switch():
                return success(request, **self._thoughts[do](request, thinker))
        except InputError as error:
            return failure(str(error), request)
        except Exception:  # a mistake of ours: the door stays open, and who runs the program sees what it was
            traceback.print_exc(file=sys.stderr)
            return failure("internal error: this request met a mistake in the program", request)

    # --- at once

    def _info(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.info

    @functools.cached_property
    def info(self) -> dict[str, Any]:
        """Games and players; the answer never changes. It needs no kernel, because compiling them takes a minute on a
        new machine."""
        games = [self._game_info(name) for name in self.offer.games]
        return {"program": "deltaw", "version": program_version(), "longest": self.pace.longest, "games": games}

    def _game_info(self, name: str) -> dict[str, Any]:
        game, players = self.offer.games[name], self.offer.players[name].values()
        seats = game.rules.num_players
        return {
            "name": name,
            "title": game.title,
            "players": [{"name": player.name, "description": player.description} for player in players],
            "seats": seats,
            "chance": game.rules.max_chance > 0,
            "path": game.rules.repetition != 0 or game.rules.max_plies > 0,
            "board": view.board_of(game),
            "kind": view.kind_of(game),
            "cell_values": view.cell_values(game),
            "shapes": list(game.pieces.shapes.values()) if game.pieces else [],
            "start": view.START,
            "formats": {ending: form.about for ending, form in formats(game).items()},
            "outcomes": list(game.rules.outcomes),
        }

    def _place(self, request: dict[str, Any]) -> tuple[Any, view.Position]:
        game, start, steps = self._course(request)
        return game, view.read(game, start, steps, text_of(request, "dice"))

    def _course(self, request: dict[str, Any]) -> tuple[Game, str, list[str]]:
        """The game, where it began, and the steps since then."""
        game = self.offer.game(needed(request, "game"))
        return game, text_of(request, "position", MOST_POSITION) or view.START, texts_of(request, "steps", MOST_STEPS)

    def _show(self, request: dict[str, Any]) -> dict[str, Any]:
        return view.show(*self._place(request))

    def _roll(self, request: dict[str, Any]) -> dict[str, Any]:
        seed = whole_of(request, "seed", 0, LARGEST_SEED)
        game, place = self._place(request)
        if view.outcome(game, place.course)[0] or game.rules.num_chance(place.state) == 0:
            raise InputError(f"there is nothing to roll in {short(place.text)}")
        seed = secrets.randbits(62) if seed is None else seed
        chance = int(pick_chance(game.rules, place.state, np.int64(seed), np.int64(0), np.int64(0)))
        return view.show(game, view.after(game, place.course, Event(True, chance)))

    def _move(self, request: dict[str, Any]) -> dict[str, Any]:
        text = needed(request, "move")
        game, place = self._place(request)
        _check_decision(game, place)
        event = read_event(game, place.course, text)
        shown = view.show(game, view.after(game, place.course, event))
        return shown | {"move": game.move_text(place.state, event.code)}

    # --- whole games

    def _write(self, request: dict[str, Any]) -> dict[str, Any]:
        game, place = self._place(request)
        start, seats = view.read(game, self._course(request)[1]).state, game.rules.num_players
        names = texts_of(request, "players", seats) or list(view.SEAT_NAMES[:seats])
        if len(names) < seats:
            raise InputError(f'"players" has {len(names)} names; {game.name} has {seats} seats')
        first = int(game.rules.seat(start))
        players = tuple(names[(first + i) % seats] for i in range(seats))
        record = GameRecord(start, players, place.course.events, payoffs_of(game, start, place.course))
        return {"text": _format(game, text_of(request, "format") or JSON_LINES).write(game, [record])}

    def _read(self, request: dict[str, Any]) -> dict[str, Any]:
        game = self.offer.game(needed(request, "game"))
        ending, text = text_of(request, "format"), text_of(request, "text", MOST_TEXT)
        if text is None:
            raise InputError('read needs a "text"')
        records = _format(game, ending).read(game, text) if ending else _read_any(game, text)
        if not 0 < len(records) <= MOST_GAMES:
            raise InputError(f"the text holds {len(records) or 'no'} games; from 1 to {MOST_GAMES} can be read at once")
        return {"games": [_record(game, record) for record in records]}

    def _replay(self, request: dict[str, Any]) -> dict[str, Any]:
        game, start, steps = self._course(request)
        return {"positions": [view.look(game, place) for place in view.replay(game, start, steps)]}

    # --- with thought

    def _wish(self, request: dict[str, Any]) -> tuple[Offered, Wish]:
        player = self.offer.player(needed(request, "game"), text_of(request, "player"))
        depth, plies = whole_of(request, "depth", 1, DEEPEST), whole_of(request, "plies", 1, 2)
        seconds = seconds_of(request, self.pace)
        if seconds is None:
            seconds = self.pace.usual if depth is None else self.pace.longest
        return player, Wish(seconds, depth, plies)

    def _analyze(self, request: dict[str, Any], thinker: Thinker) -> dict[str, Any]:
        game, place = self._place(request)
        player, wish = self._wish(request)
        top = whole_of(request, "top", 1, game.rules.max_moves)
        over, result = view.outcome(game, place.course)
        thought = Thought(result, (), 0, 0.0) if over else thinker.analyze(player, place.course, wish)
        ranked = [
            {
                "move": game.move_text(place.state, move.move),
                "value": _rounded(move.value),
                "distance": move.distance,
                "chances": None if move.chances is None else [_rounded(p) for p in move.chances],
                "line": line_texts(game, place.state, move.line),
                "depth": move.depth,
            }
            for move in thought.moves[:top]
        ]
        return view.show(game, place) | {"value": _rounded(thought.value), "ranked": ranked} | _effort(thought)

    def _choose(self, request: dict[str, Any], thinker: Thinker) -> dict[str, Any]:
        game, place = self._place(request)
        player, wish = self._wish(request)
        _check_decision(game, place)
        thought = thinker.choose(player, place.course, wish)
        best = thought.moves[0]
        after = view.python_state(game, game.rules.play(place.state, best.move))
        return {
            "move": game.move_text(place.state, best.move),
            "value": _rounded(thought.value),
            "distance": best.distance,
            "line": line_texts(game, place.state, best.line),
            "position": view.text_of(game, after),
            "depth": best.depth,
        } | _effort(thought)


def _format(game: Game, ending: str) -> GameFile:
    known = formats(game)
    if ending not in known:
        raise InputError(f'"format" is {short(ending)}; games of {game.name} are kept as: {", ".join(known)}')
    return known[ending]


def _read_any(game: Game, text: str) -> list[GameRecord]:
    """The games of a text in whatever format it is. Raises InputError as JSON lines do, or as the first format of the
    game's own does where there is one."""
    problems = []
    for form in formats(game).values():
        try:
            return form.read(game, text)
        except InputError as error:
            problems.append(error)
    raise problems[:2][-1]


def _record(game: Game, record: GameRecord) -> dict[str, Any]:
    """A game for a client: names and payoffs by seat."""
    first, seats = int(game.rules.seat(record.start)), range(game.rules.num_players)
    turns = [(seat - first) % len(seats) for seat in seats]
    return {
        "players": [record.players[turn] for turn in turns],
        "position": view.text_of(game, record.start),
        "steps": [event_text(game, state, event) for state, event in replay(game, record)],
        "payoffs": None if record.payoffs is None else [record.payoffs[turn] for turn in turns],
        "notes": list(record.notes),
    }


def _check_decision(game: Any, place: view.Position) -> None:
    over, value = view.outcome(game, place.course)
    if over:
        raise InputError(f"{short(place.text)} is finished: {value:+g} for the side to move")
    if game.rules.num_chance(place.state) > 0:
        raise InputError(f'{short(place.text)} has no dice yet: roll, or give "dice"')


def _effort(thought: Thought) -> dict[str, Any]:
    return {"nodes": thought.nodes, "seconds": round(thought.seconds, 4)}


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, DIGITS) + 0.0  # no -0.0
