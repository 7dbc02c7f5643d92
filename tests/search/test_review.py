"""Reviews of played games: losses beside the agent's own numbers, mistakes that are known, notes, and the command."""

from __future__ import annotations

import json

import pytest
from command_lines import assert_one_line, call
from test_formats import one_record

from deltaw.envs import games
from deltaw.envs.record import read_json_lines, replay, write_games
from deltaw.search.analysis.review import as_json, review
from deltaw.search.analyze import main
from deltaw.search.evaluators.named import find_evaluator
from deltaw.search.matches.recording import play_games
from deltaw.search.players.agent import Agent
from deltaw.search.players.find import find_player
from deltaw.search.players.how import Limits

BACKGAMMON, TIC_TAC_TOE = games.load("backgammon"), games.load("tic_tac_toe")


def agent_of(game, name: str, **options) -> Agent:
    return Agent(game, find_evaluator(game, name), **options)


def test_who_plays_the_agents_own_moves_loses_nothing():
    players = [find_player(BACKGAMMON, name, threads=1) for name in ("linear", "pubeval")]
    records = play_games(BACKGAMMON, players, 4)
    found = review(agent_of(BACKGAMMON, "linear"), records)
    own, other = (next(a for a in found.accounts if a.player == name) for name in ("linear", "pubeval"))
    assert own.mean_loss < 1e-6
    assert other.mean_loss > 0.01
    assert own.points == -other.points
    assert {mistake.player for mistake in found.mistakes if mistake.loss > 1e-5} == {"pubeval"}
    assert (found.games, found.unfinished) == (4, 0)


def test_losses_are_the_agents_differences():
    record = one_record(BACKGAMMON, 4)
    agent = agent_of(BACKGAMMON, "linear")
    expected, forced = [], 0
    for state, event in replay(BACKGAMMON, record):
        if event.is_chance:
            continue
        values = {move.state: move.value for move in agent.rank(state)}
        after = BACKGAMMON.unrow(BACKGAMMON.row(BACKGAMMON.rules.play(state, event.code)))
        if len(values) > 1:
            expected.append(max(values.values()) - values[after])
        forced += len(values) == 1
    found = review(agent, [record])
    assert sum(len(account.losses) for account in found.accounts) == len(expected)
    assert sum(account.forced for account in found.accounts) == forced
    assert sum(sum(account.losses) for account in found.accounts) == pytest.approx(sum(expected))
    worst = found.mistakes[0]
    assert worst.loss == pytest.approx(max(expected))
    state = BACKGAMMON.parse(worst.position)
    state = BACKGAMMON.rules.chance(state, BACKGAMMON.find_chance(state, worst.dice))[0]
    texts = [move.text for move in agent.rank(state)]
    assert texts[0] == worst.best
    assert worst.played in texts


def test_known_mistakes_found_by_a_search():
    """Searched to the end: an edge against a corner loses a drawn game, the centre would not; all later moves keep what
    there is."""
    steps = ["a1", "b1", "a2", "a3", "b2", "c2", "c3"]
    fields = {"game": "tic_tac_toe", "players": ["x", "o"], "steps": steps}
    records = read_json_lines(TIC_TAC_TOE, json.dumps(fields))
    found = review(agent_of(TIC_TAC_TOE, "open_lines", algorithm="alphabeta", limits=Limits(depth=9)), records)
    assert [(account.player, account.points, account.luck) for account in found.accounts] == [
        ("x", 1, None),
        ("o", -1, None),
    ]
    (mistake,) = found.mistakes
    assert (mistake.move, mistake.player, mistake.position) == (2, "o", "X--------")
    assert (mistake.played, mistake.best, mistake.loss) == ("b1", "b2", 1.0)


def test_dice_have_luck_and_unfinished_games_are_told():
    record = one_record(BACKGAMMON, 6, most=21)
    found = review(agent_of(BACKGAMMON, "linear"), [record])
    assert found.unfinished == 1
    assert all(account.luck is not None and account.luck != 0 for account in found.accounts)
    assert as_json(found, 2)["players"][0]["points"] == 0
    assert len(as_json(found, 2)["worst"]) == 2


@pytest.fixture
def match_file(tmp_path) -> str:
    path = tmp_path / "games.mat"
    write_games(BACKGAMMON, path, [one_record(BACKGAMMON, 8, number) for number in range(2)])
    return str(path)


def test_the_command_reviews_a_file(match_file, capsys):
    argv = ["backgammon", "--match", match_file, "--evaluator", "linear", "--top", "3"]
    status, out, _ = call(main, argv, capsys)
    result = json.loads(call(main, [*argv, "--json"], capsys)[1])
    assert status == 0
    assert "2 games" in out
    assert len(result["worst"]) == 3
    for mistake in result["worst"]:
        assert mistake["position"] in out
        assert f"{mistake['loss']:.4f}" in out
    assert [player["player"] for player in result["players"]] == ["player 0", "player 1"]


def test_other_games_and_notes(tmp_path, capsys):
    path = tmp_path / "games.txt"
    path.write_text("44444432\n1234567\n")
    status, out, _ = call(main, ["connect_four", "--match", str(path), "--depth", "2"], capsys)
    assert status == 0
    assert "2 of the games not finished" in out
    cube = tmp_path / "cube.mat"
    cube.write_text(" 3 point match\n\n Game 1\n a : 0      b : 0\n  1) 31: 8/5 6/5      Doubles => 2\n  2)  Drops\n")
    status, out, _ = call(main, ["backgammon", "--match", str(cube), "--evaluator", "linear"], capsys)
    assert status == 0
    assert "the doubling cube (2 times) is left out" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("backgammon --match {0} --batch {0}", "without --batch, --rollout and --solve"),
        ("backgammon start --match {0}", "--match reads positions and dice"),
        ("backgammon --match {0} --rollout 3", "without --batch, --rollout and --solve"),
        ("backgammon --match nothing.mat", "cannot read nothing.mat: No such file"),
        ("backgammon --match nothing.sgf", "games of backgammon are kept in files that end with .jsonl, .mat"),
        ("backgammon --match {0} --evaluator pubeval", "only ranks"),
    ],
)
def test_bad_input_is_one_line(match_file, capsys, argv, message):
    assert_one_line(main, argv.format(match_file), message, capsys)
