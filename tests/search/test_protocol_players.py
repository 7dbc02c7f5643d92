"""Players that a protocol offers by name: files, ONNX files, their own settings, and offers that make no sense."""

from __future__ import annotations

import json

import numpy as np
import pytest
from protocol_answers import ask
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.search.doors.offer import make_offer
from deltaw.search.doors.protocol import Protocol
from deltaw.search.evaluators.evaluator import save_evaluator
from deltaw.search.evaluators.named import find_evaluator


@pytest.fixture
def mine(tmp_path) -> str:
    path = tmp_path / "secret folder" / "mine.safetensors"
    save_evaluator(random_evaluator(games.load("backgammon"), 1), path)
    return str(path)


def test_a_file_plays_under_its_name_and_no_answer_tells_where_it_is(mine):
    protocol = Protocol(make_offer(["backgammon", "nim"], [mine, "pubeval", f"{mine}@plies=1", "parity"]))
    info = ask("info", protocol)
    names = [[player["name"] for player in game["players"]] for game in info["games"]]
    assert names == [["mine", "pubeval", "mine@plies=1"], ["parity"]]
    answers = [info]
    for player, depth in (("mine", 2), ("mine@plies=1", 1)):
        answers.append(ask("analyze", protocol, game="backgammon", dice="31", player=player))
        assert answers[-1]["ranked"][0]["depth"] == depth
    answers += [ask("analyze", protocol, game="backgammon", player=name) for name in (mine, "network", "other")]
    assert [answer["ok"] for answer in answers[-3:]] == [False] * 3
    assert not any("secret folder" in json.dumps(answer) for answer in answers[:-3] + answers[-2:])


def test_an_onnx_file_plays_by_plies(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from deltaw.learn.exports.onnx_graph import onnx_bytes, target_of

    ours = find_evaluator(games.load("othello"), "ntuple")
    path = tmp_path / "net.onnx"
    path.write_bytes(onnx_bytes(ours, target_of(ours.description)))
    protocol = Protocol(make_offer(["othello"], [str(path), "ntuple"]))
    theirs, same = (ask("analyze", protocol, game="othello", player=name, plies=1) for name in ("net", "ntuple"))
    np.testing.assert_allclose([m["value"] for m in theirs["ranked"]], [m["value"] for m in same["ranked"]], atol=2e-6)
    refused = ask("choose", protocol, game="othello", player="net", depth=3)["error"]
    assert "runs in onnxruntime" in refused
    assert str(tmp_path) not in refused


@pytest.mark.parametrize(
    ("names", "players", "message"),
    [
        (["shogi"], [], "unknown game 'shogi'"),
        (["nim"], ["network"], "no evaluator 'network' for nim"),
        (["nim"], ["/etc/hostname"], "no evaluator file"),
        (["backgammon"], ["network", "network"], "two players of backgammon are called network"),
        (["backgammon"], ["network@ties=random"], "ties are broken at random in matches only"),
        (["chess"], ["material@book=book.bin"], "opening books are for matches"),
        (["backgammon"], ["network@sides=2"], "there is no setting 'sides'"),
        (["backgammon"], ["lost.safetensors"], "there is no evaluator file lost.safetensors"),
    ],
)
def test_offers_that_make_no_sense(names, players, message):
    with pytest.raises(InputError, match=message):
        make_offer(names, players)


def test_a_game_for_which_no_player_is_named_has_its_usual_ones(mine):
    players = make_offer(["nim", "backgammon", "connect_four"], [mine]).players
    assert [list(players[game]) for game in players] == [
        ["nim_sum", "parity"],
        ["mine"],
        ["linear", "points_1", "points_2"],
    ]


def test_a_game_without_players_can_still_be_looked_at():
    offer = make_offer(["nim"])
    offer.players["nim"].clear()
    protocol = Protocol(offer)
    assert ask("info", protocol)["games"][0]["players"] == []
    assert ask("show", protocol, game="nim")["ok"]
    assert "nim has no player yet" in ask("choose", protocol, game="nim")["error"]


def test_a_file_of_another_game_is_refused(mine):
    with pytest.raises(InputError, match="evaluates backgammon, which is not among: nim"):
        make_offer(["nim"], [mine])


def test_a_players_own_settings_hold_where_a_request_says_nothing():
    protocol = Protocol(
        make_offer(["tic_tac_toe"], ["ntuple@depth=2", "ntuple@plies=1", "open_lines@algorithm=alphabeta,depth=3"])
    )

    def depth(player: str, **wish) -> int:
        return ask("choose", protocol, game="tic_tac_toe", player=player, **wish)["depth"]

    assert [depth(player) for player in protocol.offer.players["tic_tac_toe"]] == [2, 1, 3]
    assert depth("ntuple@depth=2", depth=4) == depth("ntuple@plies=1", depth=4) == 4
    assert depth("ntuple@depth=2", plies=1) == 1
