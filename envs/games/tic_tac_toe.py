"""Tic-tac-toe: the file to copy when you add a game.

Two bit masks of nine cells, the mover's stones and the opponent's:

    0 1 2
    3 4 5      a move is the number of the cell
    6 7 8

`play` hands the turn over by swapping the masks, so every function below speaks of "me" and of nobody's colour.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import popcount
from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules

LINES = np.array([0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124], np.int64)
"""rows, columns, diagonals"""
FULL = 0o777

_BOARD = np.arange(9).reshape(3, 3)
SYMMETRIES = np.array(
    [np.rot90(board, turns).ravel() for board in (_BOARD, _BOARD.T) for turns in range(4)],
    np.int64,
)
"""four turns, of the board and of its reflection"""


class State(NamedTuple):
    me: int
    opponent: int


@kernel
def initial():
    return State(np.int64(0), np.int64(0))


@kernel
def seat(state):
    return popcount(state.me | state.opponent) & 1


@kernel
def legal_moves(state, out):
    n = 0
    for cell in range(9):
        if not (state.me | state.opponent) >> cell & 1:
            out[n] = cell
            n += 1
    return n


@kernel
def play(state, move):
    return State(np.int64(state.opponent), state.me | np.int64(1) << move)


@kernel
def has_line(stones):
    for line in LINES:  # noqa: SIM110 - compiled
        if stones & line == line:
            return True
    return False


@kernel
def outcome(state):
    """Over when the opponent has just completed a line, or the board is full."""
    if has_line(state.opponent):
        return True, np.int64(-1)
    if has_line(state.me):
        return True, np.int64(1)
    return (state.me | state.opponent) == FULL, np.int64(0)


@kernel
def features(state, spec, index, value):
    """One input a cell for my stones (0..8) and one for the opponent's (9..17); `lines` adds 18..23: how many lines
    hold only my stones, exactly one, two or three of them, and the same for the opponent."""
    n = 0
    for side in range(2):
        stones = state.me if side == 0 else state.opponent
        for cell in range(9):
            if stones >> cell & 1:
                index[n] = 9 * side + cell
                value[n] = 1.0
                n += 1
    if spec[0] == 1:
        for side in range(2):
            mine, his = (state.me, state.opponent) if side == 0 else (state.opponent, state.me)
            for stones in range(1, 4):
                lines = 0
                for line in LINES:
                    lines += his & line == 0 and popcount(mine & line) == stones
                if lines:
                    index[n] = 17 + 3 * side + stones
                    value[n] = lines
                    n += 1
    return n


@kernel
def cells(state, out):
    """0 empty, 1 mine, 2 the opponent's."""
    for cell in range(9):
        out[cell] = (state.me >> cell & 1) + 2 * (state.opponent >> cell & 1)


@kernel
def key(state):
    return state.me | state.opponent << 9


@kernel
def open_lines(state):
    """Lines I can still complete minus lines the opponent can, in ninths: between -1 and 1."""
    over, value = outcome(state)
    if over:
        return float(value)
    difference = 0
    for line in LINES:
        difference += int(state.opponent & line == 0) - int(state.me & line == 0)
    return difference / 9.0


WIN, BLOCK, THREAT = 1000.0, 100.0, 10.0
"""weights of the criteria: each outweighs all that follow, since a move can touch four lines at most and mobility is at
most eight lines"""


@kernel
def criteria(parent, move, child):
    """The criteria of a move that the lectures name: does it complete a three, block threes of the opponent, enable
    threes of one's own; then mobility, lines still open for me minus those open for him."""
    mine, his = child.opponent, child.me
    total = 0.0
    for line in LINES:
        if line >> move & 1 and popcount(parent.opponent & line) == 2:
            total += BLOCK
        if popcount(mine & line) == 2 and his & line == 0:
            total += THREAT
        total += int(his & line == 0) - int(mine & line == 0)
    return total + WIN if has_line(mine) else total


def parse(text: str) -> State:
    """Nine characters `X`, `O`, `-` row by row; X moves first, so the counts say whose turn it is."""
    board = text.strip().upper().replace("/", "").replace(".", "-")
    x, o = board.count("X"), board.count("O")
    if len(board) != 9 or x + o + board.count("-") != 9 or x - o not in (0, 1):
        raise InputError(f"{text!r} is no position: nine of X, O and -, as many O as X or one less, such as X---O----")
    masks = {player: sum(1 << i for i, c in enumerate(board) if c == player) for player in "XO"}
    return State(masks["X"], masks["O"]) if x == o else State(masks["O"], masks["X"])


def format_state(state: State) -> str:
    x, o = (state.me, state.opponent) if seat(state) == 0 else (state.opponent, state.me)
    return "".join("X" if x >> i & 1 else "O" if o >> i & 1 else "-" for i in range(9))


def move_text(state: State, move: int) -> str:
    """Column letter and row number: a1 is the top left cell, c3 the bottom right one."""
    return "abc"[move % 3] + str(move // 3 + 1)


def ansi(state: State, color: bool = False) -> str:
    text = format_state(state)
    rows = [f"{r + 1}  " + " ".join(text[3 * r : 3 * r + 3]) for r in range(3)]
    return "\n".join(["   a b c", *rows])


def draw(state: State):
    """A 300 x 300 picture."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (300, 300), "#f7f3e9")
    pen = ImageDraw.Draw(image)
    for k in (100, 200):
        pen.line([(k, 12), (k, 288)], fill="#6b6459", width=4)
        pen.line([(12, k), (288, k)], fill="#6b6459", width=4)
    for i, stone in enumerate(format_state(state)):
        left, top = 100 * (i % 3) + 22, 100 * (i // 3) + 22
        if stone == "X":
            pen.line([(left, top), (left + 56, top + 56)], fill="#b3432b", width=10)
            pen.line([(left, top + 56), (left + 56, top)], fill="#b3432b", width=10)
        elif stone == "O":
            pen.ellipse([left, top, left + 56, top + 56], outline="#2b5c8a", width=10)
    return image


CELL_NAMES = [f"{side}_{c}{r}" for side in ("me", "opponent") for r in (1, 2, 3) for c in "abc"]
LINE_NAMES = [f"{side}_lines_{n}" for side in ("me", "opponent") for n in (1, 2, 3)]

GAME = Game(
    name="tic_tac_toe",
    title="Tic-tac-toe",
    state=State,
    rules=make_rules(
        State,
        initial=initial,
        seat=seat,
        legal_moves=legal_moves,
        play=play,
        outcome=outcome,
        features=features,
        cells=cells,
        num_cells=9,
        tuple_values=3,
        key=key,
        exact_key=True,
        max_moves=9,
        outcomes=(-1, 0, 1),
    ),
    feature_sets={
        "cells": FeatureSet("cells", (0,), 18, 9, lambda: CELL_NAMES),
        "lines": FeatureSet("lines", (1,), 24, 15, lambda: CELL_NAMES + LINE_NAMES),
    },
    default_features="lines",
    parse=parse,
    format=format_state,
    move_text=move_text,
    ansi=ansi,
    draw=draw,
    baselines={
        "open_lines": Baseline("open_lines", "value", open_lines, "lines that can still be completed, mine minus his"),
        "criteria": Baseline("criteria", "rank", criteria, "completes, blocks, enables a three; then lines still open"),
    },
    probes=(("start", "---------"), ("centre taken", "X---O----")),
    board=(3, 3),
    symmetries=SYMMETRIES,
)
