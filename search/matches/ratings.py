"""Ratings from many results: the Bradley-Terry model, fitted by minorisation-maximisation.

    P(i beats j) = p_i / (p_i + p_j),        rating_i = 400 log10 p_i

A draw counts as half a win for either side. With W_i the points of player i and n_ij the games of i against j, the step
(D. R. Hunter, "MM algorithms for generalized Bradley-Terry models", Annals of Statistics 32, 2004, equation 3)

    p_i <- W_i / sum over j of n_ij / (p_i + p_j)

raises the likelihood every time and converges wherever the maximum exists. So that it exists for players who won or
lost every game, each two that met are given PRIOR more games, all drawn.

Standard errors are those of the ratings' distance to the anchor, from the information matrix of theta = ln p,

    I_ii = sum over j of n_ij p_i p_j / (p_i + p_j)^2,      I_ij = - n_ij p_i p_j / (p_i + p_j)^2

inverted, without the anchor's row and column, and without the PRIOR games. Draws and pairs from the same opening vary
less than the model assumes, so the errors are rather too large.

Letters: K players.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError

PRIOR = 2
"""games, all drawn, between each two that met"""
PRECISION = 1e-9
"""of ln p, at which the iteration ends"""
MOST_STEPS = 1_000_000
ELO_PER_NATURAL = 400.0 / math.log(10.0)
"""Elo in a unit of ln p"""


class Ratings(NamedTuple):
    """Elo of every player [K]; the anchor has 0."""

    elo: np.ndarray
    error: np.ndarray
    """standard error of the distance to the anchor"""


def bradley_terry(played: np.ndarray, points: np.ndarray, anchor: int = 0, prior: float = PRIOR) -> Ratings:
    """played [K, K]: games of i against j, symmetric; points [K, K]: what i took from them, a draw half. Raises
    InputError where some players never met the others, not even through third ones."""
    _check(played, points, anchor)
    games = played + prior * (played > 0)
    wins = (points + prior / 2.0 * (played > 0)).sum(axis=1)
    strength = np.ones(len(played))
    for _ in range(MOST_STEPS):
        new = wins / (games / (strength[:, None] + strength)).sum(axis=1)
        new /= math.exp(np.log(new).mean())
        change = np.abs(np.log(new / strength)).max()
        strength = new
        if change < PRECISION:
            break
    theta = np.log(strength)
    return Ratings(ELO_PER_NATURAL * (theta - theta[anchor]), ELO_PER_NATURAL * _errors(played, strength, anchor))


def _errors(played: np.ndarray, strength: np.ndarray, anchor: int) -> np.ndarray:
    """Standard errors [K] of ln p_i - ln p_anchor."""
    shared = played * strength[:, None] * strength / (strength[:, None] + strength) ** 2
    information = np.diag(shared.sum(axis=1)) - shared
    others = np.arange(len(played)) != anchor
    errors = np.zeros(len(played))
    errors[others] = np.sqrt(np.diag(np.linalg.inv(information[np.ix_(others, others)])))
    return errors


def _check(played: np.ndarray, points: np.ndarray, anchor: int) -> None:
    if played.shape != points.shape or len(played) < 2 or not 0 <= anchor < len(played):
        raise InputError(f"ratings need at least 2 players and tables of one shape, not {played.shape} {points.shape}")
    if (played != played.T).any() or not np.allclose(points + points.T, played) or played.diagonal().any():
        raise InputError("ratings need games that both sides have played, and points that add up to them")
    reached = np.zeros(len(played), bool)
    reached[anchor] = True
    for _ in played:
        reached |= (played[reached] > 0).any(axis=0)
    if not reached.all():
        raise InputError(
            f"player {int(np.argmin(reached)) + 1} has met nobody that the others have met: no rating compares them"
        )
