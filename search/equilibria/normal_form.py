"""Games in normal form: everybody chooses a strategy once, unseen, and a table says what each combination is worth.

Dominance, pure equilibria, Pareto optima, welfare and the price of anarchy, the best correlated equilibrium, and the
mixed equilibria of two players, which the library QuantEcon finds (extra `theory`, with SciPy for linear programs).

A *profile* is one strategy for each player, by numbers. Letters: P players.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError

EXTRA = 'this needs QuantEcon, which is an extra: pip install "deltaw[theory]"'
PRECISION = 1e-9
"""of probabilities, and of payoffs as a part of the greatest"""
MOST_PROFILES = 10_000
MOST_STRATEGIES = 12
"""of a player, where mixed equilibria are asked for: 12 a side take a fraction of a second, and each one more twice as
long"""

Profile = tuple[int, ...]


@dataclass(frozen=True)
class NormalForm:
    """The table of a game. Raises InputError where names and numbers do not fit."""

    title: str
    players: tuple[str, ...]
    strategies: tuple[tuple[str, ...], ...]
    """names, of each player"""
    payoffs: np.ndarray
    """float64 [P, strategies of player 0, of player 1, ...]"""

    def __post_init__(self) -> None:
        if len(self.players) < 2 or not all(self.strategies):
            raise InputError(f"{self.title}: a game needs 2 players or more, and a strategy for each")
        for names in (self.players, *self.strategies):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise InputError(f"{self.title}: the name {twice[0]!r} stands for two of the same kind")
        if math.prod(self.shape) > MOST_PROFILES:
            raise InputError(
                f"{self.title} has {math.prod(self.shape):,} combinations of strategies; {MOST_PROFILES:,} are the most"
            )
        if self.payoffs.shape != (len(self.players), *self.shape):
            raise InputError(f"{self.title}: payoffs of shape {self.payoffs.shape} do not fit {self.shape}")
        if not np.isfinite(self.payoffs).all():
            raise InputError(f"{self.title}: a payoff is {self.payoffs[~np.isfinite(self.payoffs)][0]}, not a number")

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of strategies."""
        return tuple(len(names) for names in self.strategies)

    @property
    def tolerance(self) -> float:
        """Differences of payoffs that count as none."""
        return PRECISION * float(np.abs(self.payoffs).max())

    @property
    def profiles(self) -> Iterator[Profile]:
        return itertools.product(*map(range, self.shape))

    def at(self, profile: Profile) -> np.ndarray:
        """Payoffs [P]."""
        return np.moveaxis(self.payoffs, 0, -1)[profile]

    def own(self, player: int) -> np.ndarray:
        """The payoffs of one player, [own strategies, combinations of the others']."""
        return np.moveaxis(self.payoffs[player], player, 0).reshape(self.shape[player], -1)

    def text(self, profile: Profile) -> str:
        return f"({', '.join(names[choice] for names, choice in zip(self.strategies, profile, strict=True))})"

    def restricted(self, kept: Sequence[Sequence[int]]) -> NormalForm:
        """The game in which each player has these strategies alone."""
        names = tuple(tuple(all_names[i] for i in some) for all_names, some in zip(self.strategies, kept, strict=True))
        return NormalForm(self.title, self.players, names, self.payoffs[np.ix_(range(len(self.players)), *kept)])


# --- dominance --------------------------------------------------------------------------------------------------------


class Dominance(NamedTuple):
    """A strategy that its player need not use."""

    player: int
    strategy: int
    by: tuple[float, ...]
    """the mixture of his strategies that does better: a probability for each"""
    strict: bool
    """it does better whatever the others do; else never worse, and sometimes better"""


def dominated(game: NormalForm) -> list[Dominance]:
    """Each dominated strategy once: strictly where it can be, by one strategy where one does."""
    found = (_find_dominance(game, player, strategy) for player, n in enumerate(game.shape) for strategy in range(n))
    return [dominance for dominance in found if dominance is not None]


