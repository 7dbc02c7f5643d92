"""Kuhn poker: three cards, one bet, and already a reason to bluff.

Both players put one chip into the pot and get one card each of Jack, Queen and King. The first player checks or bets
one chip; a bet is called or folded to, and after a check the second player may bet. The higher card wins the pot.

    moves      0 check or fold    1 bet or call
    history    1, and behind it one bit for each move: 1 nothing yet, 2 check, 5 check bet, 11 check bet call

A game is worth the chips that are won. H. W. Kuhn, "A simplified two-person poker", Contributions to the Theory of
Games I (1950): the first player loses 1/18 of a chip a game. He bets with the Jack with any probability up to 1/3, and
with the King three times as often.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from deltaw.envs.card_table import FACE_DOWN, table_picture, table_text
from deltaw.envs.errors import InputError, short
from deltaw.envs.game import Baseline, FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules

CARDS = "?JQK"
NUM_DEALS = 6
CHECK, BET = 0, 1
LETTERS = "pb"
"""of the moves in positions: pass and bet"""
LAST_ON = 5
"""the greatest history after which the game is on"""
HISTORIES = 12


class State(NamedTuple):
    mine: int
    """1 Jack, 2 Queen, 3 King; 0 before the deal"""
    theirs: int
    history: int


@kernel
def initial():
    return State(np.int64(0), np.int64(0), np.int64(1))


@kernel
def seat(state):
    return np.int64(state.history == 2 or state.history == 3 or state.history >= 8)


@kernel
def num_chance(state):
    return NUM_DEALS if state.mine == 0 else 0


@kernel
def chance(state, i):
    mine = np.int64(i // 2)
    theirs = np.int64(i % 2)
    return State(mine + 1, theirs + (theirs >= mine) + 1, state.history), 1.0 / NUM_DEALS


@kernel
def legal_moves(state, out):
    out[0], out[1] = CHECK, BET
    return 2


@kernel
def play(state, move):
    return State(state.theirs, state.mine, state.history << 1 | np.int64(move))


@kernel
def outcome(state):
    """After a fold the mover has won a chip; after a call the pot has two from each."""
    if state.history == 4:
        return True, np.int64(1 if state.mine > state.theirs else -1)
    if state.history == 6 or state.history == 10:
        return True, np.int64(1)
    if state.history > LAST_ON:
        return True, np.int64(2 if state.mine > state.theirs else -2)
    return False, np.int64(0)


@kernel
def features(state, spec, index, value):
    """One input for each of the mover's cards after each history."""
    index[0] = state.mine * HISTORIES + state.history
    value[0] = 1.0
    return 1


@kernel
def cells(state, out):
    """The mover's card and the history."""
    out[0], out[1] = state.mine, state.history


@kernel
def key(state):
    return state.history << 4 | state.mine << 2 | state.theirs


@kernel
def information_key(state):
    return state.history << 4 | state.mine << 2


@kernel
def determinize(state, word):
    """The opponent has one of the other two cards."""
    theirs = np.int64(word % 2) + 1
    return State(state.mine, theirs + (theirs >= state.mine), state.history)


@kernel
def zero(state):
    return 0.0


@kernel
def honest(parent, move, child):
    """Never bluffs: bets and calls with the King alone."""
    return np.float64(move == (parent.mine == 3))


def bits(history: int) -> str:
    """The moves so far, as 0 and 1."""
    return f"{history:b}"[1:]


def parse(text: str) -> State:
    """The cards of the first and the second player, and the moves so far, p and b: `JK pb`; `??` before the deal."""
    found = re.fullmatch(r"\s*(\?\?|[JQK]{2})(?:\s+([pb]{0,3}))?\s*", text)
    cards, moves = (found[1], found[2] or "") if found else ("", "")
    history = int("1" + "".join(str(LETTERS.index(letter)) for letter in moves), 2)
    possible = history <= LAST_ON + 2 or history in (10, 11)
    if not found or not possible or (cards == "??" and moves) or (cards != "??" and cards[0] == cards[1]):
        raise InputError(
            f"{short(text)} is no position: two different cards of J, Q and K, and the moves so far of p and b, such "
            "as JK pb"
        )
    first, second = (CARDS.index(card) for card in cards)
    state = State(first, second, history)
    return state if seat(state) == 0 else State(second, first, history)


def format_state(state: State) -> str:
    cards = (state.mine, state.theirs) if seat(state) == 0 else (state.theirs, state.mine)
    moves = "".join(LETTERS[int(bit)] for bit in bits(state.history))
    return f"{''.join(CARDS[card] for card in cards)} {moves}".strip()


def move_text(state: State, move: int) -> str:
    faces_bet = bits(state.history).endswith("1")
    return (("check", "bet"), ("fold", "call"))[faces_bet][move]


def chance_text(state: State, i: int) -> str:
    return format_state(chance(state, i)[0])


def table(state: State) -> list[tuple[str, str]]:
    """What the mover sees; when the game is over, both cards."""
    moves, words = bits(state.history), []
    for ply, bit in enumerate(moves):
        words.append(move_text(State(0, 0, int("1" + moves[:ply], 2)), int(bit)))
    over = outcome(state)[0] and state.mine > 0
    return [
        ("player", ("first", "second")[seat(state)]),
        ("your card", CARDS[state.mine]),
        ("opponent's", CARDS[state.theirs] if over else FACE_DOWN),
        ("moves", ", ".join(words) or "none yet"),
    ]


GAME = Game(
    name="kuhn_poker",
    title="Kuhn poker",
    state=State,
    rules=make_rules(
        State,
        initial=initial,
        seat=seat,
        legal_moves=legal_moves,
        play=play,
        outcome=outcome,
        num_chance=num_chance,
        chance=chance,
        max_chance=NUM_DEALS,
        only_deals=True,
        features=features,
        cells=cells,
        num_cells=2,
        key=key,
        exact_key=True,
        information_key=information_key,
        determinize=determinize,
        max_moves=2,
        outcomes=(-2, -1, 1, 2),
    ),
    feature_sets={
        "view": FeatureSet(
            "view",
            (0,),
            len(CARDS) * HISTORIES,
            1,
            lambda: [f"{card}_{history:b}" for card in CARDS for history in range(HISTORIES)],
        )
    },
    default_features="view",
    parse=parse,
    format=format_state,
    move_text=move_text,
    chance_text=chance_text,
    ansi=lambda state, color=False: table_text(table(state)),
    draw=lambda state: table_picture(table(state)),
    baselines={
        "honest": Baseline("honest", "rank", honest, "bets and calls with the King alone"),
        "zero": Baseline("zero", "value", zero, "knows nothing; for searches to the end of the game"),
    },
    probes=(("to open with the Queen", "QJ"), ("a Queen that faces a bet", "KQ b")),
)
