"""A league: every player meets every other one, and all get a rating.

Each pairing is a match in pairs with swapped seats (`search/matches/match.py`), and all have the same seed, and so the
same openings. Ratings are Bradley-Terry's (`search/matches/ratings.py`) on the Elo scale, where `random`, which joins
every league, has 0. For the rating, a win counts the same whatever its size. In games with larger outcomes the cross
table shows points a game.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.matches.match import match
from deltaw.search.matches.ratings import Ratings, bradley_terry
from deltaw.search.players.find import find_player, plies_of
from deltaw.search.players.players import RANDOM, Player
from deltaw.search.players.spec import parse_player

GAMES = 100
"""of a pairing, unless said otherwise"""


class LeagueResult(NamedTuple):
    """Ratings and the cross table, strongest first. K players."""

    game: str
    names: tuple[str, ...]
    elo: tuple[float, ...]
    error: tuple[float, ...]
    """standard errors, of the distance to `random`"""
    points: tuple[tuple[float, ...], ...]
    """[K, K]: what the row's player took from the column's, a draw counting half"""
    played: tuple[tuple[int, ...], ...]
    """[K, K]"""
    mean: tuple[tuple[float, ...], ...]
    """[K, K]: points a game of the row's player against the column's"""
    mean_error: tuple[tuple[float | None, ...], ...]
    """[K, K]: its standard error, from pairs; None for a single pair"""
    seed: int
    counts_points: bool = False
    """whether games are won by different numbers of points"""


class Tables(NamedTuple):
    """A league in progress."""

    played: np.ndarray
    """float64 [K, K]"""
    points: np.ndarray
    """float64 [K, K]"""
    mean: np.ndarray
    """float64 [K, K]: points a game"""
    mean_error: np.ndarray
    """float64 [K, K]"""


def league(
    game: Game,
    players: dict[str, Player],
    games_each: int,
    seed: int = 0,
    *,
    noise: float = 0.0,
    opening_plies: int | None = None,
    tables: Tables | None = None,
    progress: Callable[[int], None] | None = None,
) -> LeagueResult:
    """All pairings of `players`, by name, of `games_each` games; the anchor is `random`, or else the first. `progress`
    is called with the number of pairings played. `tables` [K, K] begin as zeros, and hold the results so far if the
    league is broken off."""
    names = list(players)
    if len(names) < 2:
        raise InputError(f"a league needs at least 2 players, not {len(names)}")
    tables = empty_tables(len(names)) if tables is None else tables
    for done, (i, j) in enumerate(pairings(names), 1):
        first, second = players[names[i]], players[names[j]]
        result = match(game, first, second, games_each, seed, noise=noise, opening_plies=opening_plies)
        tables.played[i, j] = tables.played[j, i] = result.games
        tables.points[i, j] = result.score * result.games
        tables.points[j, i] = result.games - tables.points[i, j]
        tables.mean[i, j], tables.mean[j, i] = result.mean, -result.mean
        tables.mean_error[i, j] = tables.mean_error[j, i] = result.standard_error
        if progress is not None:
            progress(done)
    return standings(game, names, tables, seed)


def empty_tables(players: int) -> Tables:
    return Tables(*(np.zeros((players, players)) for _ in Tables._fields))


def anchor_of(names: Sequence[str]) -> int:
    """The player who has 0 Elo."""
    return names.index(RANDOM) if RANDOM in names else 0


def pairings(names: Sequence[str]) -> list[tuple[int, int]]:
    """All pairs i < j, those of the anchor first: all have a rating as soon as it has met everyone."""
    anchor = anchor_of(names)
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    return sorted(pairs, key=lambda pair: anchor not in pair)


def standings(game: Game, names: Sequence[str], tables: Tables, seed: int) -> LeagueResult:
    """The result, from the tables as they are. Raises InputError where some players cannot be compared yet."""
    ratings: Ratings = bradley_terry(tables.played, tables.points, anchor_of(names))
    order = np.argsort(-ratings.elo, kind="stable")
    square = np.ix_(order, order)
    return LeagueResult(
        game.name,
        tuple(names[i] for i in order),
        tuple(ratings.elo[order].tolist()),
        tuple(ratings.error[order].tolist()),
        tuple(map(tuple, tables.points[square].tolist())),
        tuple(map(tuple, tables.played[square].astype(int).tolist())),
        tuple(map(tuple, (tables.mean[square] + 0.0).tolist())),
        tuple(tuple(None if math.isnan(x) else x for x in row) for row in tables.mean_error[square].tolist()),
        seed,
        max(game.rules.outcomes) > 1,
    )


# --- who plays ----------------------------------------------------------------------------------------------------


def find_players(game: Game, texts: Sequence[str], plies: int = 1, threads: int | None = None) -> dict[str, Player]:
    """Players by short names: each text names one as in `deltaw arena`, or a folder and with it all evaluator files
    there. `random` joins. Raises InputError for a folder without any, and for a player named twice."""
    wanted: list[str] = []
    for text in texts:
        wanted += _folder(text) if os.path.isdir(text) else [text]
    if RANDOM not in wanted:
        wanted.append(RANDOM)
    twice = sorted({text for text in wanted if wanted.count(text) > 1})
    if twice:
        raise InputError(f"{twice[0]} is named twice: a player meets others, not itself")
    return {
        name: find_player(game, text, plies_of(text, plies), threads=threads)
        for name, text in zip(short_names(wanted), wanted, strict=True)
    }


def short_names(texts: Sequence[str]) -> list[str]:
    """One name each, all different: a file's without folder and ending; with its folder where two have the same; else
    the text."""
    specs = [parse_player(text) for text in texts]
    labels = [spec.label for spec in specs]
    longer = [f"{Path(spec.name).parent.name}/{spec.label}" for spec in specs]
    names = [label if labels.count(label) == 1 else long for label, long in zip(labels, longer, strict=True)]
    return [name if names.count(name) == 1 else text for name, text in zip(names, texts, strict=True)]


def _folder(text: str) -> list[str]:
    files = sorted(str(file) for file in Path(text).glob("*.safetensors"))
    if not files:
        raise InputError(f"the folder {text} holds no evaluator files (*.safetensors)")
    return files


def cell(result: LeagueResult, i: int, j: int) -> str:
    """What player i took from player j: percent of the points, or points a game where games have sizes."""
    if not result.played[i][j]:
        return "-"
    if result.counts_points:
        return f"{result.mean[i][j]:+.2f}"
    return f"{100 * result.points[i][j] / result.played[i][j]:.0f}"


def rating_text(result: LeagueResult, i: int) -> str:
    return f"{result.elo[i]:+.0f} ± {result.error[i]:.0f} Elo"
