"""Selective searches as they are defined, in plain Python without windows: what the compiled ones are compared with."""

from __future__ import annotations

import math
from typing import Any


class Slow:
    """The searches as they are defined: plain recursion, values for the mover."""

    def __init__(self, game: Any, evaluator: Any) -> None:
        self.rules, self.buffers, self.evaluator = game.rules, game.buffers, evaluator

    def outcome(self, state: Any) -> float | None:
        over, result = self.rules.outcome(state)
        return float(result) if over else None

    def static(self, state: Any) -> float:
        result = self.outcome(state)
        return float(self.evaluator.function(state)) if result is None else result

    def below(self, state: Any) -> list[tuple[Any, float, bool]]:
        """(child, its sign for the mover, whether the move is noisy)."""
        moves, _ = self.buffers()
        found = []
        for move in moves[: self.rules.legal_moves(state, moves)].tolist():
            child = self.rules.play(state, move)
            sign = 1.0 if self.rules.seat(child) == self.rules.seat(state) else -1.0
            found.append((child, sign, bool(self.rules.noisy(state, move))))
        return found

    def minimax(self, state: Any, depth: int) -> float:
        if depth == 0 or self.outcome(state) is not None:
            return self.static(state)
        return max(sign * self.minimax(child, depth - 1) for child, sign, _ in self.below(state))

    def quiescence(self, state: Any, depth: int, plies: int) -> float:
        if self.outcome(state) is not None or depth == -plies:
            return self.static(state)
        wanted = [(child, sign) for child, sign, noisy in self.below(state) if noisy or depth > 0]
        found = [sign * self.quiescence(child, depth - 1, plies) for child, sign in wanted]
        return max(found + ([self.static(state)] if depth <= 0 else []))

    def singular_extension(self, state: Any, depth: int, left: int, margin: float, reduction: int) -> float:
        if self.outcome(state) is not None or depth == left == 0:
            return self.static(state)
        below = self.below(state)
        quick = [sign * self.minimax(child, max(0, depth - 1 - reduction)) for child, sign, _ in below]
        second, first = ([-math.inf, *sorted(quick)])[-2:]
        favourite = quick.index(first) if left > 0 and first - second > margin else -1
        if depth == 0 and favourite < 0:
            return self.static(state)
        best = second if depth == 0 else -math.inf
        for i, (child, sign, _) in enumerate(below):
            if i == favourite:
                best = max(best, sign * self.singular_extension(child, depth, left - 1, margin, reduction))
            elif depth > 0:
                best = max(best, sign * self.singular_extension(child, depth - 1, left, margin, reduction))
        return best

    def continuation(self, state: Any, depth: int, left: int, plies: int, noisy: bool = False) -> float:
        if depth == 0 and noisy and left > 0:
            depth, left = plies, left - 1
        if depth == 0 or self.outcome(state) is not None:
            return self.static(state)
        return max(
            sign * self.continuation(child, depth - 1, left, plies, loud) for child, sign, loud in self.below(state)
        )

    def pruning(self, state: Any, depth: int, factor: int, quiet: int) -> float:
        if depth == 0 or factor <= 0 or self.outcome(state) is not None:
            return self.quiescence(state, 0, quiet)
        ranked = sorted(self.below(state), key=lambda move: -move[1] * self.static(move[0]))
        kept = enumerate(ranked[:factor], 1)
        return max(sign * self.pruning(child, depth - 1, factor - rank, quiet) for rank, (child, sign, _) in kept)

    def fallible(self, state: Any, depth: int, me: int, p: float) -> float:
        """For the player in seat `me`."""
        sign = 1.0 if self.rules.seat(state) == me else -1.0
        if depth == 0 or self.outcome(state) is not None:
            return sign * self.static(state)
        if chances := self.rules.num_chance(state):
            outcomes = [self.rules.chance(state, i) for i in range(chances)]
            return sum(odds * self.fallible(child, depth, me, p) for child, odds in outcomes)
        found = sorted(self.fallible(child, depth - 1, me, p) for child, _, _ in self.below(state))
        if sign > 0 or len(found) == 1:
            return found[-1 if sign > 0 else 0]
        return p * found[0] + (1 - p) * sum(found[1:]) / (len(found) - 1)
