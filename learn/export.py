"""From a run's checkpoint to an evaluator file: `python -m learn.export run=outputs/backgammon/... to=my.safetensors`.

The file is written, read back, and its compiled values are compared with the torch module's on positions of real games before anything is called done.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import hydra
import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf

from envs import games
from envs.bits import TIE, random_word
from envs.chance import roll
from envs.errors import InputError
from envs.game import Game
from envs.kernel import kernel
from learn.checkpoint import load_checkpoint
from learn.config import RunConfig, checked, learner_module
from learn.hydra_app import check_command_line, one_line_errors
from learn.learner import Learner
from learn.networks import Network, network_of
from learn.selfplay import dense_features
from search.evaluator import Evaluator, load_evaluator, save_evaluator
from search.named import find_evaluator

TOLERANCE = 1e-4
"""largest difference of a value between float32 torch and compiled sums, in outcome units"""


def main() -> None:
    """Entry point of `deltaw-export`."""
    check_command_line("export")
    _app()


@hydra.main(version_base="1.3", config_path="pkg://conf", config_name="export")
@one_line_errors
def _app(raw: DictConfig) -> None:
    if not raw.run or not raw.to:
        raise InputError("say what to export and where to: run=FOLDER_OF_A_RUN to=FILE.safetensors")
    if not isinstance(raw.positions, int) or raw.positions < 1:
        raise InputError(f"positions={raw.positions} must be a number of positions, at least 1")
    if not isinstance(raw.note, DictConfig):
        raise InputError(f"note={raw.note} must have names: +note.minutes=12")
    evaluator = evaluator_of_run(Path(str(raw.run)))
    note = OmegaConf.to_container(raw.note)
    assert isinstance(note, dict)
    trained = evaluator.description.trained | {str(name): value for name, value in note.items()}
    evaluator = dataclasses.replace(evaluator, description=dataclasses.replace(evaluator.description, trained=trained))
    save_evaluator(evaluator, str(raw.to))
    difference = compare(network_of(evaluator), load_evaluator(str(raw.to), evaluator.game), raw.positions)
    if not difference <= TOLERANCE:
        raise InputError(
            f"{raw.to} differs from the trained network by {difference:g} in value; at most {TOLERANCE:g} is expected"
        )
    print(
        f"wrote {raw.to}: {evaluator.description.kind} {evaluator.description.sizes}; values equal torch's on {raw.positions} positions to {difference:.1e}"
    )


def evaluator_of_run(folder: Path) -> Evaluator:
    """What the learner in a run's checkpoint has learned."""
    path = folder / "checkpoint.pt"
    if not path.exists():
        raise InputError(
            f"there is no checkpoint {path}; name the folder of a run, such as outputs/backgammon/2026-01-31_12-00-00"
        )
    state = load_checkpoint(path)
    config = checked(OmegaConf.create(state["settings"]))
    learner = _restored(games.load(config.game.name), config, state)
    return learner.evaluator()


def _restored(game: Game, config: RunConfig, state: dict) -> Learner:
    name, options = config.learner
    if config.start_from:
        start = find_evaluator(game, config.start_from)
        assert isinstance(start, Evaluator)
        network = network_of(start)
    else:
        shape = config.evaluator
        network = Network(game, game.features(config.game.features), list(shape.hidden), shape.head, shape.activation)
    learner = learner_module(name).make(options, network, seed=config.seed, budget=config.games, threads=1)
    learner.restore(state["learner"])
    return learner


def compare(network: Network, evaluator: Evaluator, positions: int) -> float:
    """Largest difference of value between the torch module and the evaluator file on `positions` positions of random games."""
    game = evaluator.game
    rows = np.empty((positions, game.rules.width), np.int64)
    random_positions(game.rules, np.int64(1), rows, *game.buffers())
    features = game.features(evaluator.description.features)
    dense = np.empty((positions, features.num_features), np.float32)
    work = (np.empty(features.max_active + 4, np.int32), np.empty(features.max_active + 4, np.float32))
    dense_features(game.rules, np.array(features.spec, np.int64), rows, *work, dense)
    with torch.no_grad():
        expected = network.values(torch.from_numpy(dense)).numpy()
    values, _ = evaluator.values(rows)
    return float(np.abs(values - expected).max())


@kernel
def random_positions(rules, seed, rows, moves, results):
    """Fill rows [N, W] with successive unfinished positions of random games, as they are valued: before the dice."""
    state, game, ply = rules.initial(), np.int64(0), np.int64(0)
    for i in range(len(rows)):
        rules.store(state, rows[i])
        state = roll(rules, state, seed, game, ply)
        n = rules.expand(state, moves, results)
        state = rules.load(results[random_word(seed, game, ply, TIE) % n])
        ply += 1
        over, _ = rules.outcome(state)
        if over:
            state, game, ply = rules.initial(), game + 1, np.int64(0)


if __name__ == "__main__":
    main()