def _find_dominance(game: NormalForm, player: int, strategy: int) -> Dominance | None:
    own = game.own(player)
    gains = own - own[strategy]
    for strict, better in (
        (True, (gains > game.tolerance).all(axis=1)),
        (False, (gains >= -game.tolerance).all(axis=1) & (gains > game.tolerance).any(axis=1)),
    ):
        if better.any():
            return Dominance(player, strategy, tuple(np.eye(len(own))[int(np.argmax(better))].tolist()), strict)
        if strict and len(own) > 2 and (mixture := _dominating_mixture(gains / (np.abs(gains).max() or 1.0))):
            return Dominance(player, strategy, mixture, strict)
    return None


def _dominating_mixture(gains: np.ndarray) -> tuple[float, ...] | None:
    """A mixture of rows whose least entry is above 0: the one where it is greatest, by linear programming."""
    rows, columns = gains.shape
    found = _linear_program(
        np.append(np.zeros(rows), -1.0),
        limits=np.column_stack([-gains.T, np.ones(columns)]),
        equal=np.append(np.ones(rows), 0.0)[None],
        free=1,
    )
    return tuple(found[:-1].tolist()) if found[-1] > PRECISION else None


def eliminate(game: NormalForm) -> list[Dominance]:
    """Strictly dominated strategies in the order in which they fall out, one round after the other; numbers and
    mixtures are those of the whole game."""
    kept = [list(range(n)) for n in game.shape]
    order: list[Dominance] = []
    while True:
        fallen = [dominance for dominance in dominated(game.restricted(kept)) if dominance.strict]
        if not fallen:
            return order
        for player, strategy, by, strict in fallen:
            mixture = np.zeros(game.shape[player])
            mixture[kept[player]] = by
            order.append(Dominance(player, kept[player][strategy], tuple(mixture.tolist()), strict))
        out = {(dominance.player, dominance.strategy) for dominance in order}
        kept = [[i for i in some if (player, i) not in out] for player, some in enumerate(kept)]


# --- equilibria -------------------------------------------------------------------------------------------------------


def best_replies(game: NormalForm) -> np.ndarray:
    """bool [P, ...]: whether a player's strategy in this profile is a best reply to the others'."""
    return np.array(
        [own >= own.max(axis=player, keepdims=True) - game.tolerance for player, own in enumerate(game.payoffs)]
    )


def pure_equilibria(game: NormalForm) -> list[Profile]:
    everybody = np.argwhere(best_replies(game).all(axis=0))
    return [tuple(map(int, profile)) for profile in everybody]


class Mixed(NamedTuple):
    """An equilibrium of two players."""

    mixtures: tuple[np.ndarray, np.ndarray]
    """probabilities of each player's strategies"""
    payoffs: np.ndarray
    """float64 [2]"""


def mixed_equilibria(game: NormalForm) -> tuple[list[Mixed], bool]:
    """(the extreme equilibria of two players, pure ones first, whether the game is degenerate). A degenerate game may
    have more: where a strategy has more best replies than moves, equilibria can fill whole segments. Raises InputError
    for other numbers of players and for more than MOST_STRATEGIES strategies."""
    if len(game.players) != 2 or max(game.shape) > MOST_STRATEGIES:
        raise InputError(
            f"{game.title}: mixed equilibria are found for 2 players of at most {MOST_STRATEGIES} strategies each, "
            f"not {' x '.join(map(str, game.shape))}"
        )
    theory = _quantecon()
    pairs = [(np.eye(game.shape[0])[i], np.eye(game.shape[1])[j]) for i, j in pure_equilibria(game)]
    if min(game.shape) > 1:
        own = [theory.Player(np.ascontiguousarray(_unit(game.own(player)))) for player in range(2)]
        pairs += theory.vertex_enumeration(theory.NormalFormGame(own))
    found: list[Mixed] = []
    for row, column in pairs:
        if not any(np.allclose(row, one.mixtures[0]) and np.allclose(column, one.mixtures[1]) for one in found):
            found.append(Mixed((row, column), np.array([row @ own @ column for own in game.payoffs])))
    even = len(found) % 2 == 0  # other games have an odd number (R. Wilson, 1971)
    return found, even or any(_is_degenerate(game, one) for one in found)


