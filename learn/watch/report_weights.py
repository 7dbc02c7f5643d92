"""The part of a report that shows what an evaluator has learned: its weights on the board, and the largest of those
that have no place there.

    linear     the weight of each feature; with a head over outcome classes the slope of the value
               (`slopes` of learn/watch/tensorboard.py)
    mlp        the mean of dv/dx over positions of its own games: what a little more of an input is worth there; and the
               first layer's units that move the value most, by the standard deviation of their activation times the
               length of their outgoing weights
    n-tuples   the tables whose sum over their placements varies most over those positions, and their largest entries

Letters: N positions, F features, T tables, H units, W integers a state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from deltaw.envs.game import Game
from deltaw.envs.tuples import Table, tables
from deltaw.learn.watch.report_board import (
    Drawing,
    Grid,
    Layout,
    Mark,
    cells_of,
    dense,
    layout_of,
    line_of_cells,
    random_rows,
)
from deltaw.learn.watch.tensorboard import MOST_NAMES, slopes
from deltaw.learn.weights.networks import ACTIVATIONS, network_of
from deltaw.search.evaluators.evaluator import Evaluator

LARGEST = 30
"""features listed beside the board"""
LISTED = 500
"""of a large set, features in the folded table"""
UNITS = 8
"""first-layer units drawn"""
TABLES = 6
"""n-tuples drawn"""
ENTRIES = 3
"""largest entries of each, and as many least ones"""
MOST_POSITIONS = 500
"""over which slopes and deviations are taken"""


# --- features -----------------------------------------------------------------------------------------------------


def sampled(game: Game, rows: np.ndarray) -> np.ndarray:
    """At most about MOST_POSITIONS of the positions `rows` int64 [N, W]; of random games if there are none."""
    return rows[:: max(1, len(rows) // MOST_POSITIONS)] if len(rows) else random_rows(game, MOST_POSITIONS)


def feature_weights(evaluator: Evaluator, rows: np.ndarray) -> dict[str, Any] | None:
    """None where there are no features, or more than could be drawn."""
    game, features, mlp = evaluator.game, evaluator.features, evaluator.description.kind == "mlp"
    if evaluator.description.kind == "ntuple" or features.num_features > MOST_NAMES:
        return None
    x, drawing = dense(game, features, sampled(game, rows)), Drawing(game, features)
    worth = mean_gradient(evaluator, x) if mlp else slopes(evaluator, np.arange(features.num_features)).astype(float)
    spread, drawn = x.std(axis=0), drawing.drawn
    largest_first = np.argsort(-np.abs(worth), kind="stable")
    without_place = [i for i in largest_first if i not in drawn and spread[i] > 0][:LARGEST]
    others = [(drawing.names[i], worth[i], spread[i]) for i in without_place]
    numbers = [(drawing.names[i], f"{worth[i]:+.4f}", f"{spread[i]:.3f}") for i in largest_first[:LISTED]]
    return {
        "meaning": _meaning(evaluator, len(x)),
        "grids": drawing.grids(worth, drawing.largest(worth)),
        "others": others,
        "largest": [("feature", "weight", "standard deviation"), *numbers],
        "units": _units(evaluator, x, drawing) if mlp else [],
    }


def _meaning(evaluator: Evaluator, positions: int) -> str:
    description = evaluator.description
    if description.kind == "mlp":
        return (
            f"What a little more of each input adds to the value, mean over {positions:,} positions of its own games."
        )
    if description.head == "classes":
        return "What each feature adds to the value where all outcomes are equally likely."
    return f"What each feature adds to the sum{' (before tanh)' if description.head == 'tanh' else ''}."


def mean_gradient(evaluator: Evaluator, x: np.ndarray) -> np.ndarray:
    """float64 [F]: mean of dv/dx over inputs x float32 [N, F], in outcome units."""
    inputs = torch.from_numpy(x).requires_grad_(True)
    network_of(evaluator).values(inputs).sum().backward()
    assert inputs.grad is not None
    return inputs.grad.double().mean(dim=0).numpy()


def _units(evaluator: Evaluator, x: np.ndarray, drawing: Drawing) -> list[dict[str, Any]]:
    """The units that move most."""
    importance = unit_importance(evaluator, x)
    best = np.argsort(-importance, kind="stable")[:UNITS]
    weight = evaluator.tensors["weight0"].astype(float)[:, best]
    largest = drawing.largest(weight)
    return [
        {
            "number": unit,
            "importance": importance[unit],
            "grids": drawing.grids(column, largest, small=True),
            "strongest": [(drawing.names[i], column[i]) for i in np.argsort(-np.abs(column), kind="stable")[:3]],
        }
        for column, unit in zip(weight.T, best, strict=True)
    ]


def unit_importance(evaluator: Evaluator, x: np.ndarray) -> np.ndarray:
    """float64 [H]: standard deviation of each first-layer activation over x [N, F], times the length of its outgoing
    weights."""
    tensors = evaluator.tensors
    before = x @ tensors["weight0"] + tensors["bias0"]
    after = ACTIVATIONS[evaluator.description.activation]()(torch.from_numpy(before)).double().numpy()
    return after.std(axis=0) * np.linalg.norm(tensors["weight1"].astype(float), axis=1)


# --- n-tuples -----------------------------------------------------------------------------------------------------


def table_weights(evaluator: Evaluator, rows: np.ndarray) -> dict[str, Any] | None:
    """None where the evaluator is no n-tuple network."""
    game, description = evaluator.game, evaluator.description
    if description.kind != "ntuple":
        return None
    spec, weight, rows = description.spec, evaluator.tensors["weight0"][:, 0], sampled(game, rows)
    spread = table_sums(evaluator, rows).std(axis=0)
    known = list(tables(spec))
    layout = layout_of(game) if game.board is not None else line_of_cells(game)
    best = [
        {
            "number": t,
            "cells": len(known[t].placements[0]),
            "places": len(known[t].placements),
            "spread": spread[t],
            "grids": _entries(layout, known[t], weight, spec),
        }
        for t in np.argsort(-spread, kind="stable")[:TABLES]
    ]
    return {
        "number": len(known),
        "weights": len(weight),
        "used": np.count_nonzero(weight),
        "per_seat": spec[2] == 2,
        "positions": len(rows),
        "legend": cell_legend(game),
        "best": best,
    }


def cell_legend(game: Game) -> str:
    """What the game's file says of the numbers that n-tuples see."""
    kernels = dict.fromkeys([game.rules.tuple_cells, game.rules.cells])
    texts = [" ".join((getattr(k, "py_func", k).__doc__ or "").split()) for k in kernels]
    return " Cells: ".join(text for text in texts if text) or "what the game's kernel `tuple_cells` gives"


