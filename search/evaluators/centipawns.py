"""Outcome units and centipawns, in which chess programs tell each other what a position is worth.

A value v in [-1, 1] becomes 400 atanh(v) centipawns. A head that ends with tanh is so told by the sum before its tanh,
which is additive as material is, and the baseline `material` by its own pawns (`PAWNS_TO_WIN`). For chances, atanh(v)
is half the logarithm of the odds of a win.
"""

from __future__ import annotations

import math

SCALE = 400.0
"""centipawns that are worth tanh(1) = 0.76 of a win"""
NEARLY_WON = 1.0 - 2.0**-24
"""values beyond this have no finite number of centipawns that a float32 could tell apart"""


def to_centipawns(value: float) -> int:
    return round(SCALE * math.atanh(min(max(value, -NEARLY_WON), NEARLY_WON)))


def from_centipawns(centipawns: float) -> float:
    return math.tanh(centipawns / SCALE)