def _unit(payoffs: np.ndarray) -> np.ndarray:
    """Between 0 and 1, which changes no equilibrium."""
    least, most = payoffs.min(), payoffs.max()
    return (payoffs - least) / (most - least or 1.0)


def _is_degenerate(game: NormalForm, found: Mixed) -> bool:
    """Whether a strategy of this equilibrium has more best replies than strategies that it mixes."""
    row, column = found.mixtures
    worth = game.payoffs[0] @ column, row @ game.payoffs[1]
    replies = [int((own >= own.max() - game.tolerance).sum()) for own in worth]
    mixed = [int((mixture > PRECISION).sum()) for mixture in found.mixtures]
    return replies[1] > mixed[0] or replies[0] > mixed[1]


def correlated_equilibrium(game: NormalForm) -> np.ndarray:
    """The chances [strategies of player 0, ...] with which a trusted third party should tell everybody his strategy, so
    that all obey and the sum of payoffs is greatest (R. Aumann, 1974), by linear programming."""
    limits = []
    for player, n in enumerate(game.shape):
        own = np.moveaxis(game.payoffs[player], player, 0)
        for told, instead in itertools.permutations(range(n), 2):
            gain = np.zeros_like(own)
            gain[told] = own[instead] - own[told]
            limits.append(np.moveaxis(gain, 0, player).ravel())
    welfare, scale = game.payoffs.sum(axis=0), np.abs(game.payoffs).max() or 1.0
    found = _linear_program(
        -welfare.ravel() / scale,
        limits=np.array(limits).reshape(-1, welfare.size) / scale,
        equal=np.ones((1, welfare.size)),
    )
    return found.reshape(game.shape)


# --- what is good for all ---------------------------------------------------------------------------------------------


def pareto_optima(game: NormalForm) -> list[Profile]:
    """Profiles of which none is at least as good for everybody and better for somebody."""
    worths = game.payoffs.reshape(len(game.players), -1)
    return [
        profile
        for profile in game.profiles
        if not np.any(
            (worths >= game.at(profile)[:, None]).all(axis=0) & (worths > game.at(profile)[:, None]).any(axis=0)
        )
    ]


def price_of_anarchy(game: NormalForm, payoffs: Sequence[np.ndarray]) -> float | None:
    """The greatest sum of payoffs divided by that of the worst equilibrium, given the payoffs in equilibria; None where
    there is none, or its sum is not above 0."""
    worst = min((float(worth.sum()) for worth in payoffs), default=0.0)
    return float(game.payoffs.sum(axis=0).max()) / worst if worst > 0 else None


def patience(game: NormalForm, agreed: Profile, threat: Profile) -> float | None:
    """The least discount factor at which players of the repeated game keep to the profile `agreed`, since whoever
    leaves it is answered with the equilibrium `threat` for ever (the grim trigger, J. Friedman 1971): a deviation pays
    once d - a, and costs a - t in every later round. None where the threat frightens somebody not at all."""
    needed = 0.0
    for player, (kept, punished) in enumerate(zip(game.at(agreed), game.at(threat), strict=True)):
        own = np.moveaxis(game.payoffs[player], player, -1)
        best = own[agreed[:player] + agreed[player + 1 :]].max()
        if best > kept + game.tolerance:
            if kept <= punished:
                return None
            needed = max(needed, float((best - kept) / (best - punished)))
    return needed


# --- the extra --------------------------------------------------------------------------------------------------------


def _quantecon() -> Any:
    try:
        from quantecon import game_theory
    except ImportError:
        raise InputError(EXTRA) from None
    return game_theory


def _linear_program(cost: np.ndarray, *, limits: np.ndarray, equal: np.ndarray, free: int = 0) -> np.ndarray:
    """x of least cost with limits x <= 0 and equal x = 1, above 0 but for the last `free` entries."""
    try:
        from scipy.optimize import linprog
    except ImportError:
        raise InputError(EXTRA) from None
    bounds = [(0, None)] * (len(cost) - free) + [(None, None)] * free
    found = linprog(cost, limits, np.zeros(len(limits)), equal, np.ones(len(equal)), bounds, method="highs")
    return np.asarray(found.x)
