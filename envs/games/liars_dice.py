"""Liar's dice for two with one die each: bids that may be lies, until somebody doubts.

Both players roll a die under a cup. In turn they bid that at least so many dice of the two show a face; a six counts as
every face. Each bid must be higher than the last one: more dice, or as many of a higher face. Instead of bidding a
player may call the opponent a liar. Then the dice are shown, and the bidder wins if his bid is true.

    bids      bit 6 (quantity - 1) + face - 1 for each bid that has been made; the highest one is the last
    moves     the bit of the bid; 12 calls the opponent a liar

OpenSpiel's `liars_dice` has the same rules, and reports that the first player loses 0.0271 a game.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import highest, popcount
from deltaw.envs.card_table import FACE_DOWN, table_picture, table_text
from deltaw.envs.errors import InputError, short
from deltaw.envs.game import Baseline, FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules

FACES, DICE = 6, 2
WILD = 6
BIDS = FACES * DICE
LIAR = BIDS
NUM_DEALS = FACES**DICE


class State(NamedTuple):
    mine: int
    """the mover's die, 1 to 6; 0 before the roll"""
    theirs: int
    bids: int
    called: int
    """1 when the last bid has been doubted, which ends the game"""


@kernel
def initial():
    return State(np.int64(0), np.int64(0), np.int64(0), np.int64(0))


@kernel
def seat(state):
    return np.int64(popcount(state.bids) + state.called & 1)


@kernel
def num_chance(state):
    return NUM_DEALS if state.mine == 0 else 0


@kernel
def chance(state, i):
    return State(np.int64(i // FACES) + 1, np.int64(i % FACES) + 1, state.bids, state.called), 1.0 / NUM_DEALS


@kernel
def next_bid(state):
    """The lowest bid that is allowed; BIDS when there is none."""
    return np.int64(highest(state.bids) + 1) if state.bids else np.int64(0)


@kernel
def legal_moves(state, out):
    n = 0
    for bid in range(next_bid(state), BIDS):
        out[n] = bid
        n += 1
    if state.bids:
        out[n] = LIAR
        n += 1
    return n


@kernel
def play(state, move):
    if move == LIAR:
        return State(state.theirs, state.mine, state.bids, np.int64(1))
    return State(state.theirs, state.mine, state.bids | np.int64(1) << move, state.called)


@kernel
def shows(die, bid):
    """Whether the die counts for this bid."""
    return die == bid % FACES + 1 or die == WILD


@kernel
def outcome(state):
    """When the mover has been called a liar; his was the last bid."""
    if state.called == 0:
        return False, np.int64(0)
    bid = highest(state.bids)
    return True, np.int64(1 if shows(state.mine, bid) + shows(state.theirs, bid) > bid // FACES else -1)


@kernel
def features(state, spec, index, value):
    """`view`: the mover's die and the last bid together, and one input for each bid that has been made."""
    index[0] = state.mine * (BIDS + 1) + next_bid(state)
    value[0] = 1.0
    n = 1
    for bid in range(BIDS):
        if state.bids >> bid & 1:
            index[n] = (FACES + 1) * (BIDS + 1) + bid
            value[n] = 1.0
            n += 1
    return n


@kernel
def cells(state, out):
    """The mover's die, and 1 for each bid that has been made."""
    out[0] = state.mine
    for bid in range(BIDS):
        out[1 + bid] = state.bids >> bid & 1


@kernel
def key(state):
    return state.mine | state.theirs << 3 | state.called << 6 | state.bids << 7


@kernel
def information_key(state):
    return state.mine | state.called << 6 | state.bids << 7


@kernel
def determinize(state, word):
    return State(state.mine, np.int64(word % FACES) + 1, state.bids, state.called)


@kernel
def zero(state):
    return 0.0


@kernel
def honest(parent, move, child):
    """Bids what its own die shows, the least there is, and doubts when a bid would be a lie."""
    if move == LIAR:
        return 0.5
    return 1.0 - move / BIDS if shows(parent.mine, move) and move < FACES else -1.0


def bid_text(bid: int) -> str:
    """Quantity and face: `2x5`."""
    return f"{bid // FACES + 1}x{bid % FACES + 1}"


def parse(text: str) -> State:
    """The dice of the first and the second player, the bids so far, and `liar`: `35 1x3 2x5 liar`; `00` before the
    roll."""
    dice, *bids = text.split() or [""]
    called = bids[-1:] == ["liar"]
    bids = bids[:-1] if called else bids
    codes = [FACES * (int(bid[0]) - 1) + int(bid[2]) - 1 for bid in bids if re.fullmatch("[12]x[1-6]", bid)]
    rising = len(codes) == len(bids) and codes == sorted(set(codes)) and (codes or not called)
    if not rising or not re.fullmatch("[1-6]{2}|00", dice) or (dice == "00" and codes):
        raise InputError(
            f"{short(text)} is no position: two dice, 1 to 6, and rising bids of 1x1 to 2x6, and perhaps liar, such as "
            "35 1x3 2x5 liar"
        )
    state = State(int(dice[0]), int(dice[1]), sum(1 << code for code in codes), int(called))
    return state if seat(state) == 0 else state._replace(mine=state.theirs, theirs=state.mine)


def bids_text(state: State) -> list[str]:
    return [bid_text(bid) for bid in range(BIDS) if state.bids >> bid & 1] + ["liar"] * state.called


def format_state(state: State) -> str:
    first, second = (state.mine, state.theirs) if seat(state) == 0 else (state.theirs, state.mine)
    return " ".join([f"{first}{second}", *bids_text(state)])


def move_text(state: State, move: int) -> str:
    return "liar" if move == LIAR else bid_text(move)


def chance_text(state: State, i: int) -> str:
    return format_state(chance(state, i)[0])


def table(state: State) -> list[tuple[str, str]]:
    """What the mover sees; when the game is over, both dice."""
    return [
        ("player", ("first", "second")[seat(state)]),
        ("your die", str(state.mine or FACE_DOWN)),
        ("opponent's", str(state.theirs) if state.called else FACE_DOWN),
        ("bids", " ".join(bids_text(state)) or "none yet"),
    ]


def view_names() -> list[str]:
    last = ["none", *(bid_text(bid) for bid in range(BIDS))]
    return [f"die_{die}_after_{bid}" for die in range(FACES + 1) for bid in last] + [
        f"bid_{bid_text(bid)}" for bid in range(BIDS)
    ]


GAME = Game(
    name="liars_dice",
    title="Liar's dice",
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
        num_cells=1 + BIDS,
        key=key,
        exact_key=True,
        information_key=information_key,
        determinize=determinize,
        max_moves=BIDS + 1,
        outcomes=(-1, 1),
    ),
    feature_sets={"view": FeatureSet("view", (0,), (FACES + 1) * (BIDS + 1) + BIDS, 1 + BIDS, view_names)},
    default_features="view",
    parse=parse,
    format=format_state,
    move_text=move_text,
    chance_text=chance_text,
    ansi=lambda state, color=False: table_text(table(state)),
    draw=lambda state: table_picture(table(state)),
    baselines={
        "honest": Baseline("honest", "rank", honest, "bids what its die shows"),
        "zero": Baseline("zero", "value", zero, "knows nothing; for searches to the end of the game"),
    },
    probes=(("to open with a six", "61"), ("to answer 1x6", "35 1x6")),
)
