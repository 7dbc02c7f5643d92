"""Perfect play, the oracle and exhaustive play-out, beside a plain minimax and the solvers' own scores."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import numpy as np
import pytest
from command_lines import assert_one_line

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.search import exhaustive, oracle
from deltaw.search.analysis.exhaustive import Lines, play_out
from deltaw.search.analysis.oracle import calibration_of, find_oracle, move_accuracy, random_decisions, read_decisions
from deltaw.search.databases.database import read_table, write_table
from deltaw.search.databases.solved_positions import Known, keep_solved, load_solved, memory_file
from deltaw.search.databases.symmetry import class_keys
from deltaw.search.matches.match import match
from deltaw.search.players import perfect as perfect_module
from deltaw.search.players.find import find_player
from deltaw.search.players.perfect import Exact, PerfectPlayer
from deltaw.search.players.players import Decisions, RandomPlayer
from deltaw.search.solvers.exact import find_solver

TIC_TAC_TOE = games.load("tic_tac_toe")
CONNECT_FOUR = games.load("connect_four")
OTHELLO = games.load("othello")
SIGMAS = 4.5


@functools.cache
def minimax(state: Any) -> tuple[int, int]:
    """(outcome, plies to the end) of tic-tac-toe for the mover: wins soon, loses late; draws last as long as they
    do."""
    over, value = TIC_TAC_TOE.rules.outcome(state)
    if over:
        return int(value), 0
    results = [minimax(child) for child in children_of(TIC_TAC_TOE, state)]
    best = max(-value for value, _ in results)
    lengths = [plies + 1 for value, plies in results if -value == best]
    return best, min(lengths) if best > 0 else max(lengths)


def children_of(game: Any, state: Any) -> list[Any]:
    return [game.unrow(game.row(game.rules.play(state, move))) for move in game.moves(state)]


def best_children(state: Any) -> set[Any]:
    """Of tic-tac-toe, by `minimax`."""
    value, plies = minimax(state)
    children = children_of(TIC_TAC_TOE, state)
    return {c for c in children if -minimax(c)[0] == value and (value == 0 or minimax(c)[1] == plies - 1)}


@functools.cache
def late_positions() -> np.ndarray:
    """Connect Four, solved in milliseconds."""
    return random_decisions(CONNECT_FOUR, 40, seed=3, from_ply=16)


@functools.cache
def score(state: Any) -> int:
    """Of Connect Four."""
    return solver().solve(state, best=False).score


@functools.cache
def solver() -> Any:
    return find_solver(CONNECT_FOUR)


@functools.cache
def perfect() -> PerfectPlayer:
    return PerfectPlayer(CONNECT_FOUR, 1)


# --- perfect play -------------------------------------------------------------------------------------------------


def test_truth_is_that_of_minimax():
    rows = random_decisions(TIC_TAC_TOE, 300, seed=1)
    exact = Exact(TIC_TAC_TOE, 1)
    for row, verdict in zip(rows, exact.judge(rows), strict=True):
        state = TIC_TAC_TOE.unrow(row)
        assert verdict.outcome == minimax(state)[0]
        assert {TIC_TAC_TOE.unrow(best) for best in verdict.best.rows} == best_children(state)
    assert exact.outcomes(rows) == [minimax(TIC_TAC_TOE.unrow(row))[0] for row in rows]


def test_best_moves_are_those_of_best_score():
    """So the win is the shortest and the loss the longest: scores count the plies."""
    rows = late_positions()
    seen = set()
    for row, verdict in zip(rows, perfect().exact.judge(rows), strict=True):
        children = children_of(CONNECT_FOUR, CONNECT_FOUR.unrow(row))
        value = max(-score(child) for child in children)
        assert {CONNECT_FOUR.unrow(best) for best in verdict.best.rows} == {c for c in children if -score(c) == value}
        assert verdict.outcome == np.sign(value)
        seen.add(verdict.outcome)
    assert seen == {-1, 0, 1}


@pytest.mark.parametrize("outcome", [1, -1])
def test_wins_as_soon_and_loses_as_late_as_there_is(outcome):
    """Against itself the game ends when the score says; the winner's stones are 22 - |score|."""
    rows = [row for row in late_positions() if np.sign(score(CONNECT_FOUR.unrow(row))) == outcome]
    assert len(rows) > 5
    for number, row in enumerate(rows):
        state = CONNECT_FOUR.unrow(row)
        mover, stones, ply = CONNECT_FOUR.rules.seat(state), 22 - abs(score(state)), 0
        while not CONNECT_FOUR.rules.outcome(state)[0]:
            picked = perfect().choose(Decisions.of(CONNECT_FOUR.row(state)[None], np.array([[number, ply]])), 0)
            state, ply = CONNECT_FOUR.unrow(picked.rows[0]), ply + 1
        winner = 1 - CONNECT_FOUR.rules.seat(state)
        assert (winner == mover) == (outcome == 1)
        assert (int(state.all).bit_count() + (winner == 0)) // 2 == stones


