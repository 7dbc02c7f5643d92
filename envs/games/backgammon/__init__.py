"""Backgammon, cubeless money play: rules, notation, features, drawing and the pubeval player.

Actions (for Gymnasium): one action moves one checker by one die, so a turn is up to four actions and a move is a word
of them.

    action = 2 x source + die      source 0..23: the mover's points 1..24, 24: the bar; die 0: the higher one (and every
                                   die of a double), 1: the lower one
    action 50                      no legal move

51 actions in all; the mask admits exactly the beginnings of legal plays, so that the rule of playing as many dice as
possible holds.
"""

from __future__ import annotations

from deltaw.envs.game import Game
from deltaw.envs.games.backgammon import actions, drawing, notation, rules
from deltaw.envs.games.backgammon.features import FEATURE_SETS, features
from deltaw.envs.games.backgammon.match_file import MATCH_FILE
from deltaw.envs.games.backgammon.pubeval import PUBEVAL
from deltaw.envs.rules import make_rules

GAME = Game(
    name="backgammon",
    title="Backgammon",
    win_names={2: "gammon", 3: "backgammon"},
    state=rules.State,
    rules=make_rules(
        rules.State,
        initial=rules.initial,
        seat=rules.seat,
        legal_moves=rules.legal_moves,
        play=rules.play,
        outcome=rules.outcome,
        num_chance=rules.num_chance,
        chance=rules.chance,
        features=features,
        expand=rules.expand,
        cells=rules.cells,
        num_cells=52,
        max_moves=rules.MAX_MOVES,
        max_chance=21,
        outcomes=(-3, -2, -1, 1, 2, 3),
        num_actions=actions.NUM_ACTIONS,
        action_mask=actions.action_mask,
        spell=actions.spell,
        observation_size=actions.OBSERVATION_SIZE,
        observe=actions.observe,
    ),
    feature_sets=FEATURE_SETS,
    default_features="expert",
    parse=notation.parse,
    format=notation.position_id,
    move_text=notation.move_text,
    read_move=notation.read_move,
    chance_text=notation.chance_text,
    read_chance=notation.read_chance,
    ansi=drawing.ansi,
    draw=drawing.draw,
    baselines={"pubeval": PUBEVAL},
    dice="roll",
    probes=(
        ("start", notation.START),
        ("prime against prime", "2LbBADi03QYBMA"),
        ("ace-point game", "trsDADBu2wYAAA"),
        ("race", "2+4GAIBtdwcAAA"),
    ),
    files={".mat": MATCH_FILE},
)
