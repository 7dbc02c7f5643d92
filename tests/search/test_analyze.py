"""`deltaw analyze`: batches cover every distinct result, the numbers fit together, and bad input is one line."""

from __future__ import annotations

import io
import itertools
import json
import re
import subprocess
import sys

import pytest
from conftest import ROOT, read_json, read_lines
from naive_backgammon import is_race, pubeval
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.games.backgammon.notation import board
from deltaw.search.analysis.answers import named_chances
from deltaw.search.analyze import main
from deltaw.search.evaluators.evaluator import save_evaluator
from deltaw.search.players.agent import Agent

BACKGAMMON = games.load("backgammon")
EVALUATOR = random_evaluator(BACKGAMMON, 1)
RECORDS = read_lines("moves.jsonl.gz")[::15]
START = "4HPwATDgc/ABMA"


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("evaluators") / "small.safetensors"
    save_evaluator(EVALUATOR, path)
    return str(path)


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
def batch(analyze, tmp_path):
    """batch(requests, *arguments) -> answers of a batch without bad lines."""

    def run(requests: list[dict], *arguments: str, game: str = "backgammon"):
        path = tmp_path / "batch.jsonl"
        path.write_text("".join(json.dumps(request) + "\n" for request in requests))
        status, out, err = analyze(game, "--batch", path, *arguments)
        assert status == 0, err
        return [json.loads(line) for line in out.splitlines()]

    return run


def as_requests(records) -> list[dict]:
    return [{"position": record["id"], "dice": record["dice"]} for record in records]


def after(position: str, dice: str):
    state = BACKGAMMON.parse(position)
    return BACKGAMMON.rules.chance(state, BACKGAMMON.find_chance(state, dice))[0]


# --- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plies", ["1", "2"])
def test_a_batch_answers_with_every_distinct_result(batch, network, plies):
    records = RECORDS if plies == "1" else RECORDS[:12]
    answers = batch(as_requests(records), "--evaluator", network, "--plies", plies)
    for record, answer in zip(records, answers, strict=True):
        assert (answer["position"], answer["dice"]) == (record["id"], record["dice"])
        results = [move["result"] for move in answer["moves"]]
        assert sorted(results) == sorted(record["results"])
        depths = [move["plies"] for move in answer["moves"]]
        assert depths == sorted(depths, reverse=True)
        assert depths[0] == int(plies)
        for depth in set(depths):
            equities = [move["equity"] for move in answer["moves"] if move["plies"] == depth]
            assert equities == sorted(equities, reverse=True)


def test_moves_are_written_so_that_they_can_be_read_again(batch, network):
    for answer in batch(as_requests(RECORDS[:20]), "--evaluator", network):
        state = after(answer["position"], "".join(map(str, answer["dice"])))
        for move in answer["moves"]:
            code = BACKGAMMON.find_move(state, move["move"])
            assert BACKGAMMON.format(BACKGAMMON.rules.play(state, code)) == move["result"]


def test_equities_and_chances_are_the_agents(batch, network):
    agent = Agent(BACKGAMMON, EVALUATOR, plies=2, candidates=0)
    for answer in batch(as_requests(RECORDS[:8]), "--evaluator", network, "--plies", "2"):
        state = after(answer["position"], "".join(map(str, answer["dice"])))
        for move, ranked in zip(answer["moves"], agent.rank(state), strict=True):
            assert move["equity"] == round(ranked.value, 6)
            assert move["move"] == ranked.text
            chances = move["chances"]
            assert chances["win"] + chances["lose"] == pytest.approx(1, abs=1e-5)
            assert sum(chances[n] for n in chances if n[:3] == "win") - sum(
                chances[n] for n in chances if n[:4] == "lose"
            ) == pytest.approx(move["equity"], abs=1e-5)
            assert chances["win"] >= chances["win_gammon"] >= chances["win_backgammon"] >= 0


def test_dice_as_text_as_list_in_the_xgid_and_without(batch, network):
    xgid = "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
    requests = [
        {"position": START, "dice": "13"},
        {"position": START, "dice": [3, 1]},
        {"position": xgid},
        {"position": START},
        {"position": START, "dice": None},
    ]
    text, listed, inside, absent, null = batch(requests, "--evaluator", network)
    assert text["dice"] == [1, 3]
    assert listed["dice"] == inside["dice"] == [3, 1]
    assert text["moves"] == listed["moves"] == inside["moves"]
    assert absent == null
    assert absent["dice"] is None
    assert absent["equity"] == round(EVALUATOR.opinion(BACKGAMMON.parse(START)).value, 6)
    assert absent["plies"] == 1
    assert "moves" not in absent


