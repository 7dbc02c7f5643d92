"""Leduc hold'em: six cards, two rounds of bets, and a card that both players share.

The deck has two Jacks, two Queens and two Kings. Both players put one chip into the pot and get one card each. In each
round the first player begins: a player checks or raises, and an opponent's raise is folded to, called or raised once
more; a round has two raises at most, of two chips in the first and four in the second. Between the rounds a card that
both share is laid on the board. Whoever pairs it wins the pot, else the higher card; equal cards share it.

    cards     1 2 Jack, 3 4 Queen, 5 6 King; 0 before they are dealt
    moves     0 fold    1 check or call    2 raise
    round     two bits for each of its moves, move + 1, the last move lowest

Southey et al., "Bayes' bluff: opponent modelling in poker", UAI 2005. A game is worth the chips that are won; OpenSpiel
reports that the first player loses 0.0856 a game.
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

RANKS = "JQK"
DECK = 6
NUM_DEALS, NUM_BOARDS = DECK * (DECK - 1), DECK - 2
FOLD, CALL, RAISE = 0, 1, 2
LETTERS = "fcr"
"""of the moves in positions"""
ANTE, MOST_RAISES, LONGEST = 1, 2, 4
"""chips; raises and moves of a round"""
FULL_ROUND = "cc|rc|crc|rrc|crrc"
ROUND = f"c?r{{0,2}}|c?r{{1,2}}f|{FULL_ROUND}"
CARD = "[JQK][ab]"
HANDS = DECK * (DECK + 1)
"""the mover's card beside each board card or none"""


class State(NamedTuple):
    mine: int
    theirs: int
    board: int
    """the shared card"""
    first: int
    """the moves of the first round"""
    second: int


@kernel
def length(moves):
    """How many moves a round has had."""
    n = 0
    while moves > 0:
        moves >>= 2
        n += 1
    return n


@kernel
def raises(moves):
    n = 0
    while moves > 0:
        n += moves & 3 == RAISE + 1
        moves >>= 2
    return n


@kernel
def is_closed(moves):
    """Whether the last move was a call, or the second check."""
    return moves & 3 == CALL + 1 and moves > 3


@kernel
def initial():
    return State(np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0))


@kernel
def current(state):
    """The moves of the round that is on."""
    return state.second if is_closed(state.first) else state.first


@kernel
def seat(state):
    return np.int64(length(current(state)) & 1)


@kernel
def num_chance(state):
    if state.mine == 0:
        return NUM_DEALS
    return NUM_BOARDS if state.board == 0 and is_closed(state.first) else 0