def test_never_lets_a_win_slip():
    """From won positions, against random replies."""
    rows = [row for row in late_positions() if score(CONNECT_FOUR.unrow(row)) > 0]
    replies = RandomPlayer(CONNECT_FOUR)
    for number, row in enumerate(rows):
        state, mover = CONNECT_FOUR.unrow(row), CONNECT_FOUR.rules.seat(CONNECT_FOUR.unrow(row))
        for ply in range(42):
            over, value = CONNECT_FOUR.rules.outcome(state)
            if over:
                break
            player = perfect() if CONNECT_FOUR.rules.seat(state) == mover else replies
            state = CONNECT_FOUR.unrow(
                player.choose(Decisions.of(CONNECT_FOUR.row(state)[None], np.array([[number, ply]])), 0).rows[0]
            )
        assert value == -1
        assert CONNECT_FOUR.rules.seat(state) != mover


def test_mirror_images_are_solved_once():
    exact = Exact(CONNECT_FOUR, 1)
    before = len(exact._known)
    states = [CONNECT_FOUR.rules.initial() for _ in range(2)]
    moves = [3, 1, 1, 5, 3, 2, 2, 0, 3, 3, 6, 4]
    for move in moves:
        states = [CONNECT_FOUR.rules.play(s, m) for s, m in zip(states, (move, 6 - move), strict=True)]
    assert not CONNECT_FOUR.rules.outcome(states[0])[0]
    one, other = exact.judge(np.array([CONNECT_FOUR.row(state) for state in states]))
    assert (len(exact._known) - before, one.outcome, len(one.best.moves)) == (1, other.outcome, len(other.best.moves))
    assert {score(CONNECT_FOUR.unrow(b)) for b in one.best.rows} == {
        score(CONNECT_FOUR.unrow(b)) for b in other.best.rows
    }


def test_equal_moves_are_drawn_evenly():
    rows = np.repeat(TIC_TAC_TOE.row(TIC_TAC_TOE.rules.initial())[None], 1800, axis=0)
    keys = np.stack([np.arange(1800), np.zeros(1800, np.int64)], axis=1)
    chosen = PerfectPlayer(TIC_TAC_TOE, 1).choose(Decisions.of(rows, keys), 5).rows
    _, counts = np.unique(chosen, axis=0, return_counts=True)
    assert len(counts) == 9
    assert (np.abs(counts - 200) < SIGMAS * math.sqrt(200)).all()


def test_the_book_answers_the_first_moves():
    """At once, and correctly: the first player wins in the middle only."""
    player = perfect()
    start = CONNECT_FOUR.row(CONNECT_FOUR.rules.initial())
    assert [CONNECT_FOUR.unrow(b).all for b in player.tied(Decisions.of(start[None])).rows] == [1 << 21]
    assert player.exact.judge(start[None])[0].outcome == 1


def test_threads_change_nothing():
    def play(threads: int) -> object:
        game, outcomes = games.load("nim"), []
        for seed in range(2):
            result = match(game, PerfectPlayer(game, threads), RandomPlayer(game), 40, seed)
            outcomes.append((result.outcomes, result.plies))
        judged = Exact(CONNECT_FOUR, threads).judge(late_positions())
        return outcomes, [(v.outcome, v.best.rows.tolist()) for v in judged]

    assert play(1) == play(2)