def table_sums(evaluator: Evaluator, rows: np.ndarray) -> np.ndarray:
    """float64 [N, T]: what each table adds to the sum of positions `rows` int64 [N, W]."""
    game, spec = evaluator.game, evaluator.description.spec
    cells = cells_of(game, rows, "tuple_cells")
    seats = np.array([game.rules.seat(game.rules.load(r)) for r in rows]) if spec[2] == 2 else np.zeros(len(rows), int)
    weight = evaluator.tensors["weight0"][:, 0].astype(float)
    sums = np.zeros((len(rows), spec[3]))
    for t, table in enumerate(tables(spec)):
        digits = spec[1] ** np.arange(len(table.placements[0]))[::-1]
        for placement in table.placements:
            sums[:, t] += weight[table.first + seats * table.size + cells[:, placement] @ digits]
    return sums


def _entries(layout: Layout, table: Table, weight: np.ndarray, spec: tuple[int, ...]) -> list[Grid]:
    """The largest and least entries of a table: what stands on the cells, and how much that adds."""
    cells = table.placements[0]
    own = weight[table.first : table.first + table.size * spec[2]]
    order = np.argsort(own, kind="stable")
    chosen = [*(int(i) for i in order[::-1][:ENTRIES] if own[i] > 0), *(int(i) for i in order[:ENTRIES] if own[i] < 0)]
    grids = []
    for entry in chosen:
        seat, word = divmod(entry, table.size)
        digits = [str(word // spec[1] ** k % spec[1]) for k in range(len(cells))][::-1]
        mover = (", first to move", ", second to move")[seat] if spec[2] == 2 else ""
        marks = {layout.where(cell): Mark(own[entry], digit) for cell, digit in zip(cells, digits, strict=True)}
        size = 20.0 if layout.columns <= 12 else 14.0
        caption = f"{own[entry]:+.3f}{mover}"
        grids.append(Grid(layout.rows, layout.columns, marks, float(np.abs(own).max()), caption, size, 0.7))
    return grids
