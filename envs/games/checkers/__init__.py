"""Checkers (English draughts): rules, features, baselines, notation, game files and drawing."""

from __future__ import annotations

from deltaw.envs.game import Game, Pieces
from deltaw.envs.games.checkers import actions, rules
from deltaw.envs.games.checkers.baselines import BASELINES
from deltaw.envs.games.checkers.drawing import SHAPES, ansi, draw, svg
from deltaw.envs.games.checkers.endings import SLICES
from deltaw.envs.games.checkers.features import FEATURE_SETS, features
from deltaw.envs.games.checkers.notation import clicks, format_state, move_text, parse, pieces_of, read_move
from deltaw.envs.games.checkers.pdn import PDN
from deltaw.envs.games.checkers.rules import MAX_MOVES, SQUARES, State
from deltaw.envs.rules import make_rules

GAME = Game(
    name="checkers",
    title="Checkers",
    state=State,
    rules=make_rules(
        State,
        initial=rules.initial,
        seat=rules.seat,
        legal_moves=rules.legal_moves,
        play=rules.play,
        outcome=rules.outcome,
        features=features,
        expand=rules.expand,
        cells=rules.cells,
        num_cells=SQUARES,
        tuple_values=5,
        key=rules.key,
        noisy=rules.noisy,
        repetition=rules.OCCURRENCES,
        path_plies=rules.DRAWN_AFTER,
        repetition_key=rules.repetition_key,
        reversible=rules.reversible,
        max_moves=MAX_MOVES,
        num_actions=actions.NUM_ACTIONS,
        action_mask=actions.action_mask,
        spell=actions.spell,
        observation_size=actions.OBSERVATION_SIZE,
        observe=actions.observe,
        outcomes=(-1, 0, 1),
    ),
    feature_sets=FEATURE_SETS,
    default_features="squares",
    parse=parse,
    format=format_state,
    move_text=move_text,
    read_move=read_move,
    ansi=ansi,
    draw=draw,
    svg=svg,
    pieces=Pieces((8, 4), SHAPES, pieces_of, clicks),
    baselines=BASELINES,
    probes=(
        ("start", "B:W21-32:B1-12"),
        ("a man up", "B:W21,22,23,25,26,29,30:B1,2,3,6,7,9,10,11"),
        ("won ending", "W:WK20:B23"),
        ("drawn ending", "B:W28:B17"),
    ),
    board=(8, 4),  # the dark squares of each row
    turned=True,
    slices=SLICES,
    files={".pdn": PDN},
)
