"""Othello: rules against a naive board, notation, features; the solver against exhaustive search and other programs'
endgames."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from conftest import python_state, random_game, read_json

from deltaw.envs import games
from deltaw.envs.bits import EXPLORE, FULL, random_word, signed
from deltaw.envs.errors import InputError
from deltaw.envs.games.othello.baselines import SQUARE_WEIGHTS
from deltaw.envs.games.othello.notation import EXAMPLE, START, squares_of
from deltaw.envs.games.othello.rules import PASS, State
from deltaw.envs.kernel import JIT

OTHELLO = games.load("othello")
RULES = OTHELLO.rules
SEED = 7
GAMES = 12 if JIT else 2
SHORTEST = "e6 f4 e3 f6 g5 d6 e7 f5 c5"
"""the shortest game: black takes every disc with his fifth move"""
BLACK_PASSES = "-" * 24 + "---XX---" * 2 + "---X----" * 2 + "---O---- X"


def played(moves: str, state=None) -> State:
    state = python_state(OTHELLO, RULES.initial()) if state is None else state
    for text in moves.split():
        state = python_state(OTHELLO, RULES.play(state, OTHELLO.find_move(state, text)))
    return state


@cache
def random_states() -> tuple[State, ...]:
    return tuple(state for number in range(GAMES) for state in random_game(OTHELLO, SEED, number))


# --- rules against a board of characters ------------------------------------------------------------------------------


DIRECTIONS = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy]


def turned_by(squares: str, side: str, square: int) -> set[int]:
    """Walks every line from `square` on: the discs that `side` turns."""
    found: set[int] = set()
    for dx, dy in DIRECTIONS:
        x, y, run = square % 8 + dx, square // 8 + dy, set()
        while 0 <= x < 8 and 0 <= y < 8 and squares[x + 8 * y] not in ("-", side):
            run.add(x + 8 * y)
            x, y = x + dx, y + dy
        if 0 <= x < 8 and 0 <= y < 8 and squares[x + 8 * y] == side:
            found |= run
    return found


def naive_moves(squares: str, side: str) -> list[int]:
    return [i for i in range(64) if squares[i] == "-" and turned_by(squares, side, i)]


def naive_play(squares: str, side: str, square: int) -> str:
    changed = turned_by(squares, side, square) | {square}
    return "".join(side if i in changed else disc for i, disc in enumerate(squares))


def test_moves_and_results_equal_a_naive_boards():
    for state in random_states():
        squares, side = squares_of(state), "XO"[state.seat]
        moves, naive = OTHELLO.moves(state), naive_moves(squares, side)
        assert sorted(moves) == (naive or [PASS])
        for move in naive:
            after = python_state(OTHELLO, RULES.play(state, move))
            assert squares_of(after) == naive_play(squares, side, move)
            assert after.seat == 1 - state.seat
        other = naive_moves(squares, "OX"[state.seat])
        x, o = (squares.count(disc) for disc in "XO")
        worth = (x > o) - (x < o) if side == "X" else (o > x) - (o < x)
        assert RULES.outcome(state) == (not naive and not other, worth if not naive and not other else 0)


def scattered(number: int) -> State:
    """Any discs anywhere: lines that no game shows."""
    words = [random_word(SEED, number, k, EXPLORE) | random_word(SEED, number, k, EXPLORE) << 40 for k in range(3)]
    me, opponent = (words[0] | words[1]) & words[2] & FULL, (words[0] | words[1]) & ~words[2] & FULL
    return State(signed(me), signed(opponent), 0)


def test_moves_and_results_of_scattered_discs():
    for number in range(300 if JIT else 20):
        state = scattered(number)
        squares = squares_of(state)
        naive = naive_moves(squares, "X")
        assert sorted(OTHELLO.moves(state)) == (naive or [PASS])
        for move in naive:
            assert squares_of(python_state(OTHELLO, RULES.play(state, move))) == naive_play(squares, "X", move)


def test_moves_come_corners_first_and_x_squares_last():
    for state in random_states():
        classes = [move_class(move) for move in OTHELLO.moves(state)]
        assert classes == sorted(classes)


def move_class(move: int) -> int:
    corner, beside = {0, 7, 56, 63}, {9, 14, 49, 54}
    return 0 if move in corner else 2 if move in beside else 1


def test_distinct_positions_by_number_of_discs():
    """Up to symmetry, both sides to move alike, by other programs' counts; no pass is possible so early."""
    known = read_json("othello/perft.json")["unique_positions_by_discs_up_to_symmetry_4..13"]
    layer = {python_state(OTHELLO, RULES.initial())}
    for expected in known[: 7 if JIT else 4]:
        assert len(layer) == expected
        results = (RULES.play(state, move) for state in layer for move in OTHELLO.moves(state))
        layer = {class_of(python_state(OTHELLO, result)) for result in results}


