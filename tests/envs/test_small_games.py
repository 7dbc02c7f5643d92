"""Nim and three-player tic-tac-toe: against plain Python that knows no bit masks, and against what is known of them."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from conftest import python_state, random_game

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.search.players.agent import Agent

NIM, THREE = games.load("nim"), games.load("tic_tac_toe_three")

# --- Nim --------------------------------------------------------------------------------------------------------------


@functools.cache
def nim_value(heaps: tuple[int, ...]) -> int:
    """1 where the mover can take the last object, else -1."""
    smaller = ((*heaps[:i], left, *heaps[i + 1 :]) for i, n in enumerate(heaps) for left in range(n))
    return max((-nim_value(tuple(sorted(after))) for after in smaller), default=-1)


def test_boutons_theorem():
    for heaps in itertools.product(range(4), range(6), range(8)):
        state = NIM.parse("-".join(map(str, heaps)))
        assert NIM.baselines["nim_sum"].function(state) == nim_value(tuple(sorted(heaps)))


def test_nim_moves_take_from_one_heap():
    state = NIM.parse("3-0-2 2")
    texts = {NIM.move_text(state, move): NIM.format(NIM.rules.play(state, move)) for move in NIM.moves(state)}
    assert texts == {"a1": "2-0-2", "a2": "1-0-2", "a3": "0-0-2", "c1": "3-0-1", "c2": "3"}


def test_the_largest_position_of_nim():
    state = NIM.parse("15-15-15-15-15-15-15")
    assert len(NIM.moves(state)) == NIM.rules.max_moves == 105
    assert NIM.moves(state) == list(range(105))
    assert NIM.baselines["nim_sum"].function(state) == 1
    after = python_state(NIM, NIM.rules.play(state, 104))
    assert NIM.format(after) == "15-15-15-15-15-15 2"


def test_whoever_takes_the_last_object_wins():
    last = NIM.rules.play(NIM.parse("0-4"), NIM.find_move(NIM.parse("0-4"), "b4"))
    assert NIM.rules.outcome(last) == (True, -1)
    assert NIM.rules.seat(last) == 1
    assert NIM.rules.score(last) == -1
    assert NIM.rules.outcome(NIM.parse("1")) == (False, 0)


def test_parity_is_right_for_heaps_of_one():
    for n in range(1, 8):
        text = "-".join("1" * n)
        assert NIM.baselines["parity"].function(NIM.parse(text)) == 0.5 * nim_value((1,) * n)


def test_nim_features():
    index, value = np.zeros(11, np.int32), np.zeros(11, np.float32)
    n = NIM.rules.features(NIM.parse("3-5-7"), np.array([1]), index, value)
    names = NIM.features("nim_sum").names()
    assert [names[i] for i in index[:n]] == ["heap_a_3", "heap_b_5", "heap_c_7", "nim_sum_1"]
    assert NIM.rules.features(NIM.parse("3-5-7"), np.array([0]), index, value) == 3


@pytest.mark.parametrize("text", ["16", "1-2-3-4-5-6-7-8", "3--5", "", "3-5-7 3", "a-b", "-1", "3 5 7", "²"])
def test_bad_positions_of_nim(text):
    with pytest.raises(InputError, match="is no position: up to 7 heaps of up to 15"):
        NIM.parse(text)


def test_nim_positions_are_read_as_people_write_them():
    assert NIM.parse(" 3-5-7  2 ") == NIM.parse("3-5-7 2")
    assert NIM.parse("3-5-7 1") == NIM.rules.initial()


# --- tic-tac-toe for three --------------------------------------------------------------------------------------------

DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
LINES = [
    cells
    for x, y, (dx, dy) in itertools.product(range(4), range(3), DIRECTIONS)
    if set(cells := [(x + k * dx, y + k * dy) for k in range(3)]) <= set(itertools.product(range(4), range(3)))
]


def board_of(text):
    """{(column, row): player} of a position."""
    return {(i % 4, i // 4): player for i, player in enumerate(text.replace("/", "")) if player != "-"}


def winner(board):
    """The player who has a line, if any."""
    return next(
        (board[line[0]] for line in LINES if len({board.get(cell) for cell in line}) == 1 and line[0] in board), None
    )


def payoffs_of(board):
    """Of X, O and Z, when the game is over; None before."""
    if (won := winner(board)) is not None:
        return tuple(2 if player == won else -1 for player in "XOZ")
    return (0, 0, 0) if len(board) == 12 else None


def test_there_are_fourteen_lines():
    assert len(LINES) == 14


def test_games_of_three_end_as_the_board_says():
    won = set()
    for number in range(60):
        for ply, state in enumerate(random_game(THREE, 3, number)):
            board = board_of(THREE.format(state))
            expected = payoffs_of(board)
            assert len(board) == ply
            assert THREE.rules.seat(state) == ply % 3
            assert THREE.rules.outcome(state)[0] == (expected is not None)
            if expected is not None:
                out = np.empty(3)
                THREE.rules.payoffs(state, out)
                assert tuple(np.roll(out, ply % 3)) == expected
                assert THREE.rules.outcome(state)[1] == expected[ply % 3]
                won.add(winner(board))
    assert won == {"X", "O", "Z", None} or won == {"X", "O", "Z"}


def test_features_count_the_lines_that_are_open():
    """Mover Z: one X stone and one O stone in a corner each, a Z stone in the middle."""
    state = THREE.parse("X--O/-Z--/X--O")
    index, value = np.zeros(18, np.int32), np.zeros(18, np.float32)
    n = THREE.rules.features(state, np.array([1]), index, value)
    assert THREE.rules.seat(state) == 2
    found = {THREE.features().names()[i]: v for i, v in zip(index[:n], value[:n], strict=True)}
    board, expected = board_of("X--O/-Z--/X--O"), {}
    for side, player in (("me", "Z"), ("next", "X"), ("previous", "O")):
        for stones in (1, 2):
            kinds = [{board[cell] for cell in line if cell in board} for line in LINES]
            counts = [sum(cell in board for cell in line) for line in LINES]
            lines = sum(kind == {player} and count == stones for kind, count in zip(kinds, counts, strict=True))
            expected |= {f"{side}_lines_{stones}": lines} if lines else {}
    assert {name: v for name, v in found.items() if "lines" in name} == expected
    assert {name for name in found if "lines" not in name} == {
        "me_b2",
        "next_a1",
        "next_a3",
        "previous_d1",
        "previous_d3",
    }


def test_shares_are_payoffs_that_add_up_to_nothing():
    shares, out = THREE.baselines["shares"].function, np.empty(3)
    for number in range(20):
        for state in random_game(THREE, 4, number):
            shares(state, out)
            assert abs(out.sum()) < 1e-12
            assert THREE.baselines["own_share"].function(state) == out[0]
    shares(THREE.rules.initial(), out)
    assert out.tolist() == [0, 0, 0]
    shares(THREE.parse("XX--/O-O-/Z---"), out)  # Z to move; X and O each have a line to complete
    assert out[0] < 0 < out[1]


def test_mirrored_boards_are_one_game():
    images = THREE.symmetries
    assert images.shape == (4, 12)
    assert images[0].tolist() == list(range(12))
    lines = {tuple(sorted(x + 4 * y for x, y in line)) for line in LINES}
    for image in images:
        assert {tuple(sorted(int(image[cell]) for cell in line)) for line in lines} == lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("XO--/----/---", "twelve of"),
        ("XX--/----/----", "as many of each"),
        ("XOZY/----/----", "twelve of"),
        ("XXX-/OO-O/Z-Z-", "ended with the first line"),
        ("XXX-/OOO-/ZZZ-", "ended with the first line"),
    ],
)
def test_bad_positions_of_three(text, message):
    with pytest.raises(InputError, match=message):
        THREE.parse(text)


def test_the_last_move_may_complete_a_line():
    assert THREE.rules.outcome(THREE.parse("XXX-/OO--/ZZ--")) == (True, -1)


@functools.cache
def everybody_for_himself(cells: str) -> tuple[int, int, int]:
    """max^n by definition: payoffs of X, O and Z; the first of the moves that are equal for the mover."""
    over = payoffs_of(board_of(cells))
    if over is not None:
        return over
    mover = (12 - cells.count("-")) % 3
    best = None
    for i in range(12):
        if cells[i] == "-":
            after = everybody_for_himself(cells[:i] + "XOZ"[mover] + cells[i + 1 :])
            best = after if best is None or after[mover] > best[mover] else best
            if best[mover] == 2:
                break
    return best


@functools.cache
def is_beaten(cells: str, victim: int) -> bool:
    """Whether the two others, allied, make this player lose."""
    over = payoffs_of(board_of(cells))
    if over is not None:
        return over[victim] < 0
    mover = (12 - cells.count("-")) % 3
    children = (cells[:i] + "XOZ"[mover] + cells[i + 1 :] for i in range(12) if cells[i] == "-")
    answers = (is_beaten(child, victim) for child in children)
    return all(answers) if mover == victim else any(answers)


@pytest.mark.parametrize("cells", ["OZX--X------", "X--O---Z--X-"])
def test_after_four_moves_it_is_a_draw_for_three_and_a_win_for_any_two(cells):
    assert everybody_for_himself(cells) == (0, 0, 0)
    assert all(is_beaten(cells, victim) for victim in range(3))


@pytest.mark.slow
def test_it_is_a_draw_for_three_and_a_win_for_any_two():
    assert everybody_for_himself("-" * 12) == (0, 0, 0)
    assert all(is_beaten("-" * 12, victim) for victim in range(3))


# --- tic-tac-toe by criteria of a move --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "best"),
    [
        ("XX-OO----", {"c1"}),  # its own three before the block
        ("X---XO-O-", {"c3"}),
        ("XX--O----", {"c1"}),  # the block
        ("---------", {"b2"}),  # the most open lines
        ("X---O----", {"b1", "a2", "c1", "a3"}),  # X enables a three of its own
    ],
)
def test_criteria_of_tic_tac_toe(position, best):
    game = games.load("tic_tac_toe")
    state = game.parse(position)
    ranked = Agent(game, game.baselines["criteria"]).rank(state)
    assert ranked[0].text in best


def test_criteria_block_unless_they_win():
    """In every position of random games: a winning move is taken, else a threat is met."""
    game = games.load("tic_tac_toe")
    agent = Agent(game, game.baselines["criteria"])
    met = 0
    for number in range(40):
        for state in random_game(game, 5, number):
            if game.rules.outcome(state)[0]:
                continue
            chosen = agent.choose(state)
            wins = [m for m in game.moves(state) if game.rules.outcome(game.rules.play(state, m))[0]]
            wins = [m for m in wins if game.rules.outcome(game.rules.play(state, m))[1] < 0]
            passed = game.state(state.opponent, state.me)
            threats = [m for m in game.moves(state) if game.rules.outcome(game.rules.play(passed, m))[1] < 0]
            if wins or threats:
                met += 1
                assert chosen in (wins or threats)
    assert met > 30