def test_games_without_perfect_player():
    with pytest.raises(InputError, match="othello is not solved: no table knows its start"):
        find_player(OTHELLO, "perfect")
    with pytest.raises(InputError, match="backgammon has chance"):
        find_player(games.load("backgammon"), "perfect")


def test_hard_positions_are_kept_for_other_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path))
    monkeypatch.setattr(perfect_module, "HARD_NODES", 0)
    rows = late_positions()
    expected = [(v.outcome, v.best.rows.tolist()) for v in Exact(CONNECT_FOUR, 1).judge(rows[:20])]
    kept = load_solved(CONNECT_FOUR)
    assert 10 < len(kept) <= 20
    Exact(CONNECT_FOUR, 1).judge(rows[20:])
    assert len(load_solved(CONNECT_FOUR)) > len(kept)  # added to, not replaced
    again = Exact(CONNECT_FOUR, 1)
    again.nodes = 0  # nothing can be solved any more
    assert [(v.outcome, v.best.rows.tolist()) for v in again.judge(rows[:20])] == expected


def test_a_damaged_memory_is_done_without(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path))
    keep_solved(CONNECT_FOUR, {5: Known(1, frozenset({7, 8})), 3: Known(-1, frozenset({1}))})
    assert load_solved(CONNECT_FOUR) == {3: Known(-1, frozenset({1})), 5: Known(1, frozenset({7, 8}))}
    assert load_solved(TIC_TAC_TOE) == {}
    file = memory_file(CONNECT_FOUR)
    description, tensors = read_table(file, ("solved",))
    for wrong in (
        {"best": tensors["best"][:1]},
        {"keys": tensors["best"]},
        {"outcomes": tensors["keys"]},
        {"more": tensors["best"]},
    ):
        write_table(file, description, tensors | wrong)
        assert load_solved(CONNECT_FOUR) == {}
    write_table(file, description, tensors)
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert load_solved(CONNECT_FOUR) == {}
    monkeypatch.setenv("DELTAW_DATA", str(file / "below a file"))
    keep_solved(CONNECT_FOUR, {5: Known(1, frozenset({7}))})  # cannot be written: only time is lost
    assert load_solved(CONNECT_FOUR) == {}


def test_a_memory_of_other_rules_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path))
    row = late_positions()[:1]
    keep_solved(CONNECT_FOUR, {int(class_keys(CONNECT_FOUR, row)[0]): Known(1, frozenset({7}))})
    with pytest.raises(InputError, match=r"connect_four\.solved does not fit the rules of connect_four: delete it"):
        Exact(CONNECT_FOUR, 1).judge(row)


def test_a_limit_on_nodes_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path))
    with pytest.raises(InputError, match="is not solved within 10 nodes"):
        Exact(CONNECT_FOUR, 1, nodes=10).judge(random_decisions(CONNECT_FOUR, 1, from_ply=8))


# --- the oracle ---------------------------------------------------------------------------------------------------


def test_move_accuracy_of_a_naive_count():
    player, rows = find_player(TIC_TAC_TOE, "open_lines", threads=1), random_decisions(TIC_TAC_TOE, 150, seed=4)
    result = move_accuracy(TIC_TAC_TOE, player, rows, 4)
    optimal, keeps, distances = [], [], []
    for row in rows:
        state = TIC_TAC_TOE.unrow(row)
        pick = TIC_TAC_TOE.unrow(player.choose(Decisions.of(row[None]), 0).rows[0])
        optimal.append(pick in best_children(state))
        keeps.append(-minimax(pick)[0] == minimax(state)[0])
        baseline, ends = TIC_TAC_TOE.baselines["open_lines"], TIC_TAC_TOE.rules.outcome
        children = children_of(TIC_TAC_TOE, state)
        value = max(-(ends(c)[1] if ends(c)[0] else baseline.function(c)) for c in children)
        distances.append(abs(value - minimax(state)[0]))
    assert 0.5 < result.optimal < result.keeps < 1.0
    assert result.optimal == pytest.approx(np.mean(optimal))
    assert result.keeps == pytest.approx(np.mean(keeps))
    assert result.keeps_error == pytest.approx(np.std(keeps, ddof=1) / math.sqrt(150))
    assert result.value_error == pytest.approx(np.mean(distances))


