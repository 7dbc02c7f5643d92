"""Connect Four, seven columns and six rows: rules, features, notation and drawing."""

from __future__ import annotations

import numpy as np

from deltaw.envs.game import Baseline, Game
from deltaw.envs.games.connect_four import rules
from deltaw.envs.games.connect_four.drawing import ansi, draw
from deltaw.envs.games.connect_four.features import FEATURE_SETS, features, points_1, points_2
from deltaw.envs.games.connect_four.notation import LINES, format_state, move_text, parse
from deltaw.envs.games.connect_four.rules import CELLS, COLUMNS, ROWS, State
from deltaw.envs.rules import make_rules

MIRROR = [row * COLUMNS + COLUMNS - 1 - column for row in range(ROWS) for column in range(COLUMNS)]

GAME = Game(
    name="connect_four",
    title="Connect Four",
    state=State,
    rules=make_rules(
        State,
        initial=rules.initial,
        seat=rules.seat,
        legal_moves=rules.legal_moves,
        play=rules.play,
        outcome=rules.outcome,
        features=features,
        cells=rules.cells,
        num_cells=CELLS,
        tuple_values=4,
        tuple_cells=rules.tuple_cells,
        key=rules.key,
        exact_key=True,
        noisy=rules.noisy,
        null=rules.null,
        score=rules.score,
        max_moves=COLUMNS,
        outcomes=(-1, 0, 1),
    ),
    feature_sets=FEATURE_SETS,
    default_features="lines",
    parse=parse,
    format=format_state,
    move_text=move_text,
    ansi=ansi,
    draw=draw,
    baselines={
        "points_1": Baseline("points_1", "value", points_1, "two and three in open lines, one's own only"),
        "points_2": Baseline("points_2", "value", points_2, "two and three in open lines, mine minus his"),
    },
    probes=(  # the values are known: 1, 1 and 0
        ("start", "/".join(["-" * COLUMNS] * ROWS)),
        ("edge opening", "1"),
        ("opening beside the centre", "3"),
    ),
    board=(ROWS, COLUMNS),
    falls=True,
    solved_from=8,
    symmetries=np.array([range(CELLS), MIRROR], np.int64),
    files={".txt": LINES},
)
