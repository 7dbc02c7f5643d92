"""Positions and whole games as communities write them: golden texts, other programs' boards, and round trips of random
games."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from conftest import ROOT, random_game
from game_names import every_game

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.games.connect_four.notation import format_kaggle, format_uci
from deltaw.envs.games.othello.notation import play_transcript, write_transcript
from deltaw.envs.record import (
    Event,
    GameRecord,
    begin,
    final_state,
    follow,
    formats,
    initial_state,
    is_over,
    payoffs_of,
    read_games,
    replay,
    write_games,
)

CONNECT_FOUR, OTHELLO = games.load("connect_four"), games.load("othello")


def one_record(game, seed: int, number: int = 0, most: int = 100_000) -> GameRecord:
    """A random game as a record; the events are found by their results. A repetition may end it."""
    states = list(random_game(game, seed, number, most))
    course = begin(game, states[0])
    for before, then in itertools.pairwise(states):
        if is_over(game, course):
            break
        chances = range(game.rules.num_chance(before))
        found = [Event(True, i) for i in chances if same(game.rules.chance(before, i)[0], then)]
        moves = [] if found else game.moves(before)
        found += [Event(False, move) for move in moves if same(game.rules.play(before, move), then)]
        course = follow(game, course, found[0])
    players = tuple(f"player {i}" for i in range(game.rules.num_players))
    return GameRecord(states[0], players, course.events, payoffs_of(game, states[0], course))


def same(state, other) -> bool:
    return [int(x) for x in state] == [int(x) for x in other]


# --- docs/formats.md ------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "formats.md").read_text()


def test_the_pages_code_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    backgammon = games.load("backgammon")
    record = one_record(backgammon, 1)
    write_games(backgammon, "games.mat", [record])
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "formats.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) == sum(not event.is_chance for event in record.events)


def test_the_pages_examples_are_read():
    """Every position that is written out, in the game of its row, and the line of JSON."""
    game, read = None, 0
    for row in re.findall(r"^\| (.*)\|$", PAGE.split("## Moves")[0], flags=re.MULTILINE):
        name, written = row.split("|")[:2]
        game = next((g for g in games.names() if name.strip().lower() in (g, games.load(g).title.lower())), game)
        for text in [] if game is None else re.findall("`([^`]+)`", written):
            if "..." not in text and len(text) > 1:
                games.load(game).parse(text)
                read += 1
    assert read >= 9
    (line,) = re.findall(r"```json\n(.*)\n```", PAGE)
    (record,) = formats(games.load("backgammon"))[".jsonl"].read(games.load("backgammon"), line)
    assert len(record.events) == 4


@every_game
def test_the_page_names_every_kind_of_file(name):
    assert all(f"`{ending}`" in PAGE for ending in formats(games.load(name)))


# --- Connect Four ---------------------------------------------------------------------------------------------------


def naive_board(columns: str) -> list[list[str]]:
    """board[column] = its stones from below, of x and o."""
    board: list[list[str]] = [[] for _ in range(7)]
    for ply, column in enumerate(columns):
        board[int(column) - 1].append("xo"[ply % 2])
    return board


@pytest.mark.parametrize("columns", ["1", "4453", "44444431", "7654321123456", "122333444455555"])
def test_connect_four_boards_say_what_the_moves_say(columns):
    """Written stone by stone, in UCI's order and in Kaggle's."""
    state, board = CONNECT_FOUR.parse(columns), naive_board(columns)
    full = [(stones + ["b"] * 6)[:6] for stones in board]
    uci = ",".join(square for stones in full for square in stones)
    kaggle = ",".join("bxo".find(full[column][row]).__str__() for row in reversed(range(6)) for column in range(7))
    lines = "\n".join(" ".join("_XO"["bxo".find(full[c][row])] for c in range(7)) for row in reversed(range(6)))
    assert (format_uci(state), format_kaggle(state)) == (uci, kaggle)
    for text in (uci, f"{uci},draw", kaggle, f"[{kaggle.replace(',', ', ')}]", lines, lines.replace("_", ".").lower()):
        assert CONNECT_FOUR.parse(text) == state


def test_the_first_line_of_ucis_data():
    """x began and both have four stones; d holds x o x o x o from below, c holds x and o."""
    line = "b,b,b,b,b,b,b,b,b,b,b,b,x,o,b,b,b,b,x,o,x,o,x,o,b,b,b,b,b,b,b,b,b,b,b,b,b,b,b,b,b,b,win"
    assert CONNECT_FOUR.parse(line) == CONNECT_FOUR.parse("44444433")
    assert format_uci(CONNECT_FOUR.parse(line)) + ",win" == line


def test_bitbullys_boards():
    bitbully = pytest.importorskip("bitbully")
    for columns in ("33426", "33333111", "0123456"):
        ours = "".join(str(int(column) + 1) for column in columns)
        assert CONNECT_FOUR.parse(str(bitbully.Board(columns))) == CONNECT_FOUR.parse(ours)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "'abc' is no position"),
        ("", "'' is no position"),
        ("4448", "move 4 of '4448' is 8"),
        ("x,o,b", "3 squares; 42"),
        (",".join(["b"] * 41 + ["q"]), "'q' on a square"),
        (",".join(["b"] * 41 + ["0"]), "42 squares of both alphabets"),
        (",".join(["b"] * 41 + ["x"]), "a stone above an empty square in column 7"),
        (",".join(["1"] * 42), "has 42 X and 0 O"),
        ("_ _\n_ _", "6 rows of 7"),
    ],
)
def test_bad_connect_four_positions(text, message):
    with pytest.raises(InputError) as error:
        CONNECT_FOUR.parse(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# --- Othello --------------------------------------------------------------------------------------------------------


def test_the_shortest_othello_game():
    """Nine moves after which White has no disc left: the shortest game there is."""
    state = OTHELLO.parse("e6f4e3f6g5d6e7f5c5")
    assert OTHELLO.rules.outcome(state) == (True, -1)
    x, o = (OTHELLO.format(state).split()[0].count(player) for player in "XO")
    assert (x, o) == (13, 0)


def test_a_position_may_be_written_in_many_ways():
    state = OTHELLO.parse("f5d6c3d3c4")
    board, side = OTHELLO.format(state).split()
    named = board.replace("X", "*").replace("-", ".")
    for text in (
        "F5 D6 C3 D3 C4",
        f"{board}{side}",
        f"{board.lower()} w",
        f"{named} O",
        f"{board} O; F4:+2; E6:-1",
        f"{board} O % FFO 40",
        f"{board.replace('X', 'B').replace('O', 'W')} W",
    ):
        assert OTHELLO.parse(text) == state


def test_transcripts_of_whole_games_leave_passes_out():
    passes = 0
    for number in range(30):
        record = one_record(OTHELLO, 3, number)
        moves = [event.code for event in record.events]
        passes += moves.count(64)
        text = write_transcript(moves)
        state, again = play_transcript(text)
        assert again == moves
        assert state == final_state(OTHELLO, record)
        written = "".join(OTHELLO.move_text(before, event.code) for before, event in replay(OTHELLO, record))
        assert play_transcript(written)[1] == moves  # passes written out
    assert passes > 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f5f5", "move 2 of 'f5f5': 'f5' is not a legal move here; legal: f4, d6, f6"),
        ("f5d6x9", "move 3 of 'f5d6x9' is no square: 'x9'"),
        ("e6f4e3f6g5d6e7f5c5a1", "move 10 of 'e6f4e3f6g5d6e7f5c5a1' comes after the end of the game"),
        ("f5pass", "'pass' is not a legal move here"),
        ("---", "3 characters instead of 64"),
    ],
)
def test_bad_transcripts(text, message):
    with pytest.raises(InputError) as error:
        OTHELLO.parse(text)
    assert message in str(error.value)


GGS = """(;GM[Othello]PC[GGS/os]DT[2003.02.25]PB[saio]PW[edax]RB[2197]TI[05:00//02:00]TY[8]RE[+64.000:r]
BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]
B[F5//0.01]W[d6/-1.00/2]B[C3]W[D3//]B[C4];)"""


def test_a_game_from_the_server():
    (record,) = OTHELLO.files[".ggf"].read(OTHELLO, GGS)
    assert final_state(OTHELLO, record) == OTHELLO.parse("f5d6c3d3c4")
    assert record.players == ("saio", "edax")
    assert record.payoffs == (1.0, -1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("GM[Othello]", "GM[Go]"), "game 1 is 'Go'"),
        (("BO[8 ", "BO[10 "), "its board is '10"),
        (("W[d6", "W[d7"), "game 1, move 2: 'd7' is not a legal move"),
        (("W[d6/-1.00/2]", ""), "game 1, move 2: B[C3] comes although the other side is to move"),
        (("(;", "("), "no game in GGF"),
    ],
)
def test_bad_ggf(change, message):
    with pytest.raises(InputError) as error:
        OTHELLO.files[".ggf"].read(OTHELLO, GGS.replace(*change))
    assert message in str(error.value)


