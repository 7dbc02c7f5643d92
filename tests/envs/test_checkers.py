"""Checkers: rules against a naive board and known counts, notation, game files, features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

import numpy as np
import pytest
from conftest import python_state, random_game, read_json
from oracles import naive_checkers as naive

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.games.checkers import rules
from deltaw.envs.games.checkers.actions import PLANES
from deltaw.envs.games.checkers.notation import pieces_of
from deltaw.envs.games.checkers.rules import DRAWN_AFTER, SQUARES, State, legal_moves
from deltaw.envs.games.checkers.samuel import CONNECTED, CONNECTIVES, PARAMETERS
from deltaw.envs.kernel import JIT
from deltaw.envs.path import make_path, reach
from deltaw.envs.perft import count
from deltaw.envs.record import Event, GameRecord
from deltaw.envs.turn import end

CHECKERS = games.load("checkers")
RULES = CHECKERS.rules
PDN = CHECKERS.files[".pdn"]
START = python_state(CHECKERS, RULES.initial())
SEED = 7
LOOP = "B:W10,11,18,19:BK7"
"""a king that can jump round in both directions"""


@cache
def states() -> list[State]:
    """Of random games, and with pieces anywhere, of which many are kings."""
    played = [state for number in range(8 if JIT else 1) for state in random_game(CHECKERS, SEED, number, 90)]
    return played + [scattered(number) for number in range(400 if JIT else 20)]


def scattered(number: int) -> State:
    """Up to 8 pieces against up to 12, half of them kings."""
    random = np.random.default_rng((SEED, number))
    squares, royal = random.permutation(SQUARES).tolist(), random.random(SQUARES) < 0.5
    mine, his = int(random.integers(1, 9)), int(random.integers(2, 13))
    me, opponent = mask(squares[:mine]), mask(squares[mine : mine + his])
    kings = mask(np.flatnonzero(royal)) & (me | opponent) | me & rules.LAST_ROW | opponent & 0xF
    return State(me, opponent, kings, 0, number % 2)


def mask(squares: Iterable[int]) -> int:
    return sum(1 << int(square) for square in squares)


def board_of(state: State) -> naive.Board:
    return {number: ".bwBW"[piece] for number, piece in enumerate(pieces_of(state), start=1) if piece}


def texts_of(state: State) -> Counter:
    """Every legal move as it is written, different ways to the same result included."""
    out = np.empty(rules.MAX_MOVES, np.int64)
    return Counter(CHECKERS.move_text(state, int(move)) for move in out[: legal_moves(state, out)])


def after(text: str, *moves: str) -> State:
    state = CHECKERS.read_position(text)
    for move in moves:
        state = python_state(CHECKERS, RULES.play(state, CHECKERS.find_move(state, move)))
    return state


# --- rules ------------------------------------------------------------------------------------------------------------


def test_moves_and_results_equal_a_naive_boards():
    seen: Counter = Counter()
    for state in states():
        expected = naive.moves(board_of(state), "bw"[state.seat])
        over = RULES.outcome(state)
        assert over == ((False, 0) if expected else (True, -1))
        if not expected:
            continue
        captures = len(board_of(state)) > len(expected[0][1])
        assert texts_of(state) == Counter(("x" if captures else "-").join(map(str, path)) for path, _ in expected)
        results = {frozenset(board.items()) for _, board in expected}
        children = [python_state(CHECKERS, RULES.play(state, move)) for move in CHECKERS.moves(state)]
        assert len(children) == len(results)
        assert {frozenset(board_of(child).items()) for child in children} == results
        assert all(child.seat == 1 - state.seat for child in children)
        assert all(RULES.noisy(state, move) == captures for move in CHECKERS.moves(state))
        seen.update(len(path) for path, _ in expected)
        seen["crowned"] += any(len([p for p in board.values() if p in "BW"]) for _, board in expected)
    assert not JIT or all(seen[length] for length in (2, 3, 4, 5, "crowned"))


@pytest.mark.parametrize(
    "depth", [pytest.param(11, marks=() if JIT else pytest.mark.slow), pytest.param(13, marks=pytest.mark.slow)]
)
def test_known_counts_of_deep_trees(depth):
    assert count(CHECKERS, START, depth) == read_json("checkers/perft.json")["perft"][str(depth)]


def test_two_ways_round_are_two_moves_with_one_result():
    state = CHECKERS.parse(LOOP)
    assert texts_of(state) == Counter(["7x14x23x16x7", "7x16x23x14x7"])
    (kept,) = CHECKERS.moves(state)
    for text in ("7x14x23x16x7", "7x16x23x14x7", "7x7"):
        assert CHECKERS.find_move(state, text) == kept
    assert CHECKERS.format(after(LOOP, "7x7")) == "W:W:BK7"


def test_no_position_has_more_moves_than_there_is_room_for():
    """A king has 16 ways at most through pieces on every square that can be jumped."""
    inner = sum(1 << s for s in range(SQUARES) if s // 4 not in (0, 7) and 0 < (2 * (s % 4) + 1 - s // 4 % 2) < 7)
    out, most = np.empty(10_000, np.int64), 0
    for square in range(SQUARES):
        row = square // 4 % 2
        others = sum(1 << s for s in range(SQUARES) if s // 4 % 2 != row) & inner
        state = State(1 << square, others & ~(1 << square), 1 << square, 0, 0)
        most = max(most, legal_moves(state, out))
    assert most * rules.MOST_PIECES == rules.MAX_MOVES


@pytest.mark.parametrize(
    ("position", "moves"),
    [
        ("B:W25,26:B21,1", ["21x30"]),  # crowned, and so the man does not go on over 26
        ("B:W25,26:BK21,1", ["21x30x23"]),
        ("B:W14,22:B9,K5", ["9x18x25"]),  # who can jump must, and must go on
        ("W:WK31:B27,26", ["31x22", "31x24"]),
        ("B:W9,13,14:B5", []),
    ],
)
def test_jumps_and_crowning(position, moves):
    assert sorted(texts_of(CHECKERS.parse(position))) == moves


def test_who_cannot_move_has_lost():
    for position in ("B:W9,14:B5", "B:W9,13,14,17:B5", "W:W:B1"):
        state = CHECKERS.parse(position)
        assert RULES.outcome(state) == ((False, 0) if texts_of(state) else (True, -1))
    assert RULES.outcome(CHECKERS.parse("W:W:B1:H80")) == (True, -1)


def test_forty_moves_without_progress_are_a_draw():
    before = after(f"B:WK32:B9,K1:H{DRAWN_AFTER - 1}")
    assert RULES.outcome(before) == (False, 0)
    assert RULES.outcome(after(CHECKERS.format(before), "1-6")) == (True, 0)
    assert after(CHECKERS.format(before), "9-13").clock == 0
    assert after("B:W6:BK1,K32:H79", "1x10").clock == 0


def test_the_third_occurrence_is_a_draw_of_the_game():
    state, path, over = CHECKERS.parse("B:WK32:BK1"), make_path(RULES), []
    for text in ["1-6", "32-27", "6-1", "27-32"] * 2:
        reach(RULES, path, state)
        state = after(CHECKERS.format(state), text)
        over.append(bool(end(RULES, path, state, 0)[0]))
    assert over == [False] * 7 + [True]
    path = make_path(RULES)
    for state in (CHECKERS.parse("B:WK32:BK1,9"), CHECKERS.parse("B:WK32:BK1,9")):
        reach(RULES, path, state)
    assert not end(RULES, path, CHECKERS.parse("B:WK32:BK1,9:H0"), 0)[0]  # what cannot be taken back


def test_keys_tell_sides_and_clocks_apart_where_it_matters():
    black, white = CHECKERS.parse("B:WK32:BK1"), CHECKERS.parse("W:WK32:BK1")
    assert RULES.key(black) == RULES.key(white)
    assert RULES.repetition_key(black) != RULES.repetition_key(white)
    late = black._replace(clock=rules.CLOCK_FROM + 1)
    assert RULES.key(black) == RULES.key(black._replace(clock=rules.CLOCK_FROM)) != RULES.key(late)
    assert RULES.repetition_key(black) == RULES.repetition_key(late)
    assert RULES.reversible(late) == late.clock


def test_a_jump_is_spelled_letter_by_letter():
    state = CHECKERS.parse("B:W10,11,18,19,26,27:BK7")
    word, squares = np.int64(0), []
    for text in ("7x14", "14x23", "23x32"):
        mask, seen = np.zeros(RULES.num_actions, np.int8), np.zeros(RULES.observation_size, np.float32)
        RULES.action_mask(state, word, mask)
        RULES.observe(state, word, seen)
        squares.append(np.flatnonzero(seen.reshape(PLANES, SQUARES)[-1]).tolist())
        square = int(text.split("x")[0]) - 1
        assert set(np.flatnonzero(mask) // 4) == {square}
        direction = {"7x14": 0, "14x23": 1, "23x32": 1}[text]
        word, complete = RULES.spell(state, word, np.int64(4 * square + direction))
        assert complete == (text == "23x32")
    assert squares == [[], [13], [22]]
    assert CHECKERS.move_text(state, int(word)) == "7x14x23x32"


# --- text and files ---------------------------------------------------------------------------------------------------


def test_positions_are_read_as_programs_write_them():
    for text in ("B:W21-32:B1-12", "b:b1-12:w21-32.", " B:W21,22,23-32:B1-12:H0:F1 "):
        assert CHECKERS.parse(text) == START
    for state in states():
        assert CHECKERS.parse(CHECKERS.format(state._replace(clock=33))) == state._replace(clock=33)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B:W21-32", "the side to move and the squares of W and of B are right, as B:W18,24,K27:B12,K16"),
        ("X:W21:B1", "the side to move and the squares"),
        ("B:W21:B1:W22", "'W22' is no part of one"),
        ("B:W33:B1", "'33' is no square; 1 to 32 are right, K for a king"),
        ("B:W21,,22:B1", "'' is no square"),
        ("B:W21,21:B1", "square 21 is named twice"),
        ("B:W21:B1,21", "both sides are on square 21"),
        ("B:W20-32:B1", "White has 13 pieces; 12 are the most"),
        ("B:W21:B1,30", "Black's man on 30 is on his last row; write K30 for a king"),
        ("B:W2:B1", "White's man on 2 is on his last row"),
        ("B:W21:B1:H81", "H81 plies without progress; the game is drawn after 80"),
    ],
)
def test_bad_positions_are_refused(text, message):
    with pytest.raises(InputError) as caught:
        CHECKERS.parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_moves_are_read_in_short():
    state = CHECKERS.parse("B:W10,11,18,19,26,27:BK7")
    for text in ("7x14x23x30", "7-14-23-30", "7:14:23:30!", "7x14x23x30*"):
        assert CHECKERS.move_text(state, CHECKERS.find_move(state, text)) == "7x14x23x30"
    with pytest.raises(InputError, match="'7x30' can be 7x14x23x30, 7x16x23x30: write which"):
        CHECKERS.find_move(state, "7x30")
    with pytest.raises(InputError, match="'7-11' is not a legal move here; legal: 7x14x23x30, "):
        CHECKERS.find_move(state, "7-11")
    assert CHECKERS.move_text(START, CHECKERS.find_move(START, "11-15")) == "11-15"


GAMES = """
[Event "a match"]
[Black "Wyllie"]
[White "Martins"]
[Result "1-0"]