def test_perfect_players_make_no_mistakes():
    result = move_accuracy(CONNECT_FOUR, perfect(), late_positions())
    assert (result.optimal, result.keeps, result.value_error, result.calibration) == (1.0, 1.0, None, None)
    deep, rows = find_player(CONNECT_FOUR, "points_2@depth=14", threads=1), random_decisions(CONNECT_FOUR, 15, 5, 28)
    found = move_accuracy(CONNECT_FOUR, deep, rows)
    assert (found.optimal, found.keeps, found.value_error) == (
        1.0,
        1.0,
        0.0,
    )  # searched to the end, wins counted in plies


def test_othello_endgames():
    rows = random_decisions(OTHELLO, 12, seed=2, from_ply=52)
    deep = move_accuracy(OTHELLO, find_player(OTHELLO, "positional@depth=12", threads=1), rows)
    assert deep.keeps == 1.0  # the outcome is all that this search knows: discs may be lost
    assert move_accuracy(OTHELLO, RandomPlayer(OTHELLO), rows).optimal < 0.9


def test_calibration():
    values, outcomes = np.array([-1.0, -0.95, 0.01, 0.05, 0.15, 1.3]), np.array([-1, -1, 0, 1, 1, 1])
    bins = calibration_of(values, outcomes, 1.0)
    assert [tuple(b) for b in bins] == [
        (2, pytest.approx(-0.975), -1.0),
        (3, pytest.approx(0.07), pytest.approx(2 / 3)),
        (1, 1.3, 1.0),
    ]


def test_positions_are_random_decisions():
    rows = random_decisions(CONNECT_FOUR, 200, seed=7, from_ply=8)
    assert (rows == random_decisions(CONNECT_FOUR, 200, seed=7, from_ply=8)).all()
    assert (rows != random_decisions(CONNECT_FOUR, 200, seed=8, from_ply=8)).any()
    states = [CONNECT_FOUR.unrow(row) for row in rows]
    stones = [int(state.all).bit_count() for state in states]
    assert min(stones) == 8
    assert max(stones) > 25
    assert all(len(CONNECT_FOUR.moves(s)) > 1 and not CONNECT_FOUR.rules.outcome(s)[0] for s in states)
    with pytest.raises(InputError, match="0 of 50 random games of tic_tac_toe have a decision from ply 9 on"):
        random_decisions(TIC_TAC_TOE, 1, from_ply=9)


def test_positions_of_a_file(tmp_path):
    states = [CONNECT_FOUR.unrow(row) for row in late_positions()[:5]]
    file = tmp_path / "positions.txt"
    file.write_text("# five\n\n" + "\n".join(CONNECT_FOUR.format(state) for state in states))
    assert (read_decisions(CONNECT_FOUR, file) == late_positions()[:5]).all()
    for text, message in (
        ("", "holds no positions"),
        ("#\nnonsense", "line 2: "),
        (CONNECT_FOUR.format(CONNECT_FOUR.unrow(CONNECT_FOUR.row(finished()))), "is no decision between moves"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            read_decisions(CONNECT_FOUR, file)
    with pytest.raises(InputError, match="cannot read positions"):
        read_decisions(CONNECT_FOUR, tmp_path / "missing")


def finished() -> Any:
    state = CONNECT_FOUR.rules.initial()
    for move in (3, 2, 3, 2, 3, 2, 3):
        state = CONNECT_FOUR.rules.play(state, move)
    return state


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("backgammon pubeval", "backgammon has no oracle"),
        ("tic_tac_toe_three random", "tic_tac_toe_three has 3 players"),
        ("tic_tac_toe nobody", "no player 'nobody'"),
        ("tic_tac_toe random --positions 0", "0 positions from ply 0 on"),
        ("tic_tac_toe random --from-ply -2", "from ply -2 on"),
        ("tic_tac_toe random --from-ply 9 --positions 2", "0 of 100 random games"),
        ("tic_tac_toe random --file missing.txt", "cannot read positions from missing.txt"),
        ("tic_tac_toe random --threads 0", "--threads must be at least 1, not 0"),
        ("tic_tac_toe random --seed -1", "the seed must be at least 0"),
    ],
)
def test_bad_questions_are_one_line(capsys, argv, message):
    assert_one_line(oracle.main, argv, message, capsys)


