"""Golden vectors: positions with their inputs and the outputs that are right for them, to test a reader in any
language.

`X.golden.json` stands beside an export `X.onnx` or `X.safetensors`. It is JSON because every language can read it, and
so can a person. Inputs have as many digits as a float32 needs; outputs are computed in float64 and have ten decimals.

    format, game, features      what this is
    tolerance                   an evaluator in float32 is at least this close
    positions   [N]             in the notation of the game, before the dice
    inputs      [N][F]          what the evaluator is given: features, or an n-tuple network's entries [N][P]
    outputs                     name -> [N] or [N][K], named as in the ONNX file
    classes     [K]             what the columns of the chances are worth; missing for a scalar head
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.learn.exports import wildbg
from deltaw.learn.exports.onnx_graph import WILDBG, Target
from deltaw.learn.exports.verify import Reference, Sample, played
from deltaw.search.evaluators.evaluator import Evaluator

DECIMALS = 10
APART = 7
"""positions that are left out between two golden ones: neighbours in a game are alike"""
MORE = (4, 16, 64)
"""times as many positions are played until there are enough races among them"""
TOLERANCE = 1e-6


def golden_path(path: Path) -> Path:
    """Where the golden vectors of the export `path` are."""
    return path.with_suffix(".golden.json")


def golden_text(evaluator: Evaluator, target: Target, count: int) -> str:
    """The golden vectors of an evaluator as JSON, one position a line; `count` positions, fewer where some occur
    twice."""
    game = evaluator.game
    rows = _different(sample_for(evaluator, target, 2 * count * (APART + 1)).rows[:: APART + 1])[:count]
    head: dict[str, Any] = {
        "format": "deltaw golden vectors 1",
        "game": game.name,
        "features": target.inputs or evaluator.description.features,
        "tolerance": TOLERANCE,
    }
    if target.classes:
        head["classes"] = list(target.classes)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines.append(_listed("positions", [game.format(game.unrow(row)) for row in rows]))
    lines.append(_listed("inputs", [_shortest(x) for x in target.encoder(evaluator).encode(rows)]))
    outputs = [_listed(name, _rounded(array)) for name, array in outputs_of(evaluator, target, rows).items()]
    lines.append('"outputs": {\n' + ",\n".join(outputs) + "\n}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def sample_for(evaluator: Evaluator, target: Target, positions: int) -> Sample:
    """Positions that the file can value: of the evaluator's games, for a network of races alone those that are
    races."""
    if target.inputs != wildbg.RACE:
        return played(evaluator, positions)
    for times in MORE:
        sample = played(evaluator, times * positions)
        races = np.flatnonzero(wildbg.is_race(sample.rows))[:positions]
        if len(races) == positions:
            return Sample(sample.rows[races], sample.decisions[races])
    raise InputError(
        f"the evaluator's games have no {positions} positions without contact to check a network of races on; "
        "ask for fewer"
    )


def _different(rows: np.ndarray) -> np.ndarray:
    """Each of `rows` once, in order."""
    return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def outputs_of(evaluator: Evaluator, target: Target, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Outputs of the states `rows` [n, W] by name, as the file gives them, in float64."""
    values, outputs = Reference(evaluator).values(rows)
    if not target.classes:
        return {"value": values}
    columns = [evaluator.description.outcomes.index(worth) for worth in target.classes]
    chances = {target.chances: outputs[:, columns]}
    return chances if target.head == WILDBG else chances | {"value": values}


def _listed(name: str, rows: list[Any]) -> str:
    """`"name": [...]` with a line for every position."""
    return f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"


def _shortest(x: np.ndarray) -> list[float | int]:
    """The numbers of x [F] with the digits that its type needs: 0.2, not 0.20000000298023224."""
    if x.dtype != np.float32:
        return [int(number) for number in x]
    return [int(number) if number == int(number) else float(str(number)) for number in x]


def _rounded(array: np.ndarray) -> list[Any]:
    return np.round(array, DECIMALS).tolist()
