"""`deltaw record`: the same games as the arena plays, every game and number of players, nothing lost."""

from __future__ import annotations

import pytest
from command_lines import assert_one_line, call
from game_names import some_games

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.record import check_new, final_state, read_games, replay
from deltaw.search.matches import recording
from deltaw.search.matches.match import match
from deltaw.search.matches.recording import play_games
from deltaw.search.players.find import find_player
from deltaw.search.players.players import RandomPlayer
from deltaw.search.record import main


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [("backgammon", "pubeval", "random"), ("tic_tac_toe", "open_lines", "random"), ("nim", "parity", "random")],
)
def test_the_games_are_those_of_a_match_with_the_same_seed(name, first, second):
    """The match's referee is another program: kernels in lock-step."""
    game = games.load(name)
    players = [find_player(game, text, threads=1) for text in (first, second)]
    records = play_games(game, players, 8, seed=5)
    result = match(game, *players, 8, seed=5)
    payoffs = [dict(zip(record.players, record.payoffs, strict=True))[first] for record in records]
    assert result.mean == sum(payoffs) / 8
    assert result.plies == sum(not event.is_chance for record in records for event in record.events)
    assert [record.players[0] for record in records] == [first, second] * 4
    for record in records:
        assert game.rules.outcome(final_state(game, record))[0]


@some_games
def test_random_players_record_every_game(name, tmp_path, capsys):
    game = games.load(name)
    path = tmp_path / "games.jsonl"
    names = ["random"] * game.rules.num_players
    assert main([name, *names, "--games", "3", "--to", str(path), "--threads", "1", "--opening-plies", "0"]) == 0
    assert capsys.readouterr().out.startswith(f"3 games to {path}: random ")
    again = play_games(game, [RandomPlayer(game) for _ in names], 3, opening_plies=0)
    for one, other in zip(read_games(game, path), again, strict=True):
        assert one.events == other.events
        assert one.payoffs == other.payoffs


def test_everybody_moves_first_in_turn():
    game = games.load("tic_tac_toe_three")

    class Named(RandomPlayer):
        def __init__(self, name):
            super().__init__(game)
            self.name = name

    records = play_games(game, [Named(name) for name in "abc"], 4)
    assert [record.players for record in records] == [
        ("a", "b", "c"),
        ("c", "a", "b"),
        ("b", "c", "a"),
        ("a", "b", "c"),
    ]


def test_pairs_have_the_same_dice():
    game = games.load("backgammon")
    one, other = play_games(game, [find_player(game, "random"), find_player(game, "random")], 2, seed=3)
    dice = [[event.code for _, event in replay(game, record) if event.is_chance] for record in (one, other)]
    shorter = min(map(len, dice))
    assert dice[0][:shorter] == dice[1][:shorter]


def test_a_mat_file_of_the_command(tmp_path, capsys):
    path = tmp_path / "games.mat"
    assert main(["backgammon", "pubeval", "random", "--games", "2", "--to", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"2 games to {path}: pubeval +")
    assert " 0 point match" in path.read_text()
    assert len(read_games(games.load("backgammon"), path)) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_interrupted_games_that_are_over_are_kept(tmp_path, capsys, monkeypatch):
    path, plain, calls = tmp_path / "games.jsonl", recording._decide, iter(range(9))

    def interrupted(*args):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return plain(*args)

    monkeypatch.setattr(recording, "_decide", interrupted)
    argv = ["tic_tac_toe", "random", "random", "--games", "30", "--to", str(path), "--opening-plies", "0"]
    status, out, err = call(main, argv, capsys)
    kept = len(read_games(games.load("tic_tac_toe"), path))
    assert (status, out, err) == (130, "", f"interrupted after {kept} of 30 games\n")
    assert 0 < kept <= 30


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("nim random random --to {0}/old.jsonl", "old.jsonl exists already: name another file"),
        ("nim random random --to {0}/new.mat", "games of nim are kept in files that end with .jsonl"),
        ("nim random random --to {0}/no/new.jsonl", "there is no folder"),
        ("nim random --to {0}/new.jsonl", "nim is played by 2, not by 1"),
        ("nim random random random --to {0}/new.jsonl", "nim is played by 2, not by 3"),
        ("nim random random --games 0 --to {0}/new.jsonl", "at least 1 game, not 0"),
        ("nim random random --seed -1 --to {0}/new.jsonl", "the seed must be at least 0"),
        ("nim random random --threads 0 --to {0}/new.jsonl", "--threads must be at least 1, not 0"),
        ("nim random nobody --to {0}/new.jsonl", "no player 'nobody' for nim"),
        ("nim random random", "required: --to"),
        ("ludo random random --to {0}/new.jsonl", "unknown game 'ludo'"),
    ],
)
def test_bad_input_is_one_line(tmp_path, capsys, argv, message):
    (tmp_path / "old.jsonl").write_text("mine\n")
    assert_one_line(main, argv.format(tmp_path), message, capsys)
    assert (tmp_path / "old.jsonl").read_text() == "mine\n"


@pytest.mark.parametrize("length", [245, 300])
def test_a_name_that_is_too_long_is_refused_before_the_games(tmp_path, length):
    """The shorter one is too long with the ending that it has while it is written."""
    with pytest.raises(InputError, match="File name too long"):
        check_new(games.load("nim"), tmp_path / f"{'x' * length}.jsonl")


def test_too_few_players():
    with pytest.raises(InputError, match="played by 3, not by 2"):
        play_games(games.load("tic_tac_toe_three"), [RandomPlayer(games.load("tic_tac_toe_three"))] * 2, 1)
