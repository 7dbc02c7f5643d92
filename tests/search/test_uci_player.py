"""UCI engines of others as players: what they are told, what they answer, and how they fail."""

from __future__ import annotations

import gc
import os
import sys
import time

import numpy as np
import pytest
from command_lines import assert_one_line

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.games.chess.notation import parse, read_move
from deltaw.envs.record import begin
from deltaw.search import arena
from deltaw.search.doors.offer import make_offer
from deltaw.search.doors.thinker import Thinker, Wish
from deltaw.search.evaluators import uci_engine
from deltaw.search.evaluators.named import compiled, find_evaluator
from deltaw.search.players.agent import Agent
from deltaw.search.players.find import find_player
from deltaw.search.players.how import How, Limits
from deltaw.search.players.players import Decisions
from deltaw.search.players.spec import parse_player
from deltaw.search.tree.engine import Engine

CHESS = games.load("chess")
STOCKFISH = "/usr/games/stockfish"
BACK_RANK = "6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - - 0 1"

FAKE = """
import sys, time
log = open(sys.argv[1], "a")
for line in sys.stdin:
    log.write(line); log.flush()
    words = line.split()
    if words == ["uci"]:
        print("id name fake")
        print("option name Skill Level type spin default 20 min 0 max 20")
        print("option name UCI_LimitStrength type check default false")
        print("option name UCI_Elo type spin default 1500 min 1350 max 2850")
        print("option name UCI_Chess960 type check default false")
        print("option name MultiPV type spin default 1 min 1 max 500")
        print("option name Style type combo default Solid var Solid var Very Risky")
        print("uciok")
    elif words == ["isready"]:
        print("readyok")
    elif words[0] == "go":
        ANSWER
    sys.stdout.flush()
"""
MATES = """print("info depth 3 nodes 70 time 5 multipv 1 score mate 1 pv e1e8")
        print("info depth 3 nodes 70 time 5 multipv 2 score cp -400 pv e1e2 g8f8")
        print("bestmove e1e8 ponder g8f8")"""


@pytest.fixture
def fake(tmp_path):
    """fake(answer) -> the name of a player: a program that answers `go` so; `fake.told()`: what it was told."""
    log, program = tmp_path / "log", tmp_path / "fake.py"

    def make(answer: str, options: str = "") -> str:
        program.write_text(FAKE.replace("ANSWER", answer))
        return f"uci:{sys.executable} {program} {log}{options}"

    make.told = lambda: log.read_text().splitlines()
    return make


def decision(fen: str) -> Decisions:
    return Decisions.of(CHESS.row(parse(fen))[None])


def choose(text: str, fen: str = BACK_RANK) -> str:
    """The move of a player, as it is written in SAN."""
    move = find_player(CHESS, text, threads=1).choose(decision(fen), 0).moves[0]
    return CHESS.move_text(parse(fen), int(move))


# --- names ------------------------------------------------------------------------------------------------------------


def test_limits_are_ours_and_other_settings_the_engines():
    spec = parse_player("uci:/usr/games/stockfish@movetime=0.1,elo=1400,nodes=7")
    assert spec.name == "uci:/usr/games/stockfish@elo=1400"
    assert spec.how == How(limits=Limits(None, 0.1, 7))
    assert spec.label == "uci:stockfish@elo=1400,seconds=0.1,nodes=7"
    assert parse_player("uci:stockfish").label == "uci:stockfish"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uci:no-such-program", "'no-such-program'"),
        ("uci:", "uci:PROGRAM"),
        ("uci:true@seconds=0", "seconds must be a number above 0"),
        ("uci:true@elo=", "uci:PROGRAM@OPTION=VALUE"),
        ("uci:true", "the engine ended with status 0"),
    ],
)
def test_what_cannot_be_started_is_one_line(text, message, capsys):
    assert_one_line(arena.main, f"chess {text} random --games 2", message, capsys)


def test_a_uci_engine_plays_chess_only(capsys):
    assert_one_line(arena.main, "othello uci:true random --games 2", "plays chess, not othello", capsys)
    with pytest.raises(InputError, match="searches by itself"):
        compiled(find_evaluator(CHESS, "uci:true"))


# --- the conversation -------------------------------------------------------------------------------------------------


def test_the_engine_is_told_options_position_and_limits(fake):
    assert choose(fake(MATES, "@elo=1400,skilllevel=3,nodes=50,seconds=0.25")) == "Re8#"
    told = fake.told()
    assert "setoption name UCI_LimitStrength value true" in told
    assert "setoption name UCI_Elo value 1400" in told
    assert "setoption name Skill Level value 3" in told
    assert told[-4:] == ["ucinewgame", "isready", f"position fen {BACK_RANK}", "go nodes 50 movetime 250"]


