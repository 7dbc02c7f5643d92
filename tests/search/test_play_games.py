"""`deltaw play` with every game: whole games by a scripted person, hints, undo, and the games that are kept."""

from __future__ import annotations

import re

from game_names import some_games
from test_play import first_moves

from deltaw.envs import games
from deltaw.envs.record import GameRecord, course_of, final_state, payoffs_of, read_games, replay
from deltaw.search.play import main


def play(name: str, path, capsys, *arguments: str, lines=None, played: int = 1) -> tuple[str, list[GameRecord]]:
    """(everything said, the games kept) when the person plays first moves, or types `lines`."""
    said: list[str] = []
    if lines is None:
        lines = heard(said, capsys, played)
    argv = [name, "--record", str(path), "--seed", "3", *arguments]
    assert main(argv, lines) == 0
    said.append(capsys.readouterr().out)
    return "".join(said), read_games(games.load(name), path) if path.exists() else []


def heard(said: list[str], capsys, played: int):
    """`first_moves` for a person who hears what the command prints, block by block."""
    blocks: list[str] = [""]
    person = first_moves(blocks, played)
    while True:
        try:
            line = listen(said, blocks, capsys, person)
        except StopIteration:
            return
        yield line


def listen(said, blocks, capsys, person) -> str:
    text = capsys.readouterr().out
    said.append(text)
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if re.match(r"  \S", line) and "commands" not in text), 0)
    blocks.append(lines[-1] if lines and lines[-1].startswith("`new`") else "\n".join(lines[at:]))
    return next(person)


SHALLOW = ("checkers", "chess", "connect_four", "othello")
LIMITS = {name: ["--depth", "1"] for name in SHALLOW} | {"tic_tac_toe_three": ["--depth", "2"]}


@some_games
def test_a_game_from_beginning_to_end(name, tmp_path, capsys):
    """By first legal moves; the record is the game that was told, and its result the one that was announced."""
    game = games.load(name)
    arguments = ["--plies", "1"] if name == "backgammon" else LIMITS.get(name, [])
    said, (record,) = play(name, tmp_path / "games.jsonl", capsys, "--seat", "first", *arguments)
    assert game.rules.outcome(final_state(game, record))[0]
    assert record.payoffs == payoffs_of(game, record.start, course_of(game, record.start, record.events))
    names = ("you", "deltaw") if game.rules.num_players == 2 else ("you", "deltaw 1", "deltaw 2")
    assert record.players == names
    theirs = re.findall(r"^(?:The opponent|Opponent \d) plays (.*)$", said, re.MULTILINE)
    first = game.rules.seat(record.start)
    moved = [
        game.move_text(s, e.code) for s, e in replay(game, record) if not e.is_chance and game.rules.seat(s) != first
    ]
    assert theirs == moved
    points = max(0, record.payoffs[0])
    assert f"Good-bye. Score: you{':' * (len(names) > 2)} {points:g}, " in said
    assert said.rstrip().endswith(f"1 game in {tmp_path / 'games.jsonl'}.")


@some_games
def test_hints_moves_and_undo_work_everywhere(name, tmp_path, capsys):
    game = games.load(name)
    arguments = ["--plies", "1"] if name == "backgammon" else LIMITS.get(name, [])
    lines = ["hint", "think", "undo", "board", "help", "xyz", "quit"]
    said, records = play(name, tmp_path / "games.jsonl", capsys, "--seat", "first", *arguments, lines=lines)
    assert records == []  # nobody moved
    assert re.search(r"^  1\. \S+.*[+-]\d\.\d{3}  \(\d+ pl", said, re.MULTILINE)
    assert "With the best move this is worth " in said
    assert "nothing to undo" in said
    assert "'xyz' is no" in said
    assert game.title in said


def test_moves_that_were_taken_back_are_not_kept(tmp_path, capsys):
    lines = ["a1", "undo", "b2", "quit"]
    _, (record,) = play("tic_tac_toe", tmp_path / "g.jsonl", capsys, "--seat", "first", lines=lines)
    game = games.load("tic_tac_toe")
    texts = [game.move_text(state, event.code) for state, event in replay(game, record)]
    assert texts[0] == "b2"
    assert len(texts) == 2  # and the reply
    assert record.payoffs is None


def test_every_game_of_an_evening_is_kept_in_mat(tmp_path, capsys):
    """A resignation for a gammon, a game that was broken off for a new one, one that was left: the resigned one has its
    points."""
    lines = ["resign 2", "new", *["", "resign"] * 3, "quit"]
    path = tmp_path / "evening.mat"
    said, records = play("backgammon", path, capsys, "--seat", "second", "--plies", "1", lines=lines)
    assert [record.payoffs for record in records[:2]] == [(2.0, -2.0), (1.0, -1.0)]
    assert records[0].players == ("deltaw", "you")
    assert "Score: you 0, opponent 3" in said
    assert " deltaw : 2" in path.read_text()


def test_a_position_with_dice_begins_before_them(tmp_path, capsys):
    xgid = "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
    lines = ["8/5 6/5", "quit"]
    _, (record,) = play(
        "backgammon", tmp_path / "g.jsonl", capsys, "--seat", "first", "--position", xgid, "--plies", "1", lines=lines
    )
    game = games.load("backgammon")
    (before, dice), (state, move), *_ = replay(game, record)
    assert (before.roll, game.chance_text(before, dice.code)) == (0, "31")
    assert game.move_text(state, move.code) == "8/5 6/5"


def test_three_take_part(tmp_path, capsys):
    said, _ = play(
        "tic_tac_toe_three", tmp_path / "g.jsonl", capsys, "--seat", "third", "--depth", "1", lines=["resign", "quit"]
    )
    assert "You move third." in said
    assert re.search(r"Opponent 1 plays .*\nOpponent 2 plays ", said)
    assert "resigning is for two players" in said
    assert "Good-bye. Score: you: 0, opponent 1: 0, opponent 2: 0." in said


def test_what_exists_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "g.jsonl"
    path.write_text("mine\n")
    assert main(["tic_tac_toe", "--record", str(path)], []) == 2
    assert "exists already" in capsys.readouterr().err
    assert path.read_text() == "mine\n"


def test_a_hand_of_cards_is_played_without_showing_the_opponents(tmp_path, capsys):
    said, (record,) = play("kuhn_poker", tmp_path / "games.jsonl", capsys, "--seat", "first", "--evaluator", "honest")
    game = games.load("kuhn_poker")
    theirs = game.format(final_state(game, record))[1]
    assert "Cards are dealt." in said
    assert "opponent's  ?" in said
    assert said.count(f"opponent's  {theirs}") == 1  # at the end
    assert "gammon" not in said
    assert abs(record.payoffs[0]) in (1, 2)
