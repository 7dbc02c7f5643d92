"""A chess engine of others as a player (`search/evaluators/uci_engine.py`).

Every decision is asked by itself, as the position in FEN after `ucinewgame`. So a move depends on its position alone,
as with other players, and the engine does not know which positions have occurred before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.envs.errors import InputError, short
from deltaw.envs.games.chess.notation import as_white, format_state, read_move
from deltaw.search.evaluators.centipawns import from_centipawns
from deltaw.search.evaluators.uci_engine import LONGEST, Answer, UciEngine, UciProcess, after
from deltaw.search.players.how import ENGINE, How, Limits
from deltaw.search.players.players import Chosen, Decisions, Judgement
from deltaw.search.players.threads import Workers
from deltaw.search.tree.algorithm import RootMove, SearchResult

SECONDS = 0.1
"""what an engine may think unless a limit is given"""
ORDINARY_FILES = (0, 7)
"""of rooks that castle in ordinary chess"""
KING_FILE = 4


class UciPlayer:
    """Plays what the engine plays. The first process is started now, so that a wrong name is known at once."""

    def __init__(self, engine: UciEngine, name: str, how: How, threads: int | None = None) -> None:
        """Raises InputError where the engine does not run, and for a way of playing that is not its own."""
        if how.ties or how.algorithm not in (None, ENGINE) or (how.plies or 1) > 1:
            raise InputError(f"{name}: a UCI engine takes depth, nodes and seconds; no plies, algorithm or ties")
        self.game, self.name, self.limits = engine.game, name, how.limits
        self._workers: Workers[_Seat] = Workers(threads, lambda: _Seat(engine))
        self._workers.own.start()

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        chosen = Chosen.room(decisions.rows)

        def work(i: int, seat: _Seat) -> None:
            state = self.game.unrow(decisions.rows[i])
            move = self._read(state, self._ask(state, seat.start()).move)
            chosen.moves[i], chosen.rows[i] = move, self.game.rules.play(state, move)

        self._workers.each(work, len(decisions.rows))
        return chosen

    def judge(self, state: Any, full: bool = True, path: np.ndarray | None = None) -> Judgement:
        process, legal = self._workers.own.start(), self.game.moves(state)
        wide = full and process.has("MultiPV")
        answer = self._ask(state, process, len(legal) if wide else 1)
        best = self._read(state, answer.move)
        told = [self._told(state, words) for words in answer.infos.values()]
        first = next((move for move in told if move.move == best), RootMove(best, line=(best,)))
        others = sorted((move for move in told if move.move != best), key=lambda move: -(move.value or 0.0))
        words = answer.infos.get("1", [])
        nodes, depth = (_whole(after(words, name, "0")) for name in ("nodes", "depth"))
        leaf = state
        for move in first.line:
            leaf = self.game.unrow(self.game.row(self.game.rules.play(leaf, move)))
        found = SearchResult(
            best,
            (best,),
            first.value or 0.0,
            first.line,
            leaf,
            nodes,
            depth,
            _whole(after(words, "time", "0")) / 1000,
            complete=False,
            distance=first.distance,
        )
        return Judgement(first.value, (first, *others), search=found)

    def _ask(self, state: Any, process: UciProcess, lines: int = 1) -> Answer:
        if process.has("MultiPV"):
            process.set("MultiPV", str(lines))
        if process.has("UCI_Chess960"):
            process.set("UCI_Chess960", str(is_chess960(state)).lower())
        limits = self.limits
        if limits == Limits():
            limits = Limits(seconds=SECONDS)
        seconds = LONGEST if limits.seconds is None else limits.seconds
        return process.ask(format_state(state), go_words(limits), seconds)

    def _read(self, state: Any, text: str) -> int:
        try:
            return read_move(state, text)
        except InputError as error:
            raise InputError(f"{self.name} wants to play {short(text)} in {format_state(state)}: {error}") from None

    def _told(self, state: Any, words: list[str]) -> RootMove:
        """The move of an `info` line, with value and best play."""
        value, distance = read_score(after(words, "score", ""), words[words.index("score") + 2 :])
        line: list[int] = []
        at = state
        for text in words[words.index("pv") + 1 :]:
            line.append(self._read(at, text))
            at = self.game.unrow(self.game.row(self.game.rules.play(at, line[-1])))
        return RootMove(line[0], value, distance, _whole(after(words, "depth", "0")), line=tuple(line))


class _Seat:
    """A thread's engine."""

    def __init__(self, engine: UciEngine) -> None:
        self._engine = engine
        self._process: UciProcess | None = None

    def start(self) -> UciProcess:
        """The running engine; it is started when it is needed first."""
        if self._process is None:
            self._process = self._engine.start()
        return self._process


def go_words(limits: Limits) -> str:
    words = []
    if limits.depth is not None:
        words.append(f"depth {limits.depth}")
    if limits.nodes is not None:
        words.append(f"nodes {limits.nodes}")
    if limits.seconds is not None:
        words.append(f"movetime {max(round(1000 * limits.seconds), 1)}")
    return " ".join(words)


def read_score(kind: str, words: list[str]) -> tuple[float, int | None]:
    """(value in outcome units, plies to the end of a won or lost game) of `cp 35` or `mate -3`."""
    number = _whole(words[0] if words else "0")
    if kind != "mate":
        return from_centipawns(number), None
    return (1.0, 2 * number - 1) if number > 0 else (-1.0, -2 * number)


def is_chess960(state: Any) -> bool:
    """Whether some castling is not that of ordinary chess, so that the engine must be told."""
    seen = as_white(state)
    castling = [square for square in range(64) if seen.castling >> square & 1]
    kings = [square for square in range(64) if seen.kings >> square & 1]
    ranks = {square // 8 for square in castling}
    odd_king = any(king % 8 != KING_FILE for king in kings if king // 8 in ranks)
    return odd_king or any(square % 8 not in ORDINARY_FILES for square in castling)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0
