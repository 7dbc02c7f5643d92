"""A player with an opening book (`search/databases/polyglot.py`): while the book knows the position, one of its moves,
drawn in proportion to their weights by (seed, game, ply); then the moves of another player."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.envs.game import Game
from deltaw.search.databases.polyglot import PolyglotBook
from deltaw.search.players.players import Chosen, Decisions, Judge, Judgement, tie_word


class BookPlayer:
    """Plays from the book, then as `player`."""

    def __init__(self, game: Game, player: Judge, book: PolyglotBook) -> None:
        self.game, self.name, self.player, self.book = game, player.name, player, book

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        chosen = Chosen.room(decisions.rows)
        unknown = np.zeros(len(decisions.rows), bool)
        for i, row in enumerate(decisions.rows):
            state = self.game.unrow(row)
            move = self.book.pick(state, int(tie_word(decisions.keys, i, np.int64(seed))))
            unknown[i] = move is None
            if move is not None:
                chosen.moves[i], chosen.rows[i] = move, self.game.rules.play(state, move)
        if unknown.any():
            chosen.moves[unknown], chosen.rows[unknown] = self.player.choose(decisions.at(unknown), seed)
        return chosen

    def judge(self, state: Any, full: bool = True, path: np.ndarray | None = None) -> Judgement:
        """What the player thinks without the book, which gives moves but no values."""
        return self.player.judge(state, full, path)