def test_both_colours_get_the_same_answer(batch, network):
    """The same position with the board turned round and the other side on roll."""
    upper = "XGID=-b----E-C---eE---c-e----B-:0:0:1:42:0:0:0:0:10"
    letters = upper.removeprefix("XGID=").split(":")[0]
    turned = upper.replace(letters, letters[::-1].swapcase()).replace(":0:0:1:", ":0:0:-1:")
    one, other = batch([{"position": upper}, {"position": turned}], "--evaluator", network, "--plies", "2")
    assert one["moves"] == other["moves"]


def test_a_pass_is_one_move(batch, network):
    record = next(r for r in read_lines("moves.jsonl.gz") if r["dice_used"] == 0)
    (answer,) = batch(as_requests([record]), "--evaluator", network)
    assert [(move["move"], move["result"]) for move in answer["moves"]] == [("(no move)", record["results"][0])]


def test_pubeval_ranks_by_its_definition_without_equities(batch):
    weights = read_json("pubeval.json")
    for record, answer in zip(RECORDS, batch(as_requests(RECORDS), "--evaluator", "pubeval"), strict=True):
        assert sorted(move["result"] for move in answer["moves"]) == sorted(record["results"])
        assert all(move["equity"] is None and "chances" not in move for move in answer["moves"])
        table = weights["race" if is_race(*board(BACKGAMMON.parse(record["id"]))) else "contact"]
        sides = [reversed(board(BACKGAMMON.parse(move["result"]))) for move in answer["moves"]]
        scores = [pubeval(table, *pair) for pair in sides]
        assert all(a >= b - 1e-9 for a, b in itertools.pairwise(scores))


def test_top_shortens_an_answer(batch, network):
    requests = [{"position": START, "dice": [3, 1]}]
    (whole,), (short,) = (batch(requests, "--evaluator", network, *more) for more in ((), ("--top", "2")))
    assert len(whole["moves"]) == 16
    assert short["moves"] == whole["moves"][:2]


def test_bad_lines_are_reported_and_the_others_answered(analyze, network, tmp_path):
    good = json.dumps({"position": START, "dice": [3, 1]})
    bad = {
        "not json": "not JSON",
        "[1, 2]": "no object",
        '{"dice": [3, 1]}': 'needs a "position"',
        '{"position": "4HPwATDgc", "dice": [3, 1]}': "no Position ID",
        f'{{"position": "{START}", "dice": [7, 1]}}': "'7,1' are no dice",
        f'{{"position": "{START}", "dice": [3]}}': "'3' are no dice",
        f'{{"position": "{START}", "dice": 31}}': '"dice" is 31',
        f'{{"position": "{START}", "dice": [3, "x"]}}': '"dice" is [3, "x"]',
        '{"position": "start", "dice": [3, 3]}': "never a double",
    }
    path = tmp_path / "mixed.jsonl"
    path.write_text("\n".join([good, "", *bad, good]))
    status, out, err = analyze("backgammon", "--batch", path, "--evaluator", network)
    first, *middle, last = [json.loads(line) for line in out.splitlines()]
    assert status == 2
    assert first == last
    assert len(first["moves"]) == 16
    assert len(middle) == len(bad) == len(err.splitlines())
    for number, (answer, line, message) in enumerate(zip(middle, err.splitlines(), bad.values(), strict=True), 3):
        assert line == f"error: line {number}: {answer['error']}"
        assert message in answer["error"]
    assert middle[4]["position"] == START
    assert middle[4]["dice"] == [7, 1]


def test_a_line_that_needs_values_from_pubeval_is_a_bad_line(analyze, monkeypatch):
    lines = [json.dumps({"position": START}), json.dumps({"position": START, "dice": "31"})]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    status, out, err = analyze("backgammon", "--batch", "-", "--evaluator", "pubeval")
    refused, ranked = [json.loads(line) for line in out.splitlines()]
    assert status == 2
    assert "only ranks" in refused["error"]
    assert err.startswith("error: line 1: pubeval only ranks")
    assert len(ranked["moves"]) == 16


