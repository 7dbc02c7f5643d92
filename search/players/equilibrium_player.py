"""The player `equilibrium`, for small games with hidden cards: it draws its moves from a strategy that nearly nobody
can exploit (`search/equilibria/`), which it computes first."""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import unit
from deltaw.envs.game import Game
from deltaw.search.equilibria.cfr import DISCOUNTS, Cfr
from deltaw.search.equilibria.tree import exploitability, flatten
from deltaw.search.players.players import EQUILIBRIUM, Chosen, Decisions, tie_word

GOOD_ENOUGH = 0.001
"""exploitability at which it stops to learn, in units of the game's greatest outcome"""
PART, MOST = 50, 5000
"""iterations between two looks, and altogether"""


class EquilibriumPlayer:
    name = EQUILIBRIUM

    def __init__(self, game: Game) -> None:
        """Raises InputError for a game that is no tree of information sets, or too large a one."""
        self.game, flat = game, flatten(game)
        run = Cfr(flat.tree, DISCOUNTS["discounted"])
        while run.iterations < MOST:
            run.run(PART)
            if exploitability(flat.tree, run.average()) <= GOOD_ENOUGH * game.rules.outcomes[-1]:
                break
        self._moves, self._strategy, self._start = flat.moves, run.average(), flat.tree.start
        self._sets = {self._view(state): i for i, state in enumerate(flat.states)}

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        chosen = Chosen.room(decisions.rows)
        for i, row in enumerate(decisions.rows):
            state = self.game.unrow(row)
            first, last = self._start[self._sets[self._view(state)] :][:2]
            drawn = unit(tie_word(decisions.keys, i, np.int64(seed)))
            place = int((np.cumsum(self._strategy[first : last - 1]) <= drawn).sum())
            chosen.moves[i] = self._moves[first + place]
            chosen.rows[i] = self.game.rules.play(state, chosen.moves[i])
        return chosen

    def _view(self, state: object) -> tuple[int, int]:
        return int(self.game.rules.seat(state)), int(self.game.rules.information_key(state))
