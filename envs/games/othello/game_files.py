"""Othello's game files: transcripts, and GGF, the Generic Game Format of the GGS server, which NBoard and Edax read and
write.

    f5d6c3d3c4...                                                   transcript, one game a line
    (;GM[Othello]PC[GGS/os]PB[saio]PW[edax]RE[+4.000]TY[8]BO[8 ---...--- *]B[F5/0.5/12]W[D6]...;)
                                                                    GGF: * is black, X is not used

In GGF a move may have its value and seconds behind slashes; a pass is PA. RE is black's discs less white's, with the
empty squares given to the winner. Only 8 x 8 games are read, and only those that begin at the usual start are written
as transcripts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game, GameFile
from deltaw.envs.games.othello import rules
from deltaw.envs.games.othello.notation import format_state, move_text, play_transcript, read_move, write_transcript
from deltaw.envs.record import (
    Event,
    GameRecord,
    begin,
    final_state,
    follow,
    payoffs_of,
    read_lines,
    replay,
    write_lines,
)

COLOURS = ("B", "W")
"""tags of a move, by seat"""
_TAG = re.compile(r"([A-Z]+)\s*\[([^\]]*)\]")


def write_ggf(game: Game, records: Sequence[GameRecord]) -> str:
    """One game a line."""
    return "".join(_written(game, record) + "\n" for record in records)


def _written(game: Game, record: GameRecord) -> str:
    first = int(game.rules.seat(record.start))
    names = [_plain(record.players[(seat - first) % 2]) for seat in range(2)]
    board, side = format_state(record.start).replace("X", "*").split()
    moves = [
        f"{COLOURS[int(game.rules.seat(state))]}"
        f"[{'PA' if event.code == rules.PASS else move_text(state, event.code).upper()}]"
        for state, event in replay(game, record)
    ]
    result = f"RE[{_black_score(game, record):+.3f}]" if record.payoffs is not None else ""
    head = f"GM[Othello]PC[deltaw]PB[{names[0]}]PW[{names[1]}]{result}TY[8]BO[8 {board} {side}]"
    return f"(;{head}{''.join(moves)};)"


def _black_score(game: Game, record: GameRecord) -> float:
    """Discs of a game that was played out; else 64 for a resignation."""
    state = final_state(game, record)
    if game.rules.outcome(state)[0]:
        return float(game.rules.score(state)) * (1 if game.rules.seat(state) == 0 else -1)
    assert record.payoffs is not None
    return 64.0 * record.payoffs[0] * (1 if game.rules.seat(record.start) == 0 else -1)


def _plain(name: str) -> str:
    return re.sub(r"[\[\]()\s]+", " ", name).strip() or "nobody"


def read_ggf(game: Game, text: str) -> list[GameRecord]:
    """All games `(;...;)` of the text; raises InputError with the number of the game and of the move."""
    games = re.findall(r"\(;(.*?);\)", text, re.DOTALL)
    if text.strip() and not games:
        raise InputError("no game in GGF: a game is (;GM[Othello] ... ;)")
    return [_read(game, body, f"game {number}") for number, body in enumerate(games, start=1)]


def _read(game: Game, body: str, where: str) -> GameRecord:
    tags = _TAG.findall(body)
    named = dict(reversed(tags))
    if named.get("GM", "").lower() not in ("othello", "reversi"):
        raise InputError(f"{where} is {named.get('GM', 'nothing')!r}, not Othello")
    start = _start(game, named.get("BO", ""), where)
    course = begin(game, start)
    moves = [(tag, value) for tag, value in tags if tag in COLOURS]
    for number, (tag, value) in enumerate(moves, start=1):
        course = follow(game, course, _event(game, course.state, tag, value, f"{where}, move {number}"))
    seats = [named.get("PB", "black"), named.get("PW", "white")]
    players = tuple(seats if start.seat == 0 else reversed(seats))
    payoffs = payoffs_of(game, start, course) or _resigned(named.get("RE", ""), start.seat)
    return GameRecord(start, players, course.events, payoffs)


def _start(game: Game, board: str, where: str) -> Any:
    size, _, squares = board.partition(" ")
    if size != "8":
        raise InputError(
            f"{where}: its board is {board[:20]!r}; 8, 64 squares of *, O and -, and the side to move are right"
        )
    try:
        return game.read_position(squares)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _event(game: Game, state: Any, tag: str, value: str, where: str) -> Event:
    place = value.split("/")[0].strip()
    if game.rules.outcome(state)[0]:
        raise InputError(f"{where}: {tag}[{value}] comes after the end of the game")
    if tag != COLOURS[int(state.seat)]:
        raise InputError(f"{where}: {tag}[{value}] comes although the other side is to move")
    try:
        return Event(False, read_move(state, place))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _resigned(result: str, first: int) -> tuple[float, ...] | None:
    """Of a game that was broken off: by the sign of its result, if it has one."""
    found = re.match(r"\s*([+-]?\d+(?:\.\d+)?)", result)
    if not found:
        return None
    black = (float(found[1]) > 0) - (float(found[1]) < 0)
    mine = float(black if first == 0 else -black)
    return mine, -mine + 0.0


LINES = GameFile(
    "one game a line, as its moves: f5d6c3",
    lambda game, text: read_lines(game, text, lambda line: play_transcript(line)[1]),
    lambda game, records: write_lines(game, records, write_transcript),
)
GGF = GameFile("the Generic Game Format of GGS, as NBoard and Edax read and write it", read_ggf, write_ggf)