1. 11-15 {the old fourteenth} 23-19 $1 2. 8-11 (2. 9-13 22-17! (22-18)) 22-17 3. 4-8! 17-13 4. 15-18 24-20 1-0

[FEN "W:WK20:B23"]
1... 20-24 2. 23-27 24x31 *

1. 11-16 24-19 2. 8-11 19-15 3. 10x19 23-17 0-1
"""


def test_pdn_is_read_without_its_remarks():
    first, second, third = PDN.read(CHECKERS, GAMES)
    assert first.players == ("Wyllie", "Martins")
    assert (len(first.events), first.payoffs) == (8, (1.0, -1.0))
    assert second.start.seat == 1
    assert second.players == ("White", "Black")
    assert second.payoffs == (1.0, -1.0)  # the rules say so: Black has no piece left
    assert "game 3, move 3 of White: '23-17' is not a legal move here; legal: " in third.notes[0]
    assert (len(third.events), third.payoffs) == (5, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1. 11-17 *", "game 1, move 1 of Black: '11-17' is not a legal move here; legal: "),
        ('[FEN "W:W33:B1"] 1. 11-15', "game 1: 'W:W33:B1' is no position: '33' is no square"),
        ('[GameType "20,W,10,10,N2,0"] 1. 32-28', "game 1: GameType is '20,W,10,10,N2,0'; 21, English draughts, can"),
        ('[FEN "B:W21:B"]\n1. 11-15', "'11-15' comes after the end of the game: White wins"),
    ],
)
def test_pdn_without_a_game_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        PDN.read(CHECKERS, text)
    assert message in str(caught.value)


def test_pdn_is_written_with_numbers_and_tags():
    moves = [CHECKERS.find_move(after("W:WK20:B23"), "20-24")]
    record = GameRecord(
        after("W:WK20:B23"), ("white", "black"), tuple(Event(False, move) for move in moves), (1.0, -1.0)
    )
    text = PDN.write(CHECKERS, [record])
    assert '[Black "black"]\n[White "white"]\n[Result "0-1"]\n[SetUp "1"]\n[FEN "W:WK20:B23"]\n[GameType "21"]' in text
    assert text.endswith("\n\n1... 20-24 0-1\n\n")
    assert PDN.read(CHECKERS, text) == [record]


def test_the_board_as_text_and_as_a_picture():
    state = CHECKERS.parse("W:W18,K4:B12,K16")
    lines = CHECKERS.ansi(state).splitlines()
    assert lines[0] == "  .   .   .   W    1 to  4"
    assert lines[4].split()[:4] == [".", "w", ".", "."]
    assert lines[-1] == "White to move"
    assert CHECKERS.ansi(CHECKERS.parse("W:W:B1")).endswith("Black wins")
    picture = CHECKERS.draw(CHECKERS.parse("W:W18:B12"))
    dark, light = (sum(picture.getpixel((14 + 52 * x + 26, 14 + 52 * y + 26))) for x, y in ((7, 2), (3, 4)))
    assert dark < 200 < 600 < light


# --- features ---------------------------------------------------------------------------------------------------------


def active(name: str, state: State) -> dict[str, float]:
    feature_set = CHECKERS.features(name)
    index, value = np.zeros(feature_set.max_active, np.int32), np.zeros(feature_set.max_active, np.float32)
    n = RULES.features(state, np.array(feature_set.spec, np.int64), index, value)
    names = feature_set.names()
    return {names[i]: float(v) for i, v in zip(index[:n], value[:n], strict=True)}


def test_squares_and_counts():
    state = CHECKERS.parse("W:W18,K4:B12,13,K16")
    names = {"my_man_15", "my_king_29", "opponent_man_21", "opponent_man_20", "opponent_king_17"}
    assert active("squares", state) == dict.fromkeys(names, 1.0)
    counts = {"my_man": 1, "my_king": 1, "opponent_man": 2, "opponent_king": 1}
    assert active("men_kings", state) == pytest.approx({name: n / 12 for name, n in counts.items()})


def test_samuels_terms_are_differences_of_the_sides():
    for state in states()[::10]:
        mine, his = active("samuel", state), active("samuel", State(*rules.turn(*state[:3]), 0, 0))
        for name in ("PIECES", *PARAMETERS):
            assert mine.get(name, 0) == -his.get(name, 0)
        assert mine.get("MOVE", 0) == his.get("MOVE", 0)
        for names, (a, b) in zip(CONNECTIVES, CONNECTED, strict=True):
            first, second = (mine.get(PARAMETERS[k], 0) > 0 for k in (a, b))
            assert [mine.get(name, 0) for name in names] == np.eye(4)[2 * (not first) + (not second)].tolist()


@pytest.mark.parametrize(
    ("position", "terms"),
    [
        # a term counts with its parameter of my side minus that of the other side; Black is to move
        ("B:W32:B13,18,11", {"ADV": 1 - 2 + 0, "KCENT": 0}),
        ("B:WK32:B18", {"APEX": 0, "CENT": 1, "KCENT": 0}),
        ("B:WK22:BK18,K15", {"KCENT": 2 - 1}),
        ("B:W32:B1,3", {"BACK": 1, "GUARD": 1, "OREO": 0}),
        ("B:W32:B2,3,7", {"BACK": 0, "GUARD": 1, "OREO": 1}),
        ("B:WK32:B2,3,7", {"GUARD": 0, "OREO": 1}),
        ("B:W17,21,22,25:B13,9", {"CRAMP": 2}),
        ("B:W17,21,22:B13,9", {"CRAMP": 0}),
        ("B:W32:B6,10,15,19", {"DYKE": 2, "DIA": 4 - 1, "DIAV": 12 - 3}),
        ("B:W32:B10,11", {"FORK": 1, "HOLE": 0, "GAP": 0 - 1}),
        ("B:W32:B6,7,14", {"HOLE": 1}),
        ("B:W29:B14", {"NODE": 1, "POLE": 1 - 1, "EXPOS": 1}),
        ("B:W29:BK14", {"NODE": 1, "POLE": 0 - 1, "EXPOS": 1}),
        ("B:W31:B3", {"MOB": 2 - 2, "MOVE": 4}),
        ("B:W31:B6", {"MOVE": -4}),
        ("B:W31,32:B6", {"MOVE": 0}),
        ("B:W29:B6,15", {"GAP": 3}),
        ("B:W23:B14", {"DENY": 1 - 1, "EXCH": 0, "THRET": 1 - 1}),
        ("B:W23,27:B14", {"DENY": 0 - 1, "EXCH": 1, "RECAP": 1, "THRET": 1, "MOBIL": 3 - 1}),
        ("B:WK6:B13,20,21", {"CORN": 1, "CNTR": 1, "PIECES": 3}),
    ],
)
def test_samuels_terms(position, terms):
    found = active("samuel", CHECKERS.parse(position))
    assert {name: 4 * found.get(name, 0) for name in terms} == terms


def test_the_material_player_counts_kings_as_a_man_and_a_half():
    value = CHECKERS.baselines["material"].function
    assert value(CHECKERS.parse("B:W32:BK1")) == pytest.approx(np.tanh(0.125))
    assert value(CHECKERS.parse("W:W32:BK1,2")) == pytest.approx(-np.tanh(0.375))
