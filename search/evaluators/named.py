"""Evaluators by name: a file, a shipped checkpoint, or a baseline that lives with its game."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator
from deltaw.search.evaluators.leaf import Leaf, handmade_leaf
from deltaw.search.evaluators.onnx_file import SUFFIX as ONNX
from deltaw.search.evaluators.onnx_file import OnnxEvaluator, load_onnx
from deltaw.search.evaluators.uci_engine import PREFIX as UCI
from deltaw.search.evaluators.uci_engine import UciEngine

FILES = (".safetensors", ONNX)
"""endings of evaluator files"""
DEFAULT = "network"
"""the shipped evaluator that is meant when none is named"""


def shipped(game: Game) -> dict[str, Path]:
    """Names and files of the shipped evaluators of a game: `checkpoints/GAME_NAME.safetensors` is called NAME."""
    folder = Path(str(resources.files("deltaw.checkpoints")))
    prefix = f"{game.name}_"
    return {f.stem.removeprefix(prefix): f for f in sorted(folder.glob(f"{prefix}*.safetensors"))}


def find_evaluator(game: Game, name: str) -> Evaluator | Baseline | OnnxEvaluator | UciEngine:
    """The evaluator called `name`: a baseline of the game, a shipped one, a file (ONNX where it ends so), or a UCI
    engine. Raises InputError with what there is."""
    if name.startswith(UCI):
        return UciEngine(game, name)
    if name in game.baselines:
        return game.baselines[name]
    known = shipped(game)
    if name in known:
        return load_evaluator(known[name], game)
    if name.endswith(ONNX):
        return load_onnx(name, game)
    if os.path.exists(name) or name.endswith(FILES):
        return load_evaluator(name, game)
    raise InputError(
        f"no evaluator {name!r} for {game.name}: name a file or one of {', '.join([*known, *game.baselines])}"
    )


def default_name(game: Game) -> str:
    """The shipped network, another shipped evaluator, or the game's first baseline that gives values; InputError where
    there is none."""
    known = shipped(game)
    if known:
        return DEFAULT if DEFAULT in known else next(iter(known))
    kind = "payoffs" if game.rules.num_players > 2 else "value"
    for name, baseline in game.baselines.items():
        if baseline.kind == kind:
            return name
    raise InputError(f"{game.name} has no evaluator yet: train one, or name a file")


def default_evaluator(game: Game) -> Evaluator | Baseline:
    return compiled(find_evaluator(game, default_name(game)))


def only_by_plies(evaluator: Evaluator | Baseline | OnnxEvaluator | UciEngine) -> bool:
    """Whether this evaluator cannot be called from inside a search: it plays by plies alone."""
    return isinstance(evaluator, OnnxEvaluator) or (isinstance(evaluator, Baseline) and evaluator.kind == "rank")


def compiled(evaluator: Evaluator | Baseline | OnnxEvaluator | UciEngine) -> Evaluator | Baseline:
    """The evaluator, if compiled searches can call it; InputError for one that runs in onnxruntime, or as another
    program."""
    if isinstance(evaluator, UciEngine):
        raise InputError(f"{evaluator.name} is another program, which searches by itself: it evaluates nothing for us")
    if isinstance(evaluator, OnnxEvaluator):
        raise InputError(
            f"{evaluator.name} runs in onnxruntime, many positions at once: it plays at 1 and 2 plies; searches, "
            "luck adjustment and training need the evaluator's .safetensors file"
        )
    return evaluator


def leaf_of(evaluator: Evaluator | Baseline | OnnxEvaluator | UciEngine) -> Leaf:
    """The compiled form of something that gives values; InputError, with the reason, for what only ranks moves or runs
    elsewhere."""
    evaluator = compiled(evaluator)
    if isinstance(evaluator, Evaluator):
        return evaluator.leaf
    if evaluator.kind == "rank":
        raise InputError(
            f"{evaluator.name} only ranks the moves of one position: its scores are no values, so it plays at 1 ply "
            "and gives no equity; use an evaluator with values for deeper search"
        )
    return handmade_leaf(evaluator)
