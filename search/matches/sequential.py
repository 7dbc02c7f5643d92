"""A sequential test of strength over pairs of games: play until it is clear which of two hypotheses holds.

A *pair*, two games from the same opening with seats swapped, is one observation x, the mean score of its two games; a
draw scores 1/2. The counts of its five values 0, 1/4, 1/2, 3/4, 1 are the **pentanomial**: its variance, unlike that of
single games, takes into account that openings favour one side. With n pairs of mean m and variance var, and the scores
s0 and s1 that two Elo differences correspond to,

    LLR = n / 2 * [(m - s0)^2 - (m - s1)^2] / var        s(elo) = 1 / (1 + 10^(-elo / 400))

is the generalised log-likelihood ratio of "s1" against "s0" (to first order). The **GSPRT** accepts s1 when it reaches
log 19, and s0 when it falls to -log 19: each error has a probability of about 0.05 = 1/20, since log((1 - 0.05) / 0.05)
= log 19 (A. Wald, "Sequential tests of statistical hypotheses", 1945; M. Van den Bergh, "A practical introduction to
the GSPRT", 2018, for chess programs). It is computed after every pair from MINIMUM on, since fewer pairs say too little
about the variance where most pairs are alike. In simulations of four kinds of pairs and three of bounds, errors were
0.00 to 0.06 from 64 pairs on, and up to 0.26 from 16 pairs on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError

LIMIT = math.log(19.0)
"""the log-likelihood ratio at which either hypothesis is accepted"""
MINIMUM = 64
"""pairs before the first decision"""
UNSEEN = 1e-3
"""count of a value that no pair has had, in the variance: so the variance is not 0 where all pairs are alike"""
PAIR_SCORES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


class Hypotheses(NamedTuple):
    """Elo differences of the first player."""

    elo0: float
    elo1: float


def check_hypotheses(hypotheses: Hypotheses) -> None:
    """InputError unless both are finite and the first is the smaller."""
    elo0, elo1 = hypotheses
    if not -math.inf < elo0 < elo1 < math.inf:
        raise InputError(f"a sequential test needs two Elo bounds, the smaller one first, not {elo0:g} and {elo1:g}")


def score_of_elo(elo: float) -> float:
    """Expected score of a player who is `elo` stronger."""
    return 1.0 / (1.0 + 10.0 ** (-elo / 400.0))


def pentanomial(results: np.ndarray) -> tuple[int, int, int, int, int]:
    """How many pairs scored 0, 1/4, 1/2, 3/4, 1; `results` [2P]: outcomes of the games, of which the sign counts."""
    points = np.sign(np.asarray(results)).astype(np.int64).reshape(-1, 2).sum(axis=1)
    none, quarter, half, most, every = np.bincount(points + 2, minlength=5).tolist()
    return none, quarter, half, most, every


def moments(counts: Sequence[int]) -> tuple[float, float]:
    """Mean score of a pair, and its variance; values that no pair has had count UNSEEN in the variance."""
    numbers = np.asarray(counts, float)
    mean = float(numbers @ PAIR_SCORES / numbers.sum())
    padded = np.where(numbers > 0, numbers, UNSEEN)
    middle = padded @ PAIR_SCORES / padded.sum()
    return mean, float(padded @ (PAIR_SCORES - middle) ** 2 / padded.sum())


def log_likelihood_ratio(counts: Sequence[int], hypotheses: Hypotheses) -> float:
    """LLR = n / 2 * [(m - s0)^2 - (m - s1)^2] / var; 0 without pairs."""
    pairs = sum(counts)
    if pairs == 0:
        return 0.0
    mean, variance = moments(counts)
    s0, s1 = (score_of_elo(elo) for elo in hypotheses)
    return pairs / 2.0 * ((mean - s0) ** 2 - (mean - s1) ** 2) / variance


def accepted(counts: Sequence[int], hypotheses: Hypotheses) -> float | None:
    """The Elo difference that the test accepts after these pairs; None: play on."""
    if sum(counts) < MINIMUM:
        return None
    ratio = log_likelihood_ratio(counts, hypotheses)
    if ratio >= LIMIT:
        return hypotheses.elo1
    return hypotheses.elo0 if ratio <= -LIMIT else None
