"""Tic-tac-toe for three players, X, O and Z, on a board of four columns and three rows.

Three stones in a line win 2, and the two others lose 1 each; a full board is worth nothing to anybody. Three bit masks
of twelve cells, in the order of the turns: the mover's stones, the next player's, and the previous player's.

    0  1  2  3
    4  5  6  7      a move is the number of the cell
    8  9 10 11

With everybody for himself (max^n) the game is a draw. Two allied players always beat the third, whatever his seat,
which a search for two players cannot express.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import popcount
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules

CELLS = 12
FULL = 0xFFF
ROWS = [0b0111 << 4 * row + column for row in range(3) for column in range(2)]
COLUMNS = [0x111 << column for column in range(4)]
DIAGONALS = [mask << column for mask in (0b0100_0010_0001, 0b0001_0010_0100) for column in range(2)]
LINES = np.array(ROWS + COLUMNS + DIAGONALS, np.int64)
PLAYERS = "XOZ"


class State(NamedTuple):
    me: int
    following: int
    previous: int


@kernel
def initial():
    return State(np.int64(0), np.int64(0), np.int64(0))


@kernel
def occupied(state):
    return state.me | state.following | state.previous


@kernel
def seat(state):
    return popcount(occupied(state)) % 3


@kernel
def legal_moves(state, out):
    n = 0
    for cell in range(CELLS):
        if not occupied(state) >> cell & 1:
            out[n] = cell
            n += 1
    return n


@kernel
def play(state, move):
    return State(np.int64(state.following), np.int64(state.previous), state.me | np.int64(1) << move)


@kernel
def has_line(stones):
    for line in LINES:  # noqa: SIM110 - compiled
        if stones & line == line:
            return True
    return False


@kernel
def outcome(state):
    """Over when the previous player has just completed a line, or the board is full."""
    if has_line(state.previous):
        return True, np.int64(-1)
    return occupied(state) == FULL, np.int64(0)


@kernel
def payoffs(state, out):
    won = has_line(state.previous)
    out[0] = out[1] = -1.0 if won else 0.0
    out[2] = 2.0 if won else 0.0


@kernel
def stones_of(state, turns):
    """Stones of the player so many turns after the mover."""
    return state.me if turns == 0 else state.following if turns == 1 else state.previous


@kernel
def open_lines(state, turns, stones):
    """Lines with so many stones of this player and none of the others."""
    mine = stones_of(state, turns)
    others = occupied(state) & ~mine
    n = 0
    for line in LINES:
        n += others & line == 0 and popcount(mine & line) == stones
    return n


@kernel
def features(state, spec, index, value):
    """One input a cell for each player's stones, the mover's first (0..35); `lines` adds, in the same order, how many
    lines hold exactly one or two stones of this player and no others (36..41)."""
    n = 0
    for turns in range(3):
        for cell in range(CELLS):
            if stones_of(state, turns) >> cell & 1:
                index[n] = CELLS * turns + cell
                value[n] = 1.0
                n += 1
    for k in range(6 if spec[0] == 1 else 0):
        lines = open_lines(state, k // 2, k % 2 + 1)
        if lines:
            index[n] = 3 * CELLS + k
            value[n] = lines
            n += 1
    return n


@kernel
def cells(state, out):
    """0 empty, 1 mine, 2 the next player's, 3 the previous player's."""
    for cell in range(CELLS):
        out[cell] = 0
        for turns in range(3):
            out[cell] += (turns + 1) * (stones_of(state, turns) >> cell & 1)


@kernel
def key(state):
    return state.me | state.following << CELLS | state.previous << 2 * CELLS


@kernel
def share_of_lines(state, out):
    """Lines that a player can still complete count 1, or 4 and 16 where he has one or two stones in them: payoffs as if
    the winner were drawn in proportion. Between -1 and 2, and 0 in sum."""
    if outcome(state)[0]:
        payoffs(state, out)
        return
    total = 0.0
    for turns in range(3):
        out[turns] = (
            open_lines(state, turns, 0) + 4.0 * open_lines(state, turns, 1) + 16.0 * open_lines(state, turns, 2)
        )
        total += out[turns]
    for turns in range(3):
        out[turns] = 3.0 * out[turns] / total - 1.0 if total > 0.0 else 0.0


@kernel
def own_share_of_lines(state):
    """The mover's entry of `share_of_lines`."""
    shares = np.empty(3)
    share_of_lines(state, shares)
    return shares[0]


