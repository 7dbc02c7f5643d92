"""Players by the names that people give them (`search/players/spec.py`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.leaf import Leaf
from deltaw.search.evaluators.named import FILES, compiled, find_evaluator, leaf_of, shipped
from deltaw.search.evaluators.onnx_file import OnnxEvaluator
from deltaw.search.evaluators.uci_engine import UciEngine
from deltaw.search.players.how import UNSAID, How, check_plies
from deltaw.search.players.players import (
    EQUILIBRIUM,
    GNUBG,
    PERFECT,
    RANDOM,
    EvaluatorPlayer,
    Judge,
    Player,
    RandomPlayer,
    RankPlayer,
)
from deltaw.search.players.plies import CANDIDATES, ply_label
from deltaw.search.players.spec import PlayerSpec, parse_player


def player_names(game: Game) -> list[str]:
    """Names that `find_player` knows, besides files."""
    gnubg = [GNUBG] if game.name == "backgammon" else []
    perfect = [PERFECT] if game.rules.max_chance == 0 and game.rules.num_players == 2 else []
    equilibrium = [EQUILIBRIUM] if game.rules.hidden and game.rules.num_players == 2 else []
    return [*shipped(game), *game.baselines, RANDOM, *perfect, *equilibrium, *gnubg]


def find_player(
    game: Game, text: str, plies: int = 1, candidates: int = CANDIDATES, threads: int | None = None
) -> Player:
    """The player that `text` names (see `search/players/spec.py`): random, perfect, equilibrium, a baseline, a shipped
    evaluator, an evaluator file, a UCI engine, or gnubg; `plies` where the text says nothing about it. Raises
    InputError."""
    spec = parse_player(text)
    how, known = spec.how.or_plies(plies)._replace(candidates=candidates), player_names(game)
    if spec.name == PERFECT and PERFECT not in known:
        _find_perfect(game)  # says why there is none
    if spec.name not in known and not (os.path.isfile(spec.name) or spec.name.endswith(FILES) or spec.is_uci):
        raise InputError(
            f"no player {spec.name!r} for {game.name}: name an evaluator file or one of {', '.join(known)}"
        )
    if spec.name in (RANDOM, GNUBG, PERFECT, EQUILIBRIUM) and spec.name not in game.baselines:
        return _special_player(game, spec, how.plies or plies, threads)
    if how.searches and plies > 1:
        raise InputError(f"{text} searches: {plies} plies do not belong to it")
    return player_of(game, find_evaluator(game, spec.name), spec.label, how, threads)


def plies_of(text: str, plies: int) -> int:
    """So many plies, if the player that `text` names looks ahead by plies; else 1."""
    spec = parse_player(text)
    return 1 if spec.how.searches or spec.is_uci or spec.name in (RANDOM, PERFECT, EQUILIBRIUM) else plies


def _special_player(game: Game, spec: PlayerSpec, plies: int, threads: int | None) -> Player:
    """A player that is no evaluator."""
    check_plies(plies)
    if spec.settings or (spec.name in (PERFECT, EQUILIBRIUM) and plies > 1):
        raise InputError(f"{spec.name} takes no such settings: {spec.settings or f'{plies} plies'}")
    if spec.name == PERFECT:
        return _find_perfect(game, threads)
    if spec.name == EQUILIBRIUM:
        from deltaw.search.players.equilibrium_player import EquilibriumPlayer

        return EquilibriumPlayer(game)
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
    evaluator: Evaluator | Baseline | OnnxEvaluator | UciEngine,
    name: str,
    how: How = UNSAID,
    threads: int | None = None,
    *,
    fresh: bool = True,
    endings: Callable[[Leaf], Leaf] | None = None,
) -> Judge:
    """A player with this evaluator or baseline, at 1 ply where `how` says nothing.

    `fresh`: a search begins with an empty table. `endings` makes an evaluator by plies exact where something is known.
    Raises InputError for what does not fit.
    """
    if isinstance(evaluator, Evaluator | OnnxEvaluator) and evaluator.game.name != game.name:
        raise InputError(f"the evaluator is for {evaluator.game.name}, not for {game.name}")
    if how.book:
        from deltaw.search.databases.polyglot import load_polyglot
        from deltaw.search.players.book_player import BookPlayer

        player = player_of(game, evaluator, name, how._replace(book=""), threads, fresh=fresh, endings=endings)
        return BookPlayer(game, player, load_polyglot(how.book, game))
    if isinstance(evaluator, UciEngine):
        from deltaw.search.players.uci_player import UciPlayer

        return UciPlayer(evaluator, name, how, threads)
    if how.searches:
        from deltaw.search.players.searching_player import SearchingPlayer

        return SearchingPlayer(game, compiled(evaluator), name, how, threads, fresh=fresh)
    if isinstance(evaluator, Baseline) and evaluator.kind == "payoffs":
        raise InputError(
            f"{evaluator.name} says what a position is worth to everybody, which takes a search: "
            f"try {evaluator.name}@depth=2"
        )
    plies = 1 if how.plies is None else how.plies
    check_plies(plies)
    if how.candidates < 0:
        raise InputError(f"{how.candidates} candidates: at least 1, or 0 for all moves")
    if plies == 1 and isinstance(evaluator, Baseline) and evaluator.kind == "rank":
        return RankPlayer(game, evaluator, threads, how.ties)
    label, limits = Path(name).stem if name.endswith(FILES) else name, (plies, how.candidates, how.margin)
    if isinstance(evaluator, OnnxEvaluator) and endings is None:
        from deltaw.search.players.batched import BatchedPlayer

        return BatchedPlayer(game, evaluator, label, *limits, threads=threads, ties=how.ties)
    leaf = leaf_of(evaluator) if endings is None else endings(leaf_of(evaluator))
    return EvaluatorPlayer(game, leaf, f"{label}{ply_label(plies)}", *limits, threads=threads, ties=how.ties)


def leaf_in(player: Player) -> Leaf | None:
    """The evaluator of a player that has values."""
    leaf: Any = getattr(player, "leaf", None)
    return leaf if isinstance(leaf, Leaf) else None
