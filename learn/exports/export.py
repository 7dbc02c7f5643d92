"""Turns a run, or any evaluator, into the bytes of a file for other programs.

The file is an evaluator file of deltaw, or ONNX (`learn/exports/onnx_graph.py`). Before it gets its name it is read
back and compared with the trained evaluator (`learn/exports/verify.py`). Golden vectors are written beside it
(`learn/exports/golden.py`).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from deltaw.envs import games
from deltaw.envs.bits import TIE
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import begin_path, make_path, reach
from deltaw.envs.turn import end, random_move, roll
from deltaw.learn.exports.golden import golden_path, sample_for
from deltaw.learn.exports.onnx_graph import Target, onnx_bytes
from deltaw.learn.exports.verify import CLOSE, Agreement, agreement
from deltaw.learn.learner import Learner
from deltaw.learn.run.checkpoint import load_checkpoint
from deltaw.learn.run.config import RunConfig, checked, learner_module
from deltaw.learn.run.start import start_of
from deltaw.learn.workers.backend import Serial
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator, save_evaluator
from deltaw.search.evaluators.named import FILES, shipped
from deltaw.search.evaluators.onnx_file import SUFFIX as ONNX
from deltaw.search.evaluators.onnx_file import load_onnx
from deltaw.search.players.batched import BatchEvaluator

WANTED = "run=FOLDER_OF_A_RUN or from=EVALUATOR, and to=FILE.safetensors or to=FILE.onnx"


def without_folders(trained: dict[str, Any]) -> dict[str, Any]:
    """How it was trained, without the folders of this machine: an opponent may have been a file."""
    return {
        name: Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
        for name, value in trained.items()
    }


def file_bytes(evaluator: Evaluator, suffix: str, target: Target) -> bytes:
    """What is to be written."""
    if suffix == ONNX:
        return onnx_bytes(evaluator, target)
    with tempfile.TemporaryDirectory() as folder:
        save_evaluator(evaluator, Path(folder, "evaluator"))
        return Path(folder, "evaluator").read_bytes()


def check(evaluator: Evaluator, target: Target, data: bytes, suffix: str, positions: int) -> Agreement:
    """What the file, read back and run, and the evaluator say of `positions` positions of its games."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"export{suffix}")
        path.write_bytes(data)
        read: BatchEvaluator
        if suffix == ONNX:
            read = load_onnx(path, evaluator.game, target.encoder(evaluator))
        else:
            read = load_evaluator(path, evaluator.game)
        return agreement(evaluator, read, sample_for(evaluator, target, positions))


def refuse_difference(path: Path, found: Agreement, tolerance: float) -> None:
    """InputError for a file that is not what was trained."""
    if not found.difference <= tolerance:
        raise InputError(
            f"{path} would differ from what was trained by {found.difference:g} in value, more than "
            f"tolerance={tolerance:g}; nothing was written. Large weights round so: "
            "with a larger tolerance= it is accepted"
        )
    if found.misordered:
        raise InputError(
            f"{path} would order {found.misordered} pairs of moves otherwise than what was trained, though their "
            f"values are more than {CLOSE:g} apart; nothing was written"
        )


def report(path: Path, evaluator: Evaluator, found: Agreement, golden: int) -> None:
    print(f"wrote {path}: {evaluator.game.name}, {evaluator.description.kind} {evaluator.description.sizes}")
    print(
        f"on {found.positions} positions of its games values equal the trained ones to {found.difference:.1e}, "
        f"and {found.moves} moves are in the same order"
    )
    if golden:
        print(f"wrote {golden_path(path)}: positions, inputs and outputs to test a reader with")


# --- what is exported ---------------------------------------------------------------------------------------------


def evaluator_named(name: str) -> Evaluator:
    """A file, or a shipped evaluator by its name, GAME_NAME where several games have one called so. Raises
    InputError."""
    if name.endswith(ONNX):
        raise InputError(f"from={name} is an export already; name the evaluator file or the run that it comes from")
    if os.path.isfile(name) or name.endswith(FILES):
        return load_evaluator(name)
    everything = [games.load(game) for game in games.names()]
    known = {f"{game.name}_{short}": path for game in everything for short, path in shipped(game).items()}
    fitting = [
        full for game in everything for short in shipped(game) if name in (short, full := f"{game.name}_{short}")
    ]
    if len(fitting) == 1:
        return load_evaluator(known[fitting[0]])
    if fitting:
        raise InputError(f"from={name} may be {' or '.join(fitting)}: say which")
    if any(name in game.baselines for game in everything):
        raise InputError(f"from={name} is a handmade player: it has no weights to export")
    raise InputError(f"no evaluator {name!r}: name a file or one of {', '.join(known)}")


def evaluator_of_run(folder: Path) -> Evaluator:
    """What the learner in a run's checkpoint has learned."""
    path = folder / "checkpoint.pt"
    if not path.exists():
        raise InputError(
            f"there is no checkpoint {path}; name the folder of a run, such as outputs/backgammon/2026-01-31_12-00-00"
        )
    state = load_checkpoint(path)
    config = checked(OmegaConf.create(state["settings"] | {"backend": "serial"}))  # that of the run may be gone
    learner = _restored(games.load(config.game.name), config, state)
    return learner.evaluator()


def _restored(game: Game, config: RunConfig, state: dict) -> Learner:
    name, options = config.learner
    learner = learner_module(name).make(
        options, start_of(game, config), seed=config.seed, budget=config.games, backend=Serial()
    )
    learner.restore(state["learner"])
    return learner


def random_positions(game: Game, seed: int, n: int) -> np.ndarray:
    """int64 [n, W]: successive unfinished positions of random games, as they are valued: before the dice."""
    rows = np.empty((n, game.rules.width), np.int64)
    fill_positions(game.rules, np.int64(seed), rows, make_path(game.rules), *game.buffers())
    return rows


@kernel
def fill_positions(rules, seed, rows, path, moves, results):
    """`random_positions`."""
    state, game, ply = rules.initial(), np.int64(0), np.int64(0)
    for i in range(len(rows)):
        rules.store(state, rows[i])
        state = roll(rules, state, seed, game, ply)
        child = rules.load(results[random_move(rules, path, state, seed, game, ply, TIE, moves, results)])
        reach(rules, path, state)
        state = child
        ply += 1
        if end(rules, path, state, ply)[0]:
            begin_path(rules, path)
            state, game, ply = rules.initial(), game + 1, np.int64(0)
