"""A league as a game: everybody names a player at the same time, and gets what the league says he takes from the other.

Where A beats B beats C beats A, no rating says whom to choose. Three answers (extra `theory`):

    Nash mixture    the mixture of players that nobody beats on average. There may be many; the one of greatest entropy
                    gives copies of a player equal shares (D. Balduzzi et al., "Re-evaluating evaluation", NeurIPS 2018)
    alpha-rank      how often a population that mutates and selects plays each player, in the long run (S. Omidshafiei
                    et al., "Multi-agent evaluation by evolution", Scientific Reports 9, 2019)
    cycles          three players each of whom beats the next one by more than SIGNIFICANT standard errors

A Nash mixture jumps when results change a little, so it is given with the range that it has over results drawn anew
from their errors.

Letters: K players.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.search.equilibria.normal_form import EXTRA
from deltaw.search.matches.league import LeagueResult

DRAWS = 200
RANGE = (5, 95)
"""percent of the draws between which a share lies"""
SIGNIFICANT = 2.0
POPULATION, SELECTION = 50, 1.0
"""of alpha-rank: how many live, and how strongly they are selected by payoffs, the greatest of which counts as 1"""
LEAST = 1e-300
"""probability of a transition, so that all players can be reached"""


class EmpiricalGame(NamedTuple):
    """What the theory says of a league, in the order of its players."""

    nash: tuple[float, ...]
    """[K]: the mixture of greatest entropy"""
    low: tuple[float, ...]
    high: tuple[float, ...]
    """[K]: the range of each share over results drawn anew"""
    alpha_rank: tuple[float, ...]
    upsets: tuple[tuple[int, int], ...]
    """(winner, loser): who beats whom against the ratings' order"""
    cycles: tuple[tuple[int, int, int], ...]
    """each beats the next one, and the last the first"""


def empirical_game(result: LeagueResult, seed: int = 0) -> EmpiricalGame:
    """Raises InputError without the extra, and for a league of single pairs, whose errors nobody knows."""
    if any(error is None for i, row in enumerate(result.mean_error) for j, error in enumerate(row) if i != j):
        raise InputError("the theory of a league needs errors: at least 4 games a pairing")
    if not all(n for i, row in enumerate(result.played) for j, n in enumerate(row) if i != j):
        raise InputError("the theory of a league needs every pairing")
    payoffs, errors = np.array(result.mean), np.array(result.mean_error, float)
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(DRAWS):
        noise = np.triu(rng.normal(size=payoffs.shape) * np.nan_to_num(errors), 1)
        drawn.append(nash_mixture(payoffs + noise - noise.T))
    low, high = np.percentile(drawn, RANGE, axis=0)
    beats = payoffs > SIGNIFICANT * np.nan_to_num(errors)
    number = range(len(payoffs))
    return EmpiricalGame(
        tuple(nash_mixture(payoffs).tolist()),
        tuple(low.tolist()),
        tuple(high.tolist()),
        tuple(alpha_rank(payoffs / (np.abs(payoffs).max() or 1.0), POPULATION, SELECTION).tolist()),
        tuple((i, j) for i, j in itertools.product(number, number) if i > j and beats[i, j]),
        tuple(
            (i, j, k)
            for i, j, k in itertools.permutations(number, 3)
            if i < min(j, k) and beats[i, j] and beats[j, k] and beats[k, i]
        ),
    )


def nash_mixture(payoffs: np.ndarray) -> np.ndarray:
    """The mixture x [K] of greatest entropy with payoffs x <= 0, for antisymmetric payoffs [K, K].

    By the dual: x is the softmax of payoffs l for the multipliers l >= 0 that make log sum exp(payoffs l) least.
    """
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise InputError(EXTRA) from None
    scaled = payoffs / (np.abs(payoffs).max() or 1.0)

    def dual(multipliers: np.ndarray) -> tuple[float, np.ndarray]:
        levels = scaled @ multipliers
        mixture = np.exp(levels - levels.max())
        total = mixture.sum()
        return float(levels.max() + np.log(total)), -(scaled @ (mixture / total))

    found = minimize(
        dual,
        np.zeros(len(payoffs)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(payoffs),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 100_000},
    )
    levels = scaled @ found.x
    mixture = np.exp(levels - levels.max())
    return np.asarray(mixture / mixture.sum())


def alpha_rank(payoffs: np.ndarray, population: int, selection: float) -> np.ndarray:
    """How often a population of so many, all alike most of the time, plays each strategy [K] of a symmetric game.

    payoffs[r, s] is what r gets against s. One mutant r among the others, who play s, takes over with the probability
    1 / (1 + sum over l of exp(-selection x sum over p <= l of f_r(p) - f_s(p))), l = 1 .. population - 1, where f are
    the mean payoffs while p play r.
    """
    try:
        from quantecon.markov import gth_solve
    except ImportError:
        raise InputError(EXTRA) from None
    own = np.diag(payoffs)
    mutants = np.arange(1, population)[:, None, None]  # [p, r, s]
    others = population - mutants
    advantage = (
        (mutants - 1) * own[:, None] + others * payoffs - (others - 1) * own[None, :] - mutants * payoffs.T
    ) / (population - 1)
    log_terms = -selection * np.cumsum(advantage, axis=0)
    takes_over = np.exp(-np.logaddexp(0.0, np.logaddexp.reduce(log_terms, axis=0)))
    moves = np.maximum(takes_over.T, LEAST) / max(1, len(payoffs) - 1)  # from s to r
    np.fill_diagonal(moves, 0.0)
    np.fill_diagonal(moves, 1.0 - moves.sum(axis=1))
    found: Any = gth_solve(moves)
    return np.asarray(found)


def lines(result: LeagueResult, theory: EmpiricalGame) -> list[str]:
    """Upsets and cycles, in words."""
    names = result.names
    texts = [f"{names[i]} beats {names[j]}, who is rated higher" for i, j in theory.upsets]
    texts += [f"{names[i]} beats {names[j]} beats {names[k]} beats {names[i]}" for i, j, k in theory.cycles]
    return texts or ["nobody beats a player who is rated higher, and there is no cycle"]