def parse(text: str) -> State:
    """Twelve characters X, O, Z and -, row by row, `/` between rows if you like; X moves first, so the counts say whose
    turn it is."""
    board = text.strip().upper().replace("/", "").replace(".", "-")
    counts = [board.count(player) for player in PLAYERS]
    mover = sum(counts) % 3
    if len(board) != CELLS or sum(counts) + board.count("-") != CELLS or counts != _counts(sum(counts)):
        raise InputError(
            f"{text!r} is no position: twelve of X, O, Z and -, as many of each or one more of those who moved, "
            "such as X---/-O--/---Z"
        )
    masks = [sum(1 << i for i, c in enumerate(board) if c == player) for player in PLAYERS]
    state = State(*(masks[(mover + turns) % 3] for turns in range(3)))
    if has_line(state.me) or has_line(state.following):
        raise InputError(
            f"{text!r} is no position: the game ended with the first line, and the last player to move has none"
        )
    return state


def _counts(stones: int) -> list[int]:
    """Stones of X, O and Z when so many lie on the board."""
    return [(stones + 2 - player) // 3 for player in range(3)]


def format_state(state: State) -> str:
    mover = int(seat(state))
    owner = {
        cell: PLAYERS[(mover + turns) % 3] for turns in range(3) for cell in range(CELLS) if state[turns] >> cell & 1
    }
    text = "".join(owner.get(cell, "-") for cell in range(CELLS))
    return "/".join(text[row : row + 4] for row in (0, 4, 8))


def move_text(state: State, move: int) -> str:
    """Column letter and row number: a1 is the top left cell, d3 the bottom right one."""
    return "abcd"[move % 4] + str(move // 4 + 1)


def ansi(state: State, color: bool = False) -> str:
    rows = [f"{i + 1}  {' '.join(row)}" for i, row in enumerate(format_state(state).split("/"))]
    return "\n".join(["   a b c d", *rows])


def draw(state: State):
    """A 400 x 300 picture."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (400, 300), "#f7f3e9")
    pen = ImageDraw.Draw(image)
    for x in (100, 200, 300):
        pen.line([(x, 12), (x, 288)], fill="#6b6459", width=4)
    for y in (100, 200):
        pen.line([(12, y), (388, y)], fill="#6b6459", width=4)
    for i, stone in enumerate(format_state(state).replace("/", "")):
        left, top = 100 * (i % 4) + 24, 100 * (i // 4) + 24
        right, bottom = left + 52, top + 52
        if stone == "X":
            pen.line([(left, top), (right, bottom)], fill="#b3432b", width=10)
            pen.line([(left, bottom), (right, top)], fill="#b3432b", width=10)
        elif stone == "O":
            pen.ellipse([left, top, right, bottom], outline="#2b5c8a", width=10)
        elif stone == "Z":
            pen.line(
                [(left, top), (right, top), (left, bottom), (right, bottom)], fill="#3d7a46", width=10, joint="curve"
            )
    return image


def symmetries() -> np.ndarray:
    """The board as it is, and mirrored left to right, top to bottom, and both: int64 [4, 12]."""
    board = np.arange(CELLS).reshape(3, 4)
    return np.array([b.ravel() for b in (board, board[:, ::-1], board[::-1], board[::-1, ::-1])])


SIDES = ("me", "next", "previous")
CELL_NAMES = [f"{side}_{c}{r}" for side in SIDES for r in (1, 2, 3) for c in "abcd"]
LINE_NAMES = [f"{side}_lines_{n}" for side in SIDES for n in (1, 2)]

GAME = Game(
    name="tic_tac_toe_three",
    title="Tic-tac-toe for three",
    state=State,
    rules=make_rules(
        State,
        initial=initial,
        seat=seat,
        legal_moves=legal_moves,
        play=play,
        outcome=outcome,
        payoffs=payoffs,
        features=features,
        cells=cells,
        num_cells=CELLS,
        key=key,
        exact_key=True,
        max_moves=CELLS,
        num_players=3,
        outcomes=(-2, -1, 0, 1, 2),
    ),
    feature_sets={
        "cells": FeatureSet("cells", (0,), 3 * CELLS, CELLS, lambda: CELL_NAMES),
        "lines": FeatureSet("lines", (1,), 3 * CELLS + 6, CELLS + 6, lambda: CELL_NAMES + LINE_NAMES),
    },
    default_features="lines",
    parse=parse,
    format=format_state,
    move_text=move_text,
    ansi=ansi,
    draw=draw,
    baselines={
        "shares": Baseline("shares", "payoffs", share_of_lines, "everybody's share of the lines still to be had"),
        "own_share": Baseline(
            "own_share", "value", own_share_of_lines, "the mover's share of the lines still to be had"
        ),
    },
    probes=(("start", "----/----/----"), ("Z must block", "X-X-/O--O/-Z--")),
    board=(3, 4),
    symmetries=symmetries(),
)
