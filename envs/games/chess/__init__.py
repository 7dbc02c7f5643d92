"""Chess and Chess960: rules, features, baselines, notation, game files and drawing."""

from __future__ import annotations

from deltaw.envs.game import Game, Pieces
from deltaw.envs.games.chess import actions, captures, rules
from deltaw.envs.games.chess.baselines import BASELINES
from deltaw.envs.games.chess.drawing import SHAPES, ansi, draw, svg
from deltaw.envs.games.chess.endings import SLICES
from deltaw.envs.games.chess.epd import parse
from deltaw.envs.games.chess.features import FEATURE_SETS, features, weigh_places
from deltaw.envs.games.chess.notation import EXAMPLE, clicks, format_state, move_text, read_move, table
from deltaw.envs.games.chess.pgn import PGN
from deltaw.envs.games.chess.rules import CELLS, MAX_MOVES, State
from deltaw.envs.rules import make_rules

GAME = Game(
    name="chess",
    title="Chess",
    state=State,
    rules=make_rules(
        State,
        initial=rules.initial,
        seat=rules.seat,
        legal_moves=rules.legal_moves,
        play=rules.play,
        outcome=rules.outcome,
        features=features,
        weigh=weigh_places,
        cells=rules.cells,
        num_cells=CELLS,
        tuple_values=13,
        key=rules.key,
        noisy=rules.noisy,
        noisy_moves=captures.noisy_moves,
        gain=captures.gain,
        in_danger=rules.in_check,
        null=rules.null,
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
    default_features="pieces",
    parse=parse,
    format=format_state,
    move_text=move_text,
    read_move=read_move,
    ansi=ansi,
    draw=draw,
    svg=svg,
    pieces=Pieces((8, 8), SHAPES, table, clicks),
    baselines=BASELINES,
    probes=(
        ("start", EXAMPLE),
        ("queen up", "rnb1kbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 3"),
        ("winning rook endgame", "1K1k4/1P6/8/8/8/8/r7/2R5 w - - 0 1"),  # Lucena's position
        ("drawn pawn endgame", "k7/8/1K6/P7/8/8/8/8 w - - 0 1"),  # a rook's pawn, the king in its corner
        ("mate in one", "6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - - 0 1"),
    ),
    engine_options={
        "table_from": 1,
        "order_from": 1,
        "singular_margin": 0.0,
        "null_reduction": 2,
        "danger_extension": 1,
        "late_moves": 3,
    },
    board=(8, 8),
    slices=SLICES,
    files={".pgn": PGN},
)
