"""The part of a report that shows what an evaluator has learned: its weights on the board, and the largest of those
that have no place there.

    linear     the weight of each feature; with a head over outcome classes the slope of the value
               (`slopes` of learn/watch/tensorboard.py)
    mlp        the mean of dv/dx over positions of its own games: what a little more of an input is worth there; and the
               first layer's units that move most: standard deviation of their activation x length of their outgoing
               weights
    n-tuples   the tables whose sum over their placements varies most over those positions, and their largest entries

Letters: N positions, F features, T tables, H units, W integers a state.
"""

from __future__ import annotations

import numpy as np
import torch

from deltaw.envs.game import Game
from deltaw.envs.tuples import Table, tables
from deltaw.learn.watch.report_board import (
    Drawing,
    Layout,
    cells_of,
    dense,
    layout_of,
    line_of_cells,
    random_rows,
    tuple_svg,
)
from deltaw.learn.watch.report_page import bars, details, figure, heading, paragraph, row, shade
from deltaw.learn.watch.report_page import table as html_table
from deltaw.learn.watch.tensorboard import MOST_NAMES, slopes
from deltaw.learn.weights.networks import ACTIVATIONS, network_of
from deltaw.search.evaluators.evaluator import Evaluator

LARGEST = 30
"""features listed beside the board"""
LISTED = 500
"""of a large set, features in the folded table"""
UNITS = 8
"""first-layer units drawn"""
UNIT_WIDTH = 270
"""pixels of a unit's pictures"""
TABLES = 6
"""n-tuples drawn"""
ENTRIES = 3
"""largest entries of each, and as many least ones"""
MOST_POSITIONS = 500
"""over which slopes and deviations are taken"""