def class_of(state: State) -> State:
    """The smallest of a position's images."""
    board = squares_of(state)
    images = ("".join(board[p] for p in permutation) for permutation in OTHELLO.symmetries.tolist())
    return OTHELLO.parse(f"{min(images)} {'XO'[state.seat]}")


def test_symmetries_carry_moves_along():
    for state in random_states()[::20]:
        board, side = squares_of(state), "XO"[state.seat]
        for permutation in OTHELLO.symmetries.tolist():
            image = "".join(board[p] for p in permutation)
            assert {permutation[move] for move in naive_moves(image, side)} == set(naive_moves(board, side))


# --- passes, ends, scores ---------------------------------------------------------------------------------------------


def test_a_side_that_cannot_move_passes():
    state = OTHELLO.parse(BLACK_PASSES)
    assert OTHELLO.moves(state) == [PASS]
    assert RULES.outcome(state) == (False, 0)
    after = python_state(OTHELLO, RULES.play(state, PASS))
    assert after == OTHELLO.parse(BLACK_PASSES.replace(" X", " O")) == python_state(OTHELLO, RULES.null(state))
    for text in ("pass", "--", "pa", " PASS "):
        assert OTHELLO.find_move(state, text) == PASS
    assert OTHELLO.move_text(state, PASS) == "pass"
    with pytest.raises(InputError, match="legal: pass"):
        OTHELLO.find_move(state, "a1")
    with pytest.raises(InputError, match="'pass' is not a legal move here; legal: "):
        OTHELLO.find_move(after, "pass")


def test_the_shortest_game():
    state = played(SHORTEST)
    assert squares_of(state).count("X") == 13
    assert "O" not in squares_of(state)
    assert RULES.outcome(state) == (True, -1)
    assert RULES.score(state) == -64
    assert RULES.score(RULES.null(state)) == 64


def test_scores_give_the_empty_squares_to_the_winner():
    ends = [state for state in random_states() if RULES.outcome(state)[0]]
    for state in ends:
        squares = squares_of(state)
        x, o, empty = (squares.count(disc) for disc in "XO-")
        value = x - o + ((x > o) - (x < o)) * empty
        assert RULES.score(state) == (value if state.seat == 0 else -value)
    assert not JIT or {int(np.sign(RULES.score(state))) for state in ends} >= {-1, 1}


def test_games_with_passes_are_among_the_random_ones():
    assert not JIT or any(OTHELLO.moves(state) == [PASS] and not RULES.outcome(state)[0] for state in random_states())


def test_corner_moves_are_noisy():
    for state in random_states():
        for move in OTHELLO.moves(state):
            assert RULES.noisy(state, move) == (move in (0, 7, 56, 63))


def test_keys_ignore_the_seat_and_stay_below_2_to_the_63():
    for state in random_states():
        assert 0 <= int(RULES.key(state)) < 1 << 63
        assert RULES.key(state) == RULES.key(state._replace(seat=1 - state.seat)) != RULES.key(RULES.null(state))