@kernel
def chance(state, i):
    if state.mine == 0:
        mine = np.int64(i // (DECK - 1)) + 1
        return State(
            mine, other_card(i % (DECK - 1), mine, mine), state.board, state.first, state.second
        ), 1.0 / NUM_DEALS
    board = other_card(i, state.mine, state.theirs)
    return State(state.mine, state.theirs, board, state.first, state.second), 1.0 / NUM_BOARDS


@kernel
def other_card(i, one, two):
    """The card number i, from 0, of those that are neither of these."""
    card = np.int64(i) + 1
    card += card >= min(one, two)
    if one != two:
        card += card >= max(one, two)
    return card


@kernel
def legal_moves(state, out):
    moves = current(state)
    out[0] = CALL
    n = 1
    if raises(moves) < MOST_RAISES:
        out[n] = RAISE
        n += 1
    if moves & 3 == RAISE + 1:
        out[n] = FOLD
        n += 1
    return n


@kernel
def play(state, move):
    first, second = state.first, state.second
    if is_closed(first):
        second = second << 2 | np.int64(move + 1)
    else:
        first = first << 2 | np.int64(move + 1)
    after = State(state.theirs, state.mine, state.board, first, second)
    if seat(after) == seat(state):  # the first player has closed the first round, and opens the second
        return State(state.mine, state.theirs, state.board, first, second)
    return after


@kernel
def strength(card, board):
    rank = (card - 1) // 2
    return rank + 3 if rank == (board - 1) // 2 else rank


@kernel
def outcome(state):
    folded = current(state) & 3 == FOLD + 1
    if not folded and not is_closed(state.second):
        return False, np.int64(0)
    chips = ANTE + 2 * raises(state.first) + 4 * raises(state.second)
    if folded:  # by the opponent, before he has paid for the last raise
        return True, np.int64(chips - (4 if is_closed(state.first) else 2))
    mine, theirs = strength(state.mine, state.board), strength(state.theirs, state.board)
    return True, np.int64(chips * np.sign(mine - theirs))


@kernel
def features(state, spec, index, value):
    """`view`: the mover's card and the board card together, and which move was made at each turn of each round."""
    index[0] = max(state.mine - 1, 0) * (DECK + 1) + state.board
    value[0] = 1.0
    n = 1
    for turn in range(2):
        moves = state.first if turn == 0 else state.second
        total = length(moves)
        for ply in range(total):
            index[n] = HANDS + (turn * LONGEST + ply) * 3 + (moves >> 2 * (total - 1 - ply) & 3) - 1
            value[n] = 1.0
            n += 1
    return n


@kernel
def cells(state, out):
    """The mover's card, the board card, and the moves of both rounds: 0 none, else move + 1."""
    out[:] = 0
    out[0], out[1] = state.mine, state.board
    for turn in range(2):
        moves = state.first if turn == 0 else state.second
        total = length(moves)
        for ply in range(total):
            out[2 + turn * LONGEST + ply] = moves >> 2 * (total - 1 - ply) & 3


@kernel
def key(state):
    return state.mine | state.theirs << 3 | state.board << 6 | state.first << 9 | state.second << 17


@kernel
def information_key(state):
    return state.mine | state.board << 6 | state.first << 9 | state.second << 17


@kernel
def determinize(state, word):
    """The opponent has any card that does not lie before the mover."""
    if state.board == 0:
        theirs = other_card(word % (DECK - 1), state.mine, state.mine)
    else:
        theirs = other_card(word % (DECK - 2), state.mine, state.board)
    return State(state.mine, theirs, state.board, state.first, state.second)


@kernel
def zero(state):
    return 0.0


@kernel
def honest(parent, move, child):
    """Raises with a King or a pair, calls with a Queen, and folds a Jack to a raise."""
    hand = strength(parent.mine, parent.board) if parent.board > 0 else (parent.mine - 1) // 2
    wanted = RAISE if hand >= 2 else CALL if hand == 1 else FOLD
    return np.float64(-abs(move - wanted))


def letters(moves: int) -> str:
    text = ""
    while moves:
        text, moves = LETTERS[(moves & 3) - 1] + text, moves >> 2
    return text


def read_round(text: str) -> int:
    moves = 0
    for letter in text:
        moves = moves << 2 | LETTERS.index(letter) + 1
    return moves


def card_text(card: int) -> str:
    return FACE_DOWN if card == 0 else RANKS[(card - 1) // 2] + "ab"[(card - 1) % 2]


def parse(text: str) -> State:
    """The cards of the first and the second player and the moves of the first round, the board card and the moves of
    the second: `Ja Kb crc Qa r`; `? ?` before the deal."""
    found = re.fullmatch(rf"\? \?|({CARD}) ({CARD})( ({ROUND}))?( ({CARD})( ({ROUND}))?)?", " ".join(text.split()))
    names = [card_text(card) for card in range(DECK + 1)]
    mine, theirs, _, first, _, board, _, second = found.groups() if found else (None,) * 8
    cards = [names.index(card) for card in (mine, theirs, board) if card]
    if not found or len(set(cards)) < len(cards) or (board and not re.fullmatch(FULL_ROUND, first or "")):
        raise InputError(
            f"{short(text)} is no position: different cards of {', '.join(names[1:])}, of the first player and the "
            "second, the moves of the first round, f, c and r, then the board card and the second round, such as "
            "Ja Kb crc Qa r"
        )
    mine, theirs, board = (*cards, 0, 0, 0)[:3]
    state = State(mine, theirs, board, read_round(first or ""), read_round(second or ""))
    return state if seat(state) == 0 else state._replace(mine=theirs, theirs=mine)


def format_state(state: State) -> str:
    mine, theirs = card_text(state.mine), card_text(state.theirs)
    words = [mine, theirs] if seat(state) == 0 else [theirs, mine]
    board = card_text(state.board) if state.board else ""
    return " ".join(word for word in (*words, letters(state.first), board, letters(state.second)) if word)


def move_text(state: State, move: int) -> str:
    faces_raise = current(state) & 3 == RAISE + 1
    return ("fold", "call" if faces_raise else "check", "raise")[move]


def chance_text(state: State, i: int) -> str:
    after = chance(state, i)[0]
    return format_state(after) if state.mine == 0 else card_text(after.board)


def words_of(moves: int) -> str:
    """The moves of a round in words."""
    found, before = [], 0
    for letter in letters(moves):
        found.append(move_text(State(0, 0, 0, before, 0), LETTERS.index(letter)))
        before = before << 2 | LETTERS.index(letter) + 1
    return ", ".join(found) or "none yet"


def table(state: State) -> list[tuple[str, str]]:
    """What the mover sees; when the game is over, all cards."""
    over = outcome(state)[0]
    return [
        ("player", ("first", "second")[seat(state)]),
        ("your card", card_text(state.mine)),
        ("opponent's", card_text(state.theirs) if over else FACE_DOWN),
        ("board", card_text(state.board)),
        ("first round", words_of(state.first)),
        ("second round", words_of(state.second)),
    ]


def view_names() -> list[str]:
    hands = [f"{card_text(mine)}_{card_text(board)}" for mine in range(1, DECK + 1) for board in range(DECK + 1)]
    return hands + [
        f"round_{turn}_move_{ply}_{word}"
        for turn in (1, 2)
        for ply in range(1, LONGEST + 1)
        for word in ("fold", "call", "raise")
    ]


GAME = Game(
    name="leduc_poker",
    title="Leduc hold'em",
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
        features=features,
        cells=cells,
        num_cells=2 + 2 * LONGEST,
        key=key,
        exact_key=True,
        information_key=information_key,
        determinize=determinize,
        max_moves=3,
        outcomes=(-13, -11, -9, -7, -5, -3, -1, 0, 1, 3, 5, 7, 9, 11, 13),
    ),
    feature_sets={"view": FeatureSet("view", (0,), HANDS + 6 * LONGEST, 1 + 2 * LONGEST, view_names)},
    default_features="view",
    parse=parse,
    format=format_state,
    move_text=move_text,
    chance_text=chance_text,
    ansi=lambda state, color=False: table_text(table(state)),
    draw=lambda state: table_picture(table(state)),
    baselines={
        "honest": Baseline("honest", "rank", honest, "bets what the hand is worth"),
        "zero": Baseline("zero", "value", zero, "knows nothing; for searches to the end of the game"),
    },
    probes=(("to open with a King", "Ka Jb"), ("a pair in the second round", "Qa Kb cc Qb")),
)
