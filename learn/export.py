"""From a run's checkpoint to an evaluator file: `python -m learn.export run=outputs/backgammon/... to=my.safetensors`.

The file is written, read back, and its compiled values are compared with the torch module's (an n-tuple network's with plain sums over its tables) on positions of real games before anything is called done.
"""

from __future__ import annotations

import dataclasses
import functools
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
from envs.tuples import tables
from learn.backend import Serial
from learn.checkpoint import load_checkpoint
from learn.config import RunConfig, checked, learner_module
from learn.hydra_app import check_command_line, one_line_errors
from learn.learner import Learner
from learn.networks import network_of
from learn.selfplay import dense_features
from learn.start import start_of
from search.evaluator import Evaluator, load_evaluator, save_evaluator

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
    difference = compare(evaluator, load_evaluator(str(raw.to), evaluator.game), raw.positions)
    if not difference <= TOLERANCE:
        raise InputError(
            f"{raw.to} differs from what was trained by {difference:g} in value; at most {TOLERANCE:g} is expected"
        )
    print(
        f"wrote {raw.to}: {evaluator.description.kind} {evaluator.description.sizes}; values equal the trained ones on {raw.positions} positions to {difference:.1e}"
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
    learner = learner_module(name).make(
        options, start_of(game, config), seed=config.seed, budget=config.games, backend=Serial()
    )
    learner.restore(state["learner"])
    return learner


def compare(evaluator: Evaluator, read: Evaluator, positions: int) -> float:
    """Largest difference of value between `evaluator`, summed here, and the file's kernels on `positions` positions of random games."""
    game = evaluator.game
    rows = np.empty((positions, game.rules.width), np.int64)
    random_positions(game.rules, np.int64(1), rows, *game.buffers())
    expected = _summed_tables(evaluator, rows) if evaluator.description.kind == "ntuple" else _by_torch(evaluator, rows)
    values, _ = read.values(rows)
    return float(np.abs(values - expected).max())


def _by_torch(evaluator: Evaluator, rows: np.ndarray) -> np.ndarray:
    """Values [n] of `rows` by the torch module."""
    features, network = evaluator.features, network_of(evaluator)
    dense = np.empty((len(rows), features.num_features), np.float32)
    work = (np.empty(features.max_active + 4, np.int32), np.empty(features.max_active + 4, np.float32))
    dense_features(evaluator.game.rules, np.array(features.spec, np.int64), rows, *work, dense)
    with torch.no_grad():
        return network.values(torch.from_numpy(dense)).numpy()


def _summed_tables(evaluator: Evaluator, rows: np.ndarray) -> np.ndarray:
    """Values [n] of `rows` by an n-tuple network, straight from its definition."""
    rules, spec, weight = evaluator.game.rules, evaluator.description.spec, evaluator.tensors["weight0"][:, 0]
    sums = np.full(len(rows), float(evaluator.tensors["bias0"][0]))
    cells = np.empty(rules.num_cells, np.int64)
    for i, row in enumerate(rows):
        state = rules.load(row)
        rules.tuple_cells(state, cells)
        for table in tables(spec):
            own = table.first + (rules.seat(state) * table.size if spec[2] == 2 else 0)
            for placement in table.placements:
                entry = functools.reduce(lambda entry, cell: entry * spec[1] + int(cells[cell]), placement, 0)
                sums[i] += float(weight[own + entry])
    return max(rules.outcomes) * np.tanh(sums) if evaluator.description.head == "tanh" else sums


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
