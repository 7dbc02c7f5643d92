"""Chess for agents that act: AlphaZero's actions and observations, from the mover's side.

An action is the square a man leaves times 73, plus how he goes:

    0..55    like a queen: 7 times the direction (up, up right, right, ... clockwise), plus the distance less one
    56..63   like a knight: the eight jumps clockwise, from one right and two up
    64..72   a pawn becomes a knight, bishop or rook: 3 times the piece, plus 0 capturing to the left, 1 ahead, 2 to the
             right

A pawn that goes to the last rank like a queen becomes one. A castling king goes to his rook's square, as in a move
code.

An observation is 15 planes of 64 squares, rank by rank from the top: the mover's pawns, knights, bishops, rooks, queens
and king, the opponent's, rooks that may castle, the square of an en-passant capture, and the clock, 1 being the draw.

Source: D. Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play" (2018), supplementary table S2.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import bit
from deltaw.envs.games.chess.rules import CELLS, DRAWN_AFTER, QUEEN, ROOM, cells, legal_moves
from deltaw.envs.kernel import kernel

JUMPS, UNDERPROMOTIONS, WAYS = 56, 64, 73
NUM_ACTIONS = CELLS * WAYS
PLANES = 15
CASTLING, EN_PASSANT, CLOCK = 12, 13, 14
"""planes behind those of the men"""
OBSERVATION_SIZE = PLANES * CELLS

DIRECTIONS = np.array([(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)])
"""(files, ranks)"""
KNIGHT_JUMPS = np.array([(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)])


@kernel
def action_of(move):
    origin, target, promoted = move & 63, move >> 6 & 63, move >> 12
    files, ranks = target % 8 - origin % 8, target // 8 - origin // 8
    if 0 < promoted < QUEEN:
        return WAYS * origin + UNDERPROMOTIONS + 3 * (promoted - 1) + files + 1
    distance = max(abs(files), abs(ranks))
    for way in range(8):
        if DIRECTIONS[way, 0] * distance == files and DIRECTIONS[way, 1] * distance == ranks:
            return WAYS * origin + 7 * way + distance - 1
        if KNIGHT_JUMPS[way, 0] == files and KNIGHT_JUMPS[way, 1] == ranks:
            return WAYS * origin + JUMPS + way
    return np.int64(-1)


@kernel
def move_of(state, action):
    """The move, which need not be legal, that an action names."""
    origin, way = action // WAYS, action % WAYS
    if way >= UNDERPROMOTIONS:
        way -= UNDERPROMOTIONS
        return origin | origin + 7 + way % 3 << 6 | way // 3 + 1 << 12
    if way >= JUMPS:
        files, ranks = KNIGHT_JUMPS[way - JUMPS]
        return origin | origin + files + 8 * ranks << 6
    files, ranks = DIRECTIONS[way // 7]
    target = origin + (files + 8 * ranks) * (way % 7 + 1)
    becomes = QUEEN if target >= 56 and bit(origin) & state.pawns else 0
    return origin | target << 6 | becomes << 12


@kernel
def action_mask(state, word, out):
    out[:] = 0
    moves = np.empty(ROOM, np.int64)
    for move in moves[: legal_moves(state, moves)]:
        out[action_of(move)] = 1


@kernel
def spell(state, word, action):
    return np.int64(move_of(state, action)), True


@kernel
def observe(state, word, out):
    out[:] = 0.0
    board = np.empty(CELLS, np.int64)
    cells(state, board)
    for i in range(CELLS):
        if board[i]:
            out[CELLS * (board[i] - 1) + i] = 1.0
        out[CELLS * CASTLING + i] = bit(i ^ 56) & state.castling != 0
        out[CELLS * EN_PASSANT + i] = bit(i ^ 56) & state.en_passant != 0
        out[CELLS * CLOCK + i] = state.clock / DRAWN_AFTER