def test_each_line_is_answered_at_once(network):
    """A program on the other end of a pipe reads the answer before it writes the next line."""
    command = [sys.executable, "-m", "deltaw.search.analyze", "backgammon", "--batch", "-", "--evaluator", network]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        for dice in ("31", "65"):
            process.stdin.write(json.dumps({"position": START, "dice": dice}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["dice"] == [int(die) for die in dice]
        process.stdin.close()
        assert process.wait(20) == 0


# --- one position -----------------------------------------------------------------------------------------------------


def test_json_is_the_batchs_answer(analyze, batch, network):
    options = ("--evaluator", network, "--plies", "2", "--candidates", "3")
    status, out, _ = analyze("backgammon", START, "--dice", "31", "--json", *options)
    (answer,) = batch([{"position": START, "dice": [3, 1]}], *options)
    assert status == 0
    assert json.loads(out) == answer
    assert [move["plies"] for move in answer["moves"]].count(2) <= 3


def test_the_start_is_meant_when_no_position_is_named(analyze, network):
    assert json.loads(analyze("backgammon", "--json", "--evaluator", network)[1])["position"] == "start"


def test_two_plies_search_every_move_deeper(analyze, network):
    options = ("--dice", "31", "--json", "--evaluator", network, "--plies", "2")
    assert {move["plies"] for move in json.loads(analyze("backgammon", START, *options)[1])["moves"]} == {2}


def test_the_table_shows_the_best_moves(analyze, network):
    status, out, err = analyze("backgammon", START, "--dice", "31", "--evaluator", network, "--top", "4")
    ranked = Agent(BACKGAMMON, EVALUATOR).rank(after(START, "31"))
    board_text = BACKGAMMON.ansi(after(START, "31"))
    lines = [line.split() for line in out.removeprefix(board_text).splitlines()]
    rows = [words for words in lines if words and words[0] in "1234" and words[-1] == "1"]
    assert (status, err) == (0, "")
    assert out.startswith(board_text)
    assert len(rows) == 4
    for number, (row, move) in enumerate(zip(rows, ranked, strict=False), 1):
        chances = named_chances(BACKGAMMON, move.chances)
        numbers = [f"{100 * chances[name]:.1f}" for name in chances]
        assert row == [str(number), *move.text.split(), f"{move.value:+.4f}", *numbers, "1"]
    assert "12 more; --top 16 shows all" in out


def test_colours_on_a_terminal_only(analyze, network, monkeypatch):
    """The best move is green, bad ones are red, checkers have colours; none of it in a pipe, or where NO_COLOR is
    set."""
    arguments = ("backgammon", START, "--dice", "31", "--evaluator", network, "--top", "16")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    piped = analyze(*arguments)[1]
    assert "\033" not in piped
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    shown = analyze(*arguments)[1]
    best, *others = Agent(BACKGAMMON, EVALUATOR).rank(after(START, "31"))
    rows = {re.sub("\033\\[[0-9;]*m", "", line): line for line in shown.splitlines()}

    def raw(move) -> str:
        return next(raw for text, raw in rows.items() if f" {move.text}  " in text and f"{move.value:+.4f}" in text)

    assert "\033[1;32m" in raw(best)
    for move in others:
        loss = best.value - move.value
        assert ("\033[31m" in raw(move)) == (loss >= 0.08)
        assert ("\033[33m" in raw(move)) == (0.04 <= loss < 0.08)
    assert re.sub("\033\\[[0-9;]*m", "", shown) == piped
    assert "\033[1;33mX" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    plain = analyze(*arguments)[1]
    assert "\033[1;32m" not in plain
    assert "\033[1;33m" not in plain
    assert "\033[31m" not in plain


def test_the_table_before_the_roll(analyze, network):
    _, out, _ = analyze("backgammon", START, "--evaluator", network)
    assert f"{EVALUATOR.opinion(BACKGAMMON.parse(START)).value:+.4f}" in out


def test_a_game_without_dice(analyze, batch):
    status, out, _ = analyze("tic_tac_toe", "X---O----", "--evaluator", "open_lines", "--plies", "1", "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["dice"] is None
    assert len(answer["moves"]) == 7
    # X in the corner c3: O's lines are the middle row and column and a3-c1, X's the top row, the left, right and bottom
    # ones
    assert {move["move"]: move["equity"] for move in answer["moves"]}["c3"] == pytest.approx(1 / 9, abs=1e-6)
    assert batch([{"position": "X---O----"}], "--evaluator", "open_lines", "--plies", "1", game="tic_tac_toe") == [
        answer
    ]


def test_positions_that_look_like_options(analyze):
    for position in ("--X-O----", "---------", "-X-------"):
        status, out, _ = analyze("tic_tac_toe", position, "--evaluator", "open_lines", "--plies", "1", "--json")
        assert status == 0
        assert json.loads(out)["position"] == position


# --- chances in words -------------------------------------------------------------------------------------------------


def test_named_chances_are_cumulative():
    named = named_chances(BACKGAMMON, (0.05, 0.1, 0.25, 0.3, 0.2, 0.1))
    expected = {
        "win": 0.6,
        "win_gammon": 0.3,
        "win_backgammon": 0.1,
        "lose": 0.4,
        "lose_gammon": 0.15,
        "lose_backgammon": 0.05,
    }
    assert named == pytest.approx(expected)
    plain = named_chances(games.load("tic_tac_toe"), (0.2, 0.5, 0.3))
    assert plain == pytest.approx({"win": 0.3, "draw": 0.5, "lose": 0.2})
    poker = named_chances(games.load("kuhn_poker"), (0.1, 0.2, 0.3, 0.4))
    assert poker == pytest.approx({"win": 0.7, "win_2": 0.4, "lose": 0.3, "lose_2": 0.1})


def test_bytes_that_are_no_text_are_a_bad_line(analyze, monkeypatch):
    lines = b'{"position": "\xff"}\n{"position": NaN}\n' + b"[" * 2000 + b'\n{"position": "X---O----"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines), encoding="utf-8"))
    status, out, err = analyze("tic_tac_toe", "--batch", "-", "--evaluator", "open_lines", "--depth", 1)
    assert (status, len(out.splitlines()), err.count("\n")) == (2, 4, 3)
    assert ["error" in json.loads(line) for line in out.splitlines()] == [True, True, True, False]


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ludo", "unknown game 'ludo'"),
        ("backgammon abc", "'abc' is no Position ID"),
        ("backgammon XGID=-b----E:0:0:1:31", "is no XGID"),
        (f"backgammon {START} --dice 71", "'71' are no dice"),
        ("backgammon --dice 33", "never a double"),
        ("backgammon XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10 --dice 42", "already rolled: 31"),
        ("backgammon --dice 31 --evaluator nobody", "no evaluator 'nobody'"),
        ("backgammon --dice 31 --evaluator nobody.safetensors", "there is no evaluator file"),
        ("backgammon --dice 31 --plies 3", "invalid choice: 3"),
        ("backgammon --dice 31 --candidates 0", "invalid count value: '0'"),
        ("backgammon --evaluator pubeval", "only ranks"),
        ("backgammon --dice 31 --plies 2 --evaluator pubeval", "only ranks"),
        ("backgammon --batch /nowhere/x.jsonl --evaluator pubeval", "cannot read /nowhere/x.jsonl"),
        ("backgammon start --batch - --evaluator pubeval", "--batch reads positions"),
        ("tic_tac_toe XXXOO---- --evaluator open_lines", "is finished"),
        ("tic_tac_toe --dice 31 --evaluator open_lines", "has no dice"),
        (f"tic_tac_toe --evaluator {'x' * 300}", "no evaluator 'xxx"),
        (f"tic_tac_toe --nodes {1 << 63}", "argument --nodes: '9223372036854775808' is no whole number of 64 bits"),
        (f"backgammon --candidates {'9' * 5000}", "invalid count value: '999"),
        (f"tic_tac_toe {'X' * 5000}", "such as X---O----"),
    ],
)
def test_bad_input_is_one_line(analyze, arguments, message):
    status, out, err = analyze(*arguments.split())
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert len(err) < 1100
    assert message in err


def test_a_finished_backgammon_game_is_refused(analyze, network):
    off = BACKGAMMON.parse(START)._replace(opponent_low=0, opponent_high=0)
    status, out, err = analyze("backgammon", BACKGAMMON.format(off), "--evaluator", network)
    assert (status, out) == (2, "")
    assert "is finished" in err
