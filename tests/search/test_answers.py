"""`deltaw analyze` by searches and solvers: every game, the same shape of answer, batches, limits, and one line for bad
input."""

from __future__ import annotations

import json

import pytest
from game_names import EVERY_GAME, mostly_slow

from deltaw.envs import games
from deltaw.search.analyze import main
from deltaw.search.tree.algorithm import algorithms


@pytest.fixture
def analyze(capsys):
    """analyze(*arguments) -> (exit status, stdout, stderr)."""

    def run(*arguments: str):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse
            status = int(str(end.code))
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def answer(analyze):
    """The JSON answer to good arguments."""

    def run(*arguments: str):
        status, out, err = analyze(*arguments, "--json")
        assert status == 0, err
        return json.loads(out)

    return run


def check_moves(game, state, said) -> None:
    """Every distinct move once, best first, its result where it says, best play beginning with the best move."""
    moves = [game.find_move(state, move["move"]) for move in said["moves"]]
    assert sorted(moves) == sorted(game.moves(state))
    for move, told in zip(moves, said["moves"], strict=True):
        assert game.format(game.rules.play(state, move)) == told["result"]
    values = [move["equity"] for move in said["moves"]]
    assert values == sorted(values, reverse=True)
    assert said["equity"] == values[0]
    assert said["variation"][0] in {move["move"] for move in said["moves"] if move["equity"] == values[0]}


@pytest.mark.parametrize("name", mostly_slow(name for name in EVERY_GAME if games.load(name).rules.max_chance == 0))
def test_every_game_without_chance_is_searched(name, answer):
    game = games.load(name)
    said = answer(name, "--depth", "2")
    check_moves(game, game.unrow(game.row(game.rules.initial())), said)
    assert said["depth"] == 2
    assert said["complete"]
    assert said["nodes"] > 0
    assert said["seconds"] >= 0


@pytest.mark.parametrize("name", ["minimax", "alphabeta", "mtdf", "sss_star", "engine"])
def test_exact_algorithms_agree(name, answer):
    said = answer("tic_tac_toe", "X---O----", "--algorithm", name, "--depth", "4", "--evaluator", "open_lines")
    assert said["algorithm"] == name
    expected = answer("tic_tac_toe", "X---O----", "--algorithm", "negamax", "--depth", "4", "--evaluator", "open_lines")
    assert {m["move"]: m["equity"] for m in said["moves"]} == {m["move"]: m["equity"] for m in expected["moves"]}


def test_dice_are_searched_by_expectiminimax(answer):
    said = answer("backgammon", "--dice", "31", "--depth", "1", "--evaluator", "linear", "--top", "3")
    assert said["algorithm"] == "expectiminimax"
    assert said["dice"] == [3, 1]
    assert len(said["moves"]) == 3
    before = answer("trees_chance", "D", "--depth", "2", "--evaluator", "zero")
    assert before["equity"] == 2.1


def test_solving(answer):
    assert answer("tic_tac_toe", "--solve") | {"nodes": 0} == {
        "position": "start", "dice": None, "score": 0, "nodes": 0,
        "best": ["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"],
    }  # fmt: skip
    won = answer("connect_four", "32164625", "--solve")
    assert (won["score"], won["best"]) == (11, ["3"])
    nim = answer("nim", "3-4-5", "--solve")
    assert (nim["score"], nim["best"]) == (1, ["a2"])


def test_a_proven_win_has_a_distance(answer):
    said = answer("tic_tac_toe", "XX-OO----", "--depth", "9")
    assert (said["equity"], said["distance"]) == (1.0, 1)
    assert said["moves"][0] == {"move": "c1", "result": "XXXOO----", "equity": 1.0, "distance": 1}


def test_no_time_still_gives_a_legal_move(answer):
    game = games.load("connect_four")
    for name in ("engine", "alphabeta"):
        said = answer("connect_four", "44444", "--seconds", "0", "--algorithm", name)
        assert not said["complete"]
        assert game.find_move(game.parse("44444"), said["moves"][0]["move"]) in game.moves(game.parse("44444"))


def test_a_batch_of_searches_and_of_solutions(analyze, tmp_path):
    path = tmp_path / "batch.jsonl"
    path.write_text(
        '{"position": "X---O----"}\n{"position": "nonsense"}\n{"position": "XXXOO----"}\n{"position": "start"}\n'
    )
    for options, key in ((("--depth", "3"), "moves"), (("--solve",), "best")):
        status, out, err = analyze("tic_tac_toe", "--batch", path, *options)
        first, bad, over, last = [json.loads(line) for line in out.splitlines()]
        assert status == 2
        assert first[key]
        assert last[key]
        assert "nonsense" in bad["error"]
        assert "finished" in over["error"]
        assert err.count("error:") == 2


def test_the_table_says_what_was_done(analyze):
    _, out, _ = analyze("tic_tac_toe", "X---O----", "--depth", "4")
    assert "engine: depth 4" in out
    assert "best play:" in out
    _, out, _ = analyze("tic_tac_toe", "X---O----", "--solve")
    assert "solved" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tic_tac_toe", "--algorithm", "alphabeter"], ["alphabeter", "alphabeta"]),
        (["tic_tac_toe", "--depth", "-1"], ["-1"]),
        (["tic_tac_toe", "--depth", "4000"], ["4000"]),
        (["tic_tac_toe", "--seconds", "-0.5"], ["-0.5"]),
        (["tic_tac_toe", "--seconds", "nan"], ["nan"]),
        (["tic_tac_toe", "--nodes", "-7"], ["-7"]),
        (["tic_tac_toe", "--algorithm", "mtdf", "--nodes", "-7"], ["-7"]),
        (["tic_tac_toe", "XXXOO----", "--depth", "2"], ["finished"]),
        (["tic_tac_toe", "XXXOO----", "--solve"], ["finished"]),
        (["tic_tac_toe", "--solve", "--nodes", "10"], ["not solved", "nodes"]),
        (["tic_tac_toe", "--solve", "--depth", "3"], ["--solve", "3"]),
        (["tic_tac_toe", "--solve", "--algorithm", "mtdf"], ["--solve"]),
        (["tic_tac_toe", "--plies", "1", "--depth", "2"], ["--plies"]),
        (["backgammon", "--algorithm", "alphabeta"], ["chance", "expectiminimax"]),
        (["backgammon", "--algorithm", "engine"], ["chance"]),
        (["backgammon", "--solve"], ["chance"]),
        (["trees_three", "--algorithm", "alphabeta"], ["3 players", "max_n"]),
        (["trees_three", "--solve"], ["3 players"]),
        (["connect_four", "11111111"], ["full"]),
        (["draughts"], ["draughts", "connect_four"]),
    ],
)
def test_bad_input_is_one_line(analyze, arguments, words):
    status, out, err = analyze(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def test_help_lists_the_algorithms(analyze):
    _, out, _ = analyze("--help")
    for name in algorithms():
        assert name in out.replace("\n", " ")
