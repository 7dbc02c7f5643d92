"""Nim: take any number of objects from one heap; whoever takes the last one wins.

One integer holds up to seven heaps of up to 15 objects, four bits a heap:

    ... c c c c b b b b a a a a      heap a is the lowest four bits; 3-5-7 is 0x753

A move is 15 x heap + objects taken - 1. Positions look the same from both sides, so the state says whose turn it is.

Solved by C. L. Bouton, "Nim, a game with a complete mathematical theory", Annals of Mathematics 3 (1901): the mover
loses exactly where the exclusive or of the heap sizes, the nim-sum, is 0.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules

HEAPS, LARGEST = 7, 15
NUM_SIZES = HEAPS * LARGEST
NIM_SUM_BITS = 4
START = 0x753


class State(NamedTuple):
    heaps: int
    seat: int


@kernel
def initial():
    return State(np.int64(START), np.int64(0))


@kernel
def seat(state):
    return state.seat


@kernel
def size(state, heap):
    return state.heaps >> 4 * heap & 15


@kernel
def legal_moves(state, out):
    n = 0
    for heap in range(HEAPS):
        for taken in range(1, size(state, heap) + 1):
            out[n] = LARGEST * heap + taken - 1
            n += 1
    return n


@kernel
def play(state, move):
    heap, taken = move // LARGEST, move % LARGEST + 1
    return State(np.int64(state.heaps - (taken << 4 * heap)), 1 - state.seat)


@kernel
def outcome(state):
    """Over when the opponent has taken the last object."""
    over = state.heaps == 0
    return over, np.int64(-1 if over else 0)


@kernel
def nim_sum(state):
    total = 0
    for heap in range(HEAPS):
        total ^= size(state, heap)
    return total


@kernel
def features(state, spec, index, value):
    """`heaps`: one input for each size 1..15 of each heap; `nim_sum` adds one for each of the nim-sum's four bits
    (105..108)."""
    n = 0
    for heap in range(HEAPS):
        if size(state, heap):
            index[n] = LARGEST * heap + size(state, heap) - 1
            value[n] = 1.0
            n += 1
    for bit in range(NIM_SUM_BITS if spec[0] == 1 else 0):
        if nim_sum(state) >> bit & 1:
            index[n] = NUM_SIZES + bit
            value[n] = 1.0
            n += 1
    return n


@kernel
def cells(state, out):
    """The sizes of the heaps."""
    for heap in range(HEAPS):
        out[heap] = size(state, heap)


@kernel
def key(state):
    return state.heaps | state.seat << 4 * HEAPS


@kernel
def exact(state):
    """The game's solution: -1 where the nim-sum is 0, else 1."""
    return -1.0 if nim_sum(state) == 0 else 1.0


@kernel
def parity(state):
    """A weak guess: an odd number of heaps is good for the mover. True where every heap has one object."""
    odd = 0
    for heap in range(HEAPS):
        odd ^= size(state, heap) != 0
    return 0.5 if odd else -0.5


def sizes(state: State) -> list[int]:
    """Objects of each heap; empty heaps behind the last one that is not are left out."""
    found = [int(size(state, heap)) for heap in range(HEAPS)]
    while len(found) > 1 and not found[-1]:
        found.pop()
    return found


def parse(text: str) -> State:
    """Sizes of the heaps, `3-5-7`, and a 2 behind them where the second player is to move: `3-5-7 2`."""
    board, _, player = text.strip().partition(" ")
    heaps = board.split("-")
    numbers = [int(heap) for heap in heaps if re.fullmatch("[0-9]{1,2}", heap)]
    right = len(numbers) == len(heaps) <= HEAPS and max(numbers) <= LARGEST
    if not right or player.strip() not in ("", "1", "2"):
        raise InputError(
            f"{text!r} is no position: up to {HEAPS} heaps of up to {LARGEST}, such as 3-5-7, or 3-5-7 2 where the "
            "second player is to move"
        )
    return State(sum(n << 4 * heap for heap, n in enumerate(numbers)), int(player.strip() == "2"))


def format_state(state: State) -> str:
    return "-".join(map(str, sizes(state))) + (" 2" if state.seat else "")


def move_text(state: State, move: int) -> str:
    """Letter of the heap and how many are taken: b3."""
    return f"{'abcdefg'[move // LARGEST]}{move % LARGEST + 1}"


def ansi(state: State, color: bool = False) -> str:
    rows = [f"{'abcdefg'[heap]}  {'| ' * n}".rstrip() for heap, n in enumerate(sizes(state))]
    return "\n".join([*rows, "", f"{('first', 'second')[state.seat]} player to move"])


def draw(state: State):
    """A 340 x 300 picture: a row of matches for each heap."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (340, 300), "#f7f3e9")
    pen = ImageDraw.Draw(image)
    for heap, n in enumerate(sizes(state)):
        top = 12 + 36 * heap
        pen.text((16, top + 13), "abcdefg"[heap], fill="#6b6459", anchor="mm", font_size=16)
        for i in range(n):
            left = 36 + 20 * i
            pen.line([(left, top + 5), (left, top + 27)], fill="#c9a66b", width=5)
            pen.ellipse([left - 4, top - 1, left + 4, top + 8], fill="#b3432b")
    pen.text((16, 282), f"{('first', 'second')[state.seat]} player to move", fill="#3a342c", anchor="lm", font_size=14)
    return image


SIZE_NAMES = [f"heap_{letter}_{n}" for letter in "abcdefg" for n in range(1, LARGEST + 1)]
BIT_NAMES = [f"nim_sum_{1 << bit}" for bit in range(NIM_SUM_BITS)]

GAME = Game(
    name="nim",
    title="Nim",
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
        num_cells=HEAPS,
        tuple_values=LARGEST + 1,
        key=key,
        exact_key=True,
        max_moves=NUM_SIZES,
        outcomes=(-1, 1),
    ),
    feature_sets={
        "heaps": FeatureSet("heaps", (0,), NUM_SIZES, HEAPS, lambda: SIZE_NAMES),
        "nim_sum": FeatureSet(
            "nim_sum", (1,), NUM_SIZES + NIM_SUM_BITS, HEAPS + NIM_SUM_BITS, lambda: SIZE_NAMES + BIT_NAMES
        ),
    },
    default_features="nim_sum",
    parse=parse,
    format=format_state,
    move_text=move_text,
    ansi=ansi,
    draw=draw,
    baselines={
        "nim_sum": Baseline("nim_sum", "value", exact, "the exact solution"),
        "parity": Baseline("parity", "value", parity, "an odd number of heaps is good"),
    },
    probes=(("start", "3-5-7"), ("two equal heaps, lost", "5-5"), ("one heap, won", "4"), ("nim-sum 0, lost", "1-2-3")),
)
