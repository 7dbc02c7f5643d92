"""Positions that took a solver long, kept from one process to the next: `GAME.solved` in the data folder, beside the
tables that this machine has built (`search/databases/database.py`).

Most of them are decisions just beyond Connect Four's opening book, which take some seconds each. The file only saves
time: if it is missing, damaged or made with other keys, it is ignored and written again, and if it cannot be written,
nothing but time is lost.

    keys     int64 [n], ascending      class keys (`search/databases/symmetry.py`)
    outcomes int8 [n]                  of perfect play, for the mover
    best     int64 [n, most]           class keys of the best results; missing ones are ABSENT
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.databases.database import (
    OUTCOME,
    Description,
    data_folder,
    mark_of,
    program_version,
    read_table,
    write_table,
)

KIND = "solved"
ABSENT = -1
"""no key: keys are not negative"""


class Known(NamedTuple):
    """The truth about a class of decisions."""

    outcome: int
    best: frozenset[int]
    """class keys of the best results"""


def memory_file(game: Game) -> Path:
    return data_folder() / f"{game.name}.{KIND}"


def load_solved(game: Game) -> dict[int, Known]:
    """What is kept, by class key; nothing where there is no sound file."""
    try:
        description, tensors = read_table(memory_file(game), (KIND,), game)
    except InputError:
        return {}
    shapes = {name: (tensor.dtype.name, tensor.shape[:1], tensor.ndim) for name, tensor in tensors.items()}
    count = tensors["keys"].shape[:1] if "keys" in tensors else ()
    wanted = {"keys": ("int64", count, 1), "outcomes": ("int8", count, 1), "best": ("int64", count, 2)}
    if shapes != wanted or description.mark != mark_of(game, game.symmetries is not None):
        return {}
    rows = zip(*(tensors[name].tolist() for name in ("keys", "outcomes", "best")), strict=True)
    return {key: Known(outcome, frozenset(best) - {ABSENT}) for key, outcome, best in rows}


def keep_solved(game: Game, found: Mapping[int, Known]) -> None:
    """Adds to what is kept."""
    known = dict(sorted((load_solved(game) | dict(found)).items()))
    best = np.full((len(known), max(len(k.best) for k in known.values())), ABSENT, np.int64)
    for row, entry in zip(best, known.values(), strict=True):
        row[: len(entry.best)] = sorted(entry.best)
    tensors: dict[str, np.ndarray] = {
        "keys": np.array(list(known), np.int64),
        "outcomes": np.array([k.outcome for k in known.values()], np.int8),
        "best": best,
    }
    symmetric = game.symmetries is not None
    made = {"version": program_version()}
    description = Description(KIND, game.name, "hard positions", OUTCOME, symmetric, mark_of(game, symmetric), made)
    with contextlib.suppress(InputError):
        write_table(memory_file(game), description, tensors)