def test_oracle_answers(capsys):
    argv = ["tic_tac_toe", "open_lines", "--positions", "60", "--seed", "3"]
    assert oracle.main(argv) == 0
    out = capsys.readouterr().out
    for text in (
        "open_lines beside the truth",
        "optimal moves",
        "keep the result",
        "value error",
        "calibration",
        "seed 3",
    ):
        assert text in out
    assert oracle.main([*argv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    player, rows = find_player(TIC_TAC_TOE, "open_lines"), random_decisions(TIC_TAC_TOE, 60, 3)
    expected = move_accuracy(TIC_TAC_TOE, player, rows, 3, oracle=find_oracle(TIC_TAC_TOE))
    assert result["optimal"] == expected.optimal
    assert sum(b["positions"] for b in result["calibration"]) == 60
    assert oracle.main(["tic_tac_toe", "random", "--positions", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value_error"] is None


# --- exhaustive play-out --------------------------------------------------------------------------------------------


def naive_lines(player: Any, seat: int) -> Lines:
    """Every line on its own, without a memory."""

    def lines(state: Any) -> Lines:
        over, value = TIC_TAC_TOE.rules.outcome(state)
        mine = TIC_TAC_TOE.rules.seat(state) == seat
        if over:
            sign = int(value) if mine else -int(value)
            return Lines(sign > 0, sign == 0, sign < 0)
        children = children_of(TIC_TAC_TOE, state)
        if mine:
            baseline, ends = TIC_TAC_TOE.baselines[player.name], TIC_TAC_TOE.rules.outcome
            values = [-(ends(c)[1] if ends(c)[0] else baseline.function(c)) for c in children]
            children = [c for c, v in zip(children, values, strict=True) if v >= max(values) - 1e-9]
        total = Lines(0, 0, 0)
        for child in children:
            total = total + lines(child)
        return total

    return lines(TIC_TAC_TOE.unrow(TIC_TAC_TOE.row(TIC_TAC_TOE.rules.initial())))


def test_every_line_of_a_baseline():
    player = find_player(TIC_TAC_TOE, "open_lines", threads=1)
    result = play_out(TIC_TAC_TOE, player)
    assert (result.first, result.second) == (naive_lines(player, 0), naive_lines(player, 1))
    assert result.can_lose


def test_every_line_there_is():
    """255,168 games of tic-tac-toe: 131,184 won by the first player, 77,904 by the second, 46,080 drawn."""
    result = play_out(TIC_TAC_TOE, RandomPlayer(TIC_TAC_TOE))
    assert result.first == (131184, 46080, 77904)
    assert result.second == (77904, 46080, 131184)
    assert result.positions == 2 * 4520  # those where the game goes on


def test_perfect_players_never_lose():
    result = play_out(TIC_TAC_TOE, PerfectPlayer(TIC_TAC_TOE, 1))
    assert not result.can_lose
    assert result.first.won > 0 < result.second.won


def test_games_that_are_broken_off_are_draws():
    game = TIC_TAC_TOE.__class__(**(vars(TIC_TAC_TOE) | {"rules": TIC_TAC_TOE.rules._replace(max_plies=4)}))
    result = play_out(game, RandomPlayer(game))
    assert result.first == result.second == (0, 9 * 8 * 7 * 6, 0)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("connect_four points_2 --limit 500", "too large to be played out: more than 500 positions"),
        ("backgammon pubeval", "backgammon has chance"),
        ("tic_tac_toe nobody", "no player 'nobody'"),
        ("tic_tac_toe random --limit 0", "--limit must be at least 1, not 0"),
    ],
)
def test_bad_play_outs_are_one_line(capsys, argv, message):
    assert_one_line(exhaustive.main, argv, message, capsys)


def test_play_out_answers(capsys):
    assert exhaustive.main(["tic_tac_toe", "open_lines"]) == 0
    out = capsys.readouterr().out
    assert "open_lines can lose" in out
    assert "2,088" in out
    assert exhaustive.main(["tic_tac_toe", "perfect", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["can_lose"], result["first"]["lost"], result["second"]["lost"]) == (False, 0, 0)