@pytest.mark.parametrize(
    ("fen", "castling", "chess960"),
    [("k7/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1", "false"), ("k7/8/8/8/8/8/8/3K2R1 w K - 0 1", "d1g1", "true")],
)
def test_castling_from_other_squares_is_announced(fake, fen, castling, chess960):
    assert choose(fake(f"print('bestmove {castling}')"), fen) == "O-O"
    assert f"setoption name UCI_Chess960 value {chess960}" in fake.told()


def test_every_move_is_judged(fake):
    agent = Agent(CHESS, find_evaluator(CHESS, fake(MATES)), limits=Limits(nodes=9))
    found = agent.judge(parse(BACK_RANK))
    assert [move.text for move in found.moves] == ["Re8#", "Re2"]
    assert (found.value, found.moves[0].distance, found.search.nodes) == (1.0, 1, 70)
    assert found.moves[1].value == pytest.approx(-np.tanh(1.0))
    legal = len(CHESS.moves(parse(BACK_RANK)))
    assert f"setoption name MultiPV value {legal}" in fake.told()


def test_the_web_board_asks_within_its_time(fake):
    name = fake(MATES)
    player = make_offer(["chess"], [name]).player("chess", None)
    thought = Thinker().choose(player, begin(player.game, parse(BACK_RANK)), Wish(0.5))
    assert thought.moves[0].text == "Re8#"
    assert "go movetime 500" in fake.told()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("print('bestmove e1e9')", "wants to play 'e1e9'"),
        ("print('bestmove (none)')", r"wants to play '\(none\)'"),
        ("print('bestmove')", "wants to play ''"),
        ("sys.exit(3)", "ended with status 3"),
        ("time.sleep(60)", "not answered bestmove within"),
        ("[print('info depth 1') for _ in range(10**9)]", "not answered bestmove within"),
        ("sys.stdout.buffer.write(bytes(range(128, 256)) * 1000 + b'\\nbestmove x\\n')", "wants to play 'x'"),
    ],
)
def test_an_engine_that_fails_is_one_line_and_is_ended(fake, answer, message, monkeypatch):
    player = find_player(CHESS, fake(answer, "@seconds=0.01"), threads=1)
    process = player._workers.own.start()._process
    monkeypatch.setattr(uci_engine, "PATIENCE", 3.0)
    with pytest.raises(InputError, match=message):
        player.choose(decision(BACK_RANK), 0)
    del player
    gc.collect()
    assert process.poll() is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("@elo=100", "UCI_Elo is 100; it must be a whole number from 1350 to 2850"),
        ("@skill=high", "Skill Level is high"),
        ("@style=Wild", "Style is Wild; it must be one of Solid, Very Risky"),
        ("@UCI_LimitStrength=yes", "must be true or false"),
        ("@colour=red", "no option 'colour'; it has Skill Level"),
    ],
)
def test_options_that_the_engine_would_ignore_are_refused(fake, options, message):
    with pytest.raises(InputError, match=message):
        find_player(CHESS, fake(MATES, options), threads=1)


def test_an_engine_and_what_it_started_end_with_the_player(fake, tmp_path):
    child = tmp_path / "child"
    start = f"import subprocess; open({str(child)!r}, 'w').write(str(subprocess.Popen(['sleep', '600']).pid))"
    player = find_player(CHESS, fake(f"exec({start!r}); print('bestmove e1e8')"), threads=1)
    player.choose(decision(BACK_RANK), 0)
    assert _runs(int(child.read_text()))
    del player
    gc.collect()
    deadline = time.monotonic() + 10.0  # the system may take a moment
    while _runs(int(child.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    """A process that has ended, but that nobody has waited for, does not run."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


# --- real engines -----------------------------------------------------------------------------------------------------


def test_our_own_engine_is_a_player():
    Engine(CHESS, CHESS.baselines["material"]).search(
        parse(BACK_RANK), depth=1
    )  # compiles, for which nobody waits then
    command = f"uci:{sys.executable} -m deltaw uci"
    assert choose(f"{command}@depth=2") == "Re8#"


@pytest.mark.skipif(not os.path.exists(STOCKFISH), reason="Stockfish is not installed")
def test_stockfish_plays_a_match_and_judges(capsys):
    assert arena.main(["chess", f"uci:{STOCKFISH}@nodes=100", "random", "--games", "4", "--threads", "2"]) == 0
    assert "4 : 0" in capsys.readouterr().out
    agent = Agent(CHESS, find_evaluator(CHESS, f"uci:{STOCKFISH}"), limits=Limits(depth=6))
    found = agent.judge(parse(BACK_RANK))
    assert found.moves[0].move == read_move(parse(BACK_RANK), "e1e8")
    assert len(found.moves) == len(CHESS.moves(parse(BACK_RANK)))
