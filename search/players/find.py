"""Players by the names that people give them (`search/players/spec.py`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import Leaf
from deltaw.search.evaluators.named import FILES, compiled, find_evaluator, leaf_of, shipped
from deltaw.search.evaluators.onnx_file import OnnxEvaluator
from deltaw.search.players.players import GNUBG, PERFECT, RANDOM, EvaluatorPlayer, Player, RandomPlayer, RankPlayer
from deltaw.search.players.plies import CANDIDATES, ply_label
from deltaw.search.players.spec import PlayerSpec, parse_player


def player_names(game: Game) -> list[str]:
    """Names that `find_player` knows, besides files."""
    gnubg = [GNUBG] if game.name == "backgammon" else []
    perfect = [PERFECT] if game.rules.max_chance == 0 and game.rules.num_players == 2 else []
    return [*shipped(game), *game.baselines, RANDOM, *perfect, *gnubg]


def find_player(
    game: Game, text: str, plies: int = 1, candidates: int = CANDIDATES, threads: int | None = None
) -> Player:
    """The player that `text` names (see `search/players/spec.py`): random, perfect, a baseline, a shipped
    evaluator, an evaluator file, or gnubg; `plies` where the text says nothing about it. Raises InputError."""
    spec = parse_player(text)
    plies = spec.plies or plies
    if plies not in (1, 2):
        raise InputError(f"players look 1 or 2 plies ahead, not {plies}")
    known = player_names(game)
    if spec.name == PERFECT and PERFECT not in known:
        _find_perfect(game)  # says why there is none
    if spec.name not in known and not (os.path.isfile(spec.name) or spec.name.endswith(FILES)):
        raise InputError(
            f"no player {spec.name!r} for {game.name}: name an evaluator file or one of {', '.join(known)}"
        )
    if spec.name in (RANDOM, GNUBG, PERFECT) and spec.name not in game.baselines:
        return _special_player(game, spec, plies, threads)
    evaluator = find_evaluator(game, spec.name)
    if spec.searches:
        if plies > 1:
            raise InputError(f"{text} searches: {plies} plies do not belong to it")
        from deltaw.search.players.searching_player import SearchingPlayer

        return SearchingPlayer(game, compiled(evaluator), spec.label, spec.algorithm, spec.limits, spec.ties, threads)
    return player_of(game, evaluator, spec.label, plies, candidates, threads, spec.ties)


def _special_player(game: Game, spec: PlayerSpec, plies: int, threads: int | None) -> Player:
    """A player that is no evaluator."""
    if spec.settings or (spec.name == PERFECT and plies > 1):
        raise InputError(f"{spec.name} takes no such settings: {spec.settings or f'{plies} plies'}")
    if spec.name == PERFECT:
        return _find_perfect(game, threads)
    if spec.name == GNUBG:
        from deltaw.search.players.gnubg import GnubgPlayer

        return GnubgPlayer(plies)
    if plies > 1:
        raise InputError("random does not look ahead at all: it plays at 1 ply only")
    return RandomPlayer(game)


def _find_perfect(game: Game, threads: int | None = None) -> Player:
    from deltaw.search.players.perfect import PerfectPlayer

    return PerfectPlayer(game, threads)


def player_of(
    game: Game,
    evaluator: Evaluator | Baseline | OnnxEvaluator,
    name: str,
    plies: int = 1,
    candidates: int = CANDIDATES,
    threads: int | None = None,
    ties: bool = False,
) -> Player:
    """A player with this evaluator or baseline; InputError for 2 plies with one that only ranks moves, and for a
    baseline of all players' payoffs."""
    if isinstance(evaluator, Baseline) and evaluator.kind == "payoffs":
        raise InputError(f"{name} says what a position is worth to everybody, which takes a search: try {name}@depth=2")
    if plies == 1 and isinstance(evaluator, Baseline) and evaluator.kind == "rank":
        return RankPlayer(game, evaluator, threads, ties)
    label = Path(name).stem if name.endswith(FILES) else name
    if isinstance(evaluator, OnnxEvaluator):
        from deltaw.search.players.batched import BatchedPlayer

        return BatchedPlayer(game, evaluator, label, plies, candidates, threads=threads, ties=ties)
    leaf = leaf_of(evaluator)
    return EvaluatorPlayer(game, leaf, f"{label}{ply_label(plies)}", plies, candidates, threads=threads, ties=ties)


def leaf_in(player: Player) -> Leaf | None:
    """The evaluator of a player that has values."""
    leaf: Any = getattr(player, "leaf", None)
    return leaf if isinstance(leaf, Leaf) else None
