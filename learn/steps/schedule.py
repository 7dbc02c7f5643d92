"""Step sizes over a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from deltaw.learn.knobs import NotNegative, OneOf, Positive

SCHEDULES = ("constant", "linear", "cosine")
Schedule = Annotated[str, OneOf(SCHEDULES)]


def step_size(kind: str, start: float, end: float, progress: float) -> float:
    """The step size when the fraction `progress` (0 .. 1) of the budget is used.

    `constant`: start; `linear`: straight from start to end; `cosine`: half a cosine from start to end
    (Loshchilov & Hutter 2017, equation 5, one period).
    """
    progress = min(max(progress, 0.0), 1.0)
    if kind == "constant":
        return start
    if kind == "cosine":
        progress = 0.5 - 0.5 * math.cos(math.pi * progress)
    return start + (end - start) * progress


@dataclass
class StepOptions:
    """The options of learners whose step size changes over a run."""

    step_size: Positive = 0.1
    """c"""
    step_size_end: NotNegative = 0.01
    schedule: Schedule = "linear"
    """constant, linear or cosine, over the budget of games"""

    def rate(self, progress: float) -> float:
        """The step size when this fraction of the budget is used."""
        return step_size(self.schedule, self.step_size, self.step_size_end, progress)