def test_keys_of_neighbours_spread_over_low_and_high_bits():
    """Tables take the low bits, tags the high ones: 4,096 keys in 4,096 places fill 63 % of them."""
    keys = [int(RULES.key(State(signed(a << 58), signed(b), 0))) for a in range(64) for b in range(64)]
    for place in (lambda key: key & 4095, lambda key: key >> 51):
        assert 2450 < len(set(map(place, keys))) < 2730


# --- text and pictures ------------------------------------------------------------------------------------------------


def test_positions_are_read_with_and_without_a_space():
    start = python_state(OTHELLO, RULES.initial())
    for text in (EXAMPLE, f"{START}X", f"{START}\tx", EXAMPLE.replace("-", "."), f"  {EXAMPLE.lower()} "):
        assert OTHELLO.parse(text) == start
    assert OTHELLO.format(start) == EXAMPLE
    white = OTHELLO.parse(f"{START} O")
    assert white == (start.opponent, start.me, 1)
    assert OTHELLO.format(white) == f"{START} O"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (START, "64 characters instead of 64 squares and X or O to move"),
        (f"{START}- X", "66 characters"),
        (f"{START[:-1]}? X", "'[?]' on a square: X, O or - is right"),
        (f"{START} -", "ends with '-': X or O is to move"),
        (f"{'-' * 64} X", "no disc on d4: the four squares of the centre are never empty"),
        (f"{START[:36]}-{START[37:]} O", "no disc on e5"),
    ],
)
def test_bad_positions_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        OTHELLO.parse(text)


def test_moves_are_written_by_column_and_row():
    start = RULES.initial()
    assert sorted(OTHELLO.move_text(start, move) for move in OTHELLO.moves(start)) == ["c4", "d3", "e6", "f5"]
    assert OTHELLO.find_move(start, " D3 ") == 19
    with pytest.raises(InputError, match=r"'d4' is not a legal move here; legal: .*d3"):
        OTHELLO.find_move(start, "d4")


def test_the_board_as_text_marks_moves():
    lines = OTHELLO.ansi(RULES.initial()).splitlines()
    assert lines[0].split() == list("abcdefgh")
    assert lines[4].split() == ["4", ".", ".", "*", "O", "X", ".", ".", "."]
    assert lines[-1] == "X 2, O 2; X to move"
    assert "\033[" in OTHELLO.ansi(RULES.initial(), color=True)