def weights_part(evaluator: Evaluator, rows: np.ndarray) -> list[str]:
    """HTML of the evaluator's weights; `rows` int64 [N, W]: positions of its games, if there are any."""
    rows = rows[:: max(1, len(rows) // MOST_POSITIONS)] if len(rows) else random_rows(evaluator.game, MOST_POSITIONS)
    if evaluator.description.kind == "ntuple":
        return _tuples_part(evaluator, rows)
    if evaluator.features.num_features > MOST_NAMES:
        return [paragraph(f"{evaluator.features.num_features:,} features are too many to draw.")]
    return _features_part(evaluator, rows)


# --- features -----------------------------------------------------------------------------------------------------


def _features_part(evaluator: Evaluator, rows: np.ndarray) -> list[str]:
    game, features = evaluator.game, evaluator.features
    x, drawing = dense(game, features, rows), Drawing(game, features)
    mlp = evaluator.description.kind == "mlp"
    worth = mean_gradient(evaluator, x) if mlp else slopes(evaluator, np.arange(features.num_features)).astype(float)
    parts = [paragraph(_explained(evaluator, len(x)), "note")]
    pictures = drawing.pictures(worth, drawing.largest(worth))
    if pictures:
        parts.append(row(pictures))
    parts += _list(worth, x.std(axis=0), drawing)
    return parts + (_units(evaluator, x, drawing) if mlp else [])


def _explained(evaluator: Evaluator, positions: int) -> str:
    description = evaluator.description
    seen = "Orange is good for the side to move, blue bad."
    if description.kind == "mlp":
        return (
            f"What a little more of each input adds to the value, mean over {positions:,} positions of its own games. "
            f"{seen}"
        )
    if description.head == "classes":
        return f"What each feature adds to the value where all outcomes are equally likely. {seen}"
    squeezed = " (before tanh)" if description.head == "tanh" else ""
    return f"What each feature adds to the sum{squeezed}. {seen}"


def mean_gradient(evaluator: Evaluator, x: np.ndarray) -> np.ndarray:
    """float64 [F]: mean of dv/dx over inputs x float32 [N, F], in outcome units."""
    inputs = torch.from_numpy(x).requires_grad_(True)
    network_of(evaluator).values(inputs).sum().backward()
    assert inputs.grad is not None
    return inputs.grad.double().mean(dim=0).numpy()


def _list(worth: np.ndarray, spread: np.ndarray, drawing: Drawing) -> list[str]:
    """Bars of the largest weights without a place on the board, and a folded table of all."""
    drawn = drawing.drawn
    largest_first = np.argsort(-np.abs(worth), kind="stable")
    others = [i for i in largest_first if i not in drawn and spread[i] > 0][:LARGEST]
    parts = []
    if others:
        title = "Largest weights without a place on the board" if drawn else "Largest weights"
        notes = [f"± {spread[i]:.2g} of it" for i in others]
        parts = [heading(title, 3), bars([drawing.names[i] for i in others], [float(worth[i]) for i in others], notes)]
        parts.append(paragraph("± is the standard deviation of the feature over those positions.", "note"))
    lines = [[drawing.names[i], f"{worth[i]:+.4f}", f"{spread[i]:.3f}"] for i in largest_first[:LISTED]]
    summary = f"the {len(lines)} largest of {len(worth)} weights as numbers"
    head = ("feature", "weight", "standard deviation")
    return [*parts, details(summary, html_table(head, lines, numbers=(1, 2)))]


def _units(evaluator: Evaluator, x: np.ndarray, drawing: Drawing) -> list[str]:
    importance = unit_importance(evaluator, x)
    best = np.argsort(-importance, kind="stable")[:UNITS]
    weight = evaluator.tensors["weight0"].astype(float)[:, best]
    parts = [heading(f"First layer: {len(best)} of {len(importance)} units, those that move most", 3)]
    largest = drawing.largest(weight)
    blocks = []
    for k, unit in enumerate(best):
        pictures = row(drawing.pictures(weight[:, k], largest, small=True)) if largest else ""
        strongest = np.argsort(-np.abs(weight[:, k]), kind="stable")[:3]
        words = ", ".join(f"{drawing.names[i]} {weight[i, k]:+.2f}" for i in strongest)
        blocks.append(figure(pictures, f"unit {unit}, moves by {importance[unit]:.2f}: {words}", UNIT_WIDTH))
    return [*parts, row(blocks) if largest else "".join(blocks)]


def unit_importance(evaluator: Evaluator, x: np.ndarray) -> np.ndarray:
    """float64 [H]: standard deviation of each first-layer activation over x [N, F], times the length of its outgoing
    weights."""
    tensors = evaluator.tensors
    before = x @ tensors["weight0"] + tensors["bias0"]
    after = ACTIVATIONS[evaluator.description.activation]()(torch.from_numpy(before)).double().numpy()
    return after.std(axis=0) * np.linalg.norm(tensors["weight1"].astype(float), axis=1)


# --- n-tuples -----------------------------------------------------------------------------------------------------


def _tuples_part(evaluator: Evaluator, rows: np.ndarray) -> list[str]:
    game, spec = evaluator.game, evaluator.description.spec
    weight = evaluator.tensors["weight0"][:, 0]
    sums = table_sums(evaluator, rows)
    spread = sums.std(axis=0)
    known = list(tables(spec))
    best = np.argsort(-spread, kind="stable")[:TABLES]
    seats = "each side to move has weights of its own" if spec[2] == 2 else "both sides share their weights"
    used = np.count_nonzero(weight)
    parts = [
        paragraph(
            f"{len(known)} tables with {len(weight):,} weights, of which {used:,} are not zero; {seats}. Shown are the "
            f"tables whose sums vary most over {len(rows):,} positions of its own games, with their "
            "largest and least entries.",
            "note",
        ),
        paragraph(f"Digits: {cell_legend(game)}", "note"),
    ]
    layout = layout_of(game) if game.board is not None else line_of_cells(game)
    for t in best:
        parts += _table(layout, known[t], int(t), float(spread[t]), weight, spec)
    return parts


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


def _table(
    layout: Layout, table: Table, number: int, spread: float, weight: np.ndarray, spec: tuple[int, ...]
) -> list[str]:
    cells = table.placements[0]
    own = weight[table.first : table.first + table.size * spec[2]]
    order = np.argsort(own, kind="stable")
    chosen = [*(int(i) for i in order[::-1][:ENTRIES] if own[i] > 0), *(int(i) for i in order[:ENTRIES] if own[i] < 0)]
    largest = float(np.abs(own).max())
    size = 20.0 if layout.columns <= 12 else 14.0
    figures = []
    for entry in chosen:
        seat, word = divmod(entry, table.size)
        digits = [str(word // spec[1] ** k % spec[1]) for k in range(len(cells))][::-1]
        mover = (", first to move", ", second to move")[seat] if spec[2] == 2 else ""
        value = float(own[entry])
        figures.append(figure(tuple_svg(layout, cells, digits, shade(value, largest), size), f"{value:+.3f}{mover}"))
    count = len(table.placements)
    places = f"{count} place{'s' if count > 1 else ''}"
    title = f"Table {number}: {len(cells)} cells in {places}, moves the sum by ± {spread:.3f}"
    return [heading(title, 3), row(figures)]
