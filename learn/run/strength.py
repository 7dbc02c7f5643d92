"""How strong is an evaluator? Measured by the arena, during training and at its end."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import NamedTuple

from deltaw.envs.game import Game
from deltaw.learn.run.config import MeasureConfig
from deltaw.search.arena import match
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator, save_evaluator, write_whole
from deltaw.search.players.find import find_player, player_of
from deltaw.search.players.players import EvaluatorPlayer, Player
from deltaw.search.players.spec import parse_search

INTERVAL = 1.96
"""standard errors to either side of a 95 % interval"""

PAST = "past_1_"
"""how the names of past selves begin"""
MEASURE_SEED = 20_260_101
"""dice of the measurements: the same at every point of a curve, and never those of self-play"""


class Strength(NamedTuple):
    opponent: str
    ppg: float
    """points per game (deterministic games: wins minus losses)"""
    standard_error: float
    games: int


class Best(NamedTuple):
    """The strongest headline of a run. It is the largest of many noisy measurements, so in part luck: measure the
    evaluator anew, with other dice, before you quote it."""

    games: int
    strength: Strength

    @property
    def text(self) -> str:
        s = self.strength
        return f"{s.opponent} {s.ppg:+.3f} ± {s.standard_error:.3f} after {self.games:,} games"


def measure(
    game: Game,
    evaluator: Evaluator,
    opponents: list[Player],
    games: int,
    threads: int,
    how: MeasureConfig,
) -> list[Strength]:
    """Matches of `evaluator` against each opponent, at 1 ply and with each of `how.searches`; games in pairs with the
    same dice, unless it always begins."""
    players: list[Player] = [EvaluatorPlayer(game, evaluator.leaf, "", threads=threads)]
    for text in how.searches:
        players.append(player_of(game, evaluator, f"@{text}", parse_search(text), threads))
    results = []
    for opponent in opponents:
        for player in players:
            result = match(
                game, player, opponent, games, MEASURE_SEED, threads=threads, noise=how.noise, first_only=how.first_only
            )
            name = opponent.name + searched_name(player.name)
            results.append(Strength(name, result.mean, result.standard_error, result.games))
    return results


def searched_name(search: str) -> str:
    """What follows the opponent's name where the evaluator searched: _depth_8_ties_random for @depth=8,ties=random."""
    return re.sub(r"\W+", "_", search)


def headline(results: list[Strength], opponents: list[str], how: MeasureConfig) -> Strength | None:
    """The one number of a measurement by which evaluators are compared: the average of the matches against
    `how.against`, which is one of `opponents`, at 1 ply and with all searches that are asked for; None where there is
    nobody to be measured against."""
    if how.against is None:
        return None
    ways = 1 + len(how.searches)
    first = ways * opponents.index(how.against)
    chosen = results[first : first + ways]
    error = math.sqrt(sum(r.standard_error**2 for r in chosen)) / ways
    points = sum(r.ppg for r in chosen) / ways
    return Strength(" and ".join(r.opponent for r in chosen), points, error, sum(r.games for r in chosen))


def named_opponents(game: Game, names: list[str]) -> list[Player]:
    return [find_player(game, name) for name in names]


class PastSelves:
    """Evaluators of the same run at earlier times, kept as files: the opponents that show whether it still improves."""

    def __init__(self, game: Game, folder: Path, most: int) -> None:
        self.game, self.folder, self.most = game, folder, most

    def keep(self, evaluator: Evaluator, games: int) -> None:
        if self.most:
            save_evaluator(evaluator, self.folder / f"games_{games:09d}.safetensors")

    def opponents(self, games: int) -> list[Player]:
        """The past selves nearest to a half, a quarter ... of `games`, each once."""
        kept = {int(f.stem.removeprefix("games_")): f for f in sorted(self.folder.glob("games_*.safetensors"))}
        players: list[Player] = []
        for k in range(1, self.most + 1):
            earlier = [n for n in kept if 0 < n < games]
            if earlier:
                nearest = min(earlier, key=lambda n: abs(n - games / 2**k))
                leaf = load_evaluator(kept.pop(nearest), self.game).leaf
                players.append(EvaluatorPlayer(self.game, leaf, past_name(k)))
        return players


def past_name(k: int) -> str:
    """The past self at 1/2^k of the games."""
    return f"{PAST}{2**k}"


class StrengthLog:
    """The strength curve as a file of JSON lines, one measurement each; survives a resume without repeats."""

    def __init__(self, path: Path, resume_at: int | None) -> None:
        self.path = path
        lines = path.read_text().splitlines() if resume_at is not None and path.exists() else []
        self.records = [r for r in map(json.loads, lines) if r["games"] <= (resume_at or 0)]
        self._write()

    def add(self, games: int, seconds: float, results: list[Strength]) -> None:
        """Append a measurement; it replaces an earlier one after as many games."""
        again = {(games, r.opponent) for r in results}
        self.records = [r for r in self.records if (r["games"], r["opponent"]) not in again]
        for r in results:
            record = {"games": games, "seconds": round(seconds, 2), "opponent": r.opponent}
            self.records.append(
                record | {"ppg": round(r.ppg, 4), "standard_error": round(r.standard_error, 4), "match_games": r.games}
            )
        self._write()

    def _write(self) -> None:
        write_whole(self.path, "".join(json.dumps(r) + "\n" for r in self.records).encode())