# --- files of games -------------------------------------------------------------------------------------------------


@every_game
def test_games_come_back_from_every_kind_of_file(name, tmp_path):
    """Moves, positions and results; names where the format has them; a second writing gives the same text."""
    game = games.load(name)
    records = [one_record(game, 7, number) for number in range(4)]
    for ending, form in formats(game).items():
        path = tmp_path / f"games{ending}"
        write_games(game, path, records)
        again = read_games(game, path)
        assert [record.events for record in again] == [record.events for record in records]
        assert [record.payoffs for record in again] == [record.payoffs for record in records]
        assert [record.start for record in again] == [record.start for record in records]
        if ending != ".txt":
            assert [record.players for record in again] == [record.players for record in records]
        assert form.write(game, again) == path.read_text()


def test_unfinished_games_and_other_starts(tmp_path):
    """A resignation keeps its points, a broken-off game has none; only some formats begin elsewhere."""
    record = one_record(OTHELLO, 1, most=9)
    later = GameRecord(final_state(OTHELLO, record), record.players, (), None)
    moves = OTHELLO.moves(later.start)
    later = later._replace(events=(Event(False, moves[0]),), payoffs=(-1.0, 1.0))
    for ending in (".jsonl", ".ggf"):
        path = tmp_path / f"games{ending}"
        write_games(OTHELLO, path, [record, later])
        broken_off, resigned = read_games(OTHELLO, path)
        assert (broken_off.payoffs, resigned.payoffs) == (None, (-1.0, 1.0))
        assert resigned.start == later.start
        assert (broken_off.events, resigned.events) == (record.events, later.events)
    with pytest.raises(InputError, match="game 2 begins at"):
        write_games(OTHELLO, tmp_path / "games.txt", [record, later])