def test_the_picture_shows_discs_where_they_are():
    picture = OTHELLO.draw(played("d3"))
    colors = [picture.getpixel((26 + 50 * (s % 8) + 25, 26 + 50 * (s // 8) + 25)) for s in (19, 36, 0)]
    black, white, empty = (sum(color) for color in colors)
    assert black < empty < white


# --- features and handmade players ------------------------------------------------------------------------------------


def active(name: str, state: State) -> dict[str, float]:
    feature_set = OTHELLO.features(name)
    index, value = np.zeros(feature_set.max_active, np.int32), np.zeros(feature_set.max_active, np.float32)
    n = RULES.features(state, np.array(feature_set.spec, np.int64), index, value)
    names = feature_set.names()
    return {names[i]: float(v) for i, v in zip(index[:n], value[:n], strict=True)}


def touches(square: int, squares: str, disc: str) -> bool:
    x, y = square % 8, square // 8
    around = [(x + dx, y + dy) for dx, dy in DIRECTIONS if 0 <= x + dx < 8 and 0 <= y + dy < 8]
    return any(squares[i + 8 * j] == disc for i, j in around)


EDGE_LINES = [[8 * k for k in range(8)], [8 * k + 7 for k in range(8)], list(range(8)), list(range(56, 64))]
BESIDE_CORNERS = {0: (9, (1, 8)), 7: (14, (6, 15)), 56: (49, (48, 57)), 63: (54, (55, 62))}


def naive_counts(squares: str, side: str) -> dict[str, float]:
    other = "OX"["XO".index(side)]
    safe = set()
    for line in (line[::step] for line in EDGE_LINES for step in (1, -1)):
        length = next((k for k, square in enumerate(line) if squares[square] != side), 8)
        safe |= set(line[:length])
    open_corners = [corner for corner in BESIDE_CORNERS if squares[corner] == "-"]
    return {
        "moves": 0.1 * len(naive_moves(squares, side)),
        "potential_moves": 0.1 * sum(squares[i] == "-" and touches(i, squares, other) for i in range(64)),
        "corners": sum(squares[corner] == side for corner in BESIDE_CORNERS),
        "x_squares": sum(squares[BESIDE_CORNERS[corner][0]] == side for corner in open_corners),
        "c_squares": sum(squares[i] == side for corner in open_corners for i in BESIDE_CORNERS[corner][1]),
        "safe_edge_discs": 0.2 * len(safe),
    }


def test_criteria_equal_naive_counts():
    for state in random_states()[::5]:
        squares, side = squares_of(state), "XO"[state.seat]
        taken = 64 - squares.count("-")
        third = "opening" if taken < 24 else "middle" if taken < 44 else "end"
        wanted = {f"me_{name}_{third}": count for name, count in naive_counts(squares, side).items()}
        wanted |= {f"opponent_{n}_{third}": c for n, c in naive_counts(squares, "OX"[state.seat]).items()}
        wanted[f"discs_{third}"] = (squares.count(side) - squares.count("OX"[state.seat])) / 16
        wanted[f"odd_empties_{third}"] = taken % 2
        wanted[f"constant_{third}"] = 1
        assert active("criteria", state) == pytest.approx({k: v for k, v in wanted.items() if v}, abs=1e-6)


def test_squares_and_discs_say_the_same():
    for state in random_states()[::10]:
        squares, side = squares_of(state), "XO"[state.seat]
        discs, sides = active("discs", state), active("squares", state)
        names = OTHELLO.features("discs").names()
        for name, disc in zip(names, squares, strict=True):
            sign = 0 if disc == "-" else 1 if disc == side else -1
            assert discs.get(name, 0) == sides.get(f"me_{name}", 0) - sides.get(f"opponent_{name}", 0) == sign
        assert active("expert", state) == sides | active("criteria", state)


def test_positional_player_is_the_sum_of_weights():
    assert np.abs(SQUARE_WEIGHTS).sum() == pytest.approx(8.76)
    positional = OTHELLO.baselines["positional"].function
    for state in random_states()[::10]:
        signs = [{"-": 0, "XO"[state.seat]: 1}.get(disc, -1) for disc in squares_of(state)]
        assert positional(state) == pytest.approx(float(np.dot(signs, SQUARE_WEIGHTS)) / 9)


@pytest.mark.parametrize("name", ["positional", "mobility"])
def test_values_are_opposite_for_the_other_side(name):
    value = OTHELLO.baselines[name].function
    assert all(value(state) == pytest.approx(-value(RULES.null(state))) for state in random_states()[::10])


def test_criteria_of_a_move():
    state = OTHELLO.parse("-XXXXXX---XOOOO--XOXXOOX-OOOOOOOOOOOXXOOOOOXXOOX--XXOO----XXXXX- X")
    rank = OTHELLO.baselines["criteria"].function
    ranks = {
        OTHELLO.move_text(state, move): rank(state, move, RULES.play(state, move)) for move in OTHELLO.moves(state)
    }
    assert all(
        ranks[corner] > max(v for k, v in ranks.items() if k not in CORNER_TEXTS)
        for corner in ranks
        if corner in CORNER_TEXTS
    )
    for text, found in ranks.items():
        move = OTHELLO.find_move(state, text)
        after = naive_play(squares_of(state), "X", move)
        mine, his = len(naive_moves(after, "X")), len(naive_moves(after, "O"))
        turned = len(turned_by(squares_of(state), "X", move))
        assert found == pytest.approx(10 * (text in CORNER_TEXTS) + 5 * (his == 0) + mine - his + 0.1 * turned)


CORNER_TEXTS = ("a1", "h1", "a8", "h8")