def test_json_lines_are_what_they_say_they_are():
    game = games.load("tic_tac_toe_three")
    record = one_record(game, 5)
    fields = json.loads(formats(game)[".jsonl"].write(game, [record]))
    assert set(fields) == {"game", "players", "start", "steps", "payoffs"}
    assert fields["start"] == "start"
    state = initial_state(game)
    for text in fields["steps"]:
        state = game.rules.play(state, game.find_move(state, text))
    assert game.rules.outcome(state)[0]
    assert sum(fields["payoffs"]) == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "game 1: '{' is not JSON"),
        ("[]", 'no object with "game": "nim"'),
        ('{"game": "chess"}', 'no object with "game": "nim"'),
        ('{"game": "nim", "players": ["a"], "steps": []}', "1 players; nim has 2"),
        ('{"game": "nim", "players": ["a", 2], "steps": []}', '"players" must be a list of texts'),
        ('{"game": "nim", "players": ["a", "b"]}', '"steps" must be a list of texts'),
        ('{"game": "nim", "players": ["a", "b"], "start": "x", "steps": []}', "game 1: 'x' is no position"),
        ('{"game": "nim", "players": ["a", "b"], "start": 5, "steps": []}', '"start" must be a position'),
        (
            '{"game": "nim", "players": ["a", "b"], "start": "1", "steps": ["a2"]}',
            "game 1, step 1: 'a2' is not a legal",
        ),
        (
            '{"game": "nim", "players": ["a", "b"], "start": "1", "steps": ["a1", "a1"]}',
            "step 2: 'a1' comes after the end",
        ),
        ('{"game": "nim", "players": ["a", "b"], "steps": [], "payoffs": [1]}', '"payoffs" must be 2 numbers'),
        ('{"game": "nim", "players": ["a", "b"], "steps": [], "payoffs": [NaN, 0]}', "'NaN' is no finite number"),
        ('{"game": "nim", "players": ["a", "b"], "steps": [], "payoffs": [1e999, 0]}', "'1e999' is no finite number"),
        (
            f'{{"game": "nim", "players": ["a", "b"], "steps": [], "payoffs": [{10**400}, 0]}}',
            "is no whole number of 64 bits",
        ),
    ],
)
def test_bad_json_lines(tmp_path, line, message):
    path = tmp_path / "games.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError) as error:
        read_games(games.load("nim"), path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    nim = games.load("nim")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    for path, message in (
        (empty, "holds no game"),
        (tmp_path / "no.jsonl", "No such file"),
        (tmp_path / "a.mat", "end with .jsonl"),
    ):
        with pytest.raises(InputError, match=message):
            read_games(nim, path)
