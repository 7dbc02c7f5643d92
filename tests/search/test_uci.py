"""`deltaw uci`: the protocol line by line, time control, and python-chess and Stockfish at the other end."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from command_lines import LONGEST, assert_one_line
from conftest import ROOT

from deltaw.envs import games
from deltaw.envs.games.chess.notation import moves_of, parse, uci
from deltaw.envs.path import make_path
from deltaw.search.doors.time_control import budget
from deltaw.search.doors.uci import UciDoor, converse, levels
from deltaw.search.evaluators.centipawns import from_centipawns, to_centipawns
from deltaw.search.evaluators.evaluator import make_evaluator, save_evaluator
from deltaw.search.tree.engine import Engine
from deltaw.search.uci import main

CHESS = games.load("chess")
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - - 0 1"
MATED_IN_ONE = "7k/5ppp/8/8/8/8/r7/1r4K1 w - - 0 1"
STALEMATE = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
CHECKMATE = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"


class Wire:
    """A conversation with a door that runs in a thread."""

    def __init__(self) -> None:
        self._sent: queue.Queue[bytes] = queue.Queue()
        self.heard: queue.Queue[str] = queue.Queue()
        self.door = UciDoor("material", self.heard.put)
        self.thread = threading.Thread(target=converse, args=(self.door, self._sent.get))
        self.thread.start()

    def send(self, *lines: str) -> None:
        for line in lines:
            self._sent.put(line.encode() + b"\n")

    def until(self, first: str) -> list[str]:
        """Lines up to the one that begins so."""
        lines = [self.heard.get(timeout=LONGEST)]
        while not lines[-1].startswith(first):
            lines.append(self.heard.get(timeout=LONGEST))
        return lines

    def ask(self, *lines: str) -> list[str]:
        """What is said to these lines."""
        self.send(*lines, "isready")
        return self.until("readyok")[:-1]

    def go(self, *lines: str) -> tuple[str, list[str]]:
        """(best move, infos) after these lines, the last of which is `go`."""
        self.send(*lines)
        *infos, best = self.until("bestmove")
        return best.split()[1], infos

    def end(self) -> None:
        self._sent.put(b"")
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.fixture
def wire():
    wire = Wire()
    yield wire
    wire.end()


# --- lines ------------------------------------------------------------------------------------------------------------


def test_the_engine_introduces_itself(wire):
    wire.send("uci")
    said = wire.until("uciok")
    assert said[0].startswith("id name ")
    names = {re.fullmatch(r"option name (.+) type (?:spin|check|string) default .+", line)[1] for line in said[2:-1]}
    assert {"Hash", "Threads", "MultiPV", "Ponder", "UCI_Chess960", "Evaluator"} <= names


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("jump", "'jump'"),
        ("position", "startpos"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "kings"),
        ("position startpos moves e2e5", "'e2e5'"),
        ("position startpos moves e2e4 e7e5 e4e5", "'e4e5'"),
        ("setoption Hash 3", "setoption name NAME value VALUE"),
        ("setoption name Hash value 0", "from 1 to 65536, not '0'"),
        ("setoption name Threads value 2", "from 1 to 1, not '2'"),
        ("setoption name Ponder value yes", "true or false, not 'yes'"),
        ("setoption name Evaluator value nothing", "'nothing'"),
        ("setoption name Colour value red", "no option 'Colour'"),
        ("go depth many", "'many'"),
        ("go depth 0", "'0'"),
        ("go nodes", "'nothing'"),
        ("go fast", "'fast'"),
        ("go searchmoves e2e5", "'e2e5'"),
        ("x" * 70_000, "longer than"),
    ],
)
def test_a_bad_line_is_answered_and_changes_nothing(wire, line, named):
    wire.ask("position startpos moves e2e4", "setoption name MultiPV value 2")
    before, values, engine = wire.door.position, wire.door.values, wire.door.engine
    wire.send(line)
    said = wire.heard.get(timeout=60)
    assert said.startswith("info string error: ")
    assert named in said
    assert wire.door.position is before
    assert wire.door.values == values
    assert wire.door.engine is engine


def test_a_game_goes_on_with_its_path(wire):
    """Also a move that is taken back, and another game."""
    shuffled = ["g1f3", "g8f6", "f3g1", "f6g8"]
    for moves in (shuffled[:2], shuffled, shuffled[:3], ["e2e4"], []):
        assert wire.ask(f"position startpos moves {' '.join(moves)}") == []
        position, fresh = wire.door.position, UciDoor("material", print)
        fresh._set_up(["startpos", "moves", *moves])
        assert position.state == fresh.position.state
        assert position.path.tolist() == fresh.position.path.tolist()
        assert position.path[0] == len(moves)


def test_limits_of_nodes_and_depth_are_kept(wire):
    _, infos = wire.go("go nodes 3000")
    assert 0 < int(re.search(r" nodes (\d+)", infos[-1])[1]) <= 3001
    _, infos = wire.go("go depth 3")
    assert [re.search(r"depth (\d+)", info)[1] for info in infos] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("fen", "score", "best"),
    [
        (MATE_IN_ONE, "mate 1", "e1e8"),
        (CHECKMATE, "mate 0", "(none)"),
        (STALEMATE, "cp 0", "(none)"),
        ("7k/8/8/8/8/8/8/K7 w - - 0 1", None, None),  # a GUI may go on with bare kings
        ("7k/8/8/8/8/8/R6N/K7 w - - 120 90", "cp", None),  # and where nobody claims the 50 moves
    ],
)
def test_wins_and_the_end_of_the_game_are_told(wire, fen, score, best):
    move, infos = wire.go(f"position fen {fen}", "go depth 3")
    if score is not None:
        assert f" score {score} " in infos[-1] + " "
    if best is None:
        assert move in _uci_moves(fen)
    else:
        assert move == best


def _uci_moves(fen):
    state = parse(fen)
    return [uci(state, move) for move in moves_of(state)]


def test_a_loss_has_a_negative_distance(wire):
    _, infos = wire.go("position fen 8/8/8/8/8/6k1/7r/6K1 w - - 0 1", "go depth 6")
    told = re.search(r"score (cp|mate) (-?\d+)", infos[-1])
    assert int(told[2]) < 0


def test_several_lines_and_chosen_moves(wire):
    wire.ask("setoption name MultiPV value 3")
    best, infos = wire.go("position startpos", "go depth 4")
    assert [re.search(r"multipv (\d)", info)[1] for info in infos[-3:]] == ["1", "2", "3"]
    lines = [info.split(" pv ")[1].split() for info in infos[-3:]]
    firsts = [line[0] for line in lines]
    assert best == firsts[0]
    assert all(len(line) > 1 for line in lines)
    for line in lines:  # legal from the first move to the last
        assert wire.ask(f"position startpos moves {' '.join(line)}") == []
    wire.ask("position startpos")
    assert len(set(firsts)) == 3
    best, infos = wire.go("go depth 2 searchmoves a2a3 h2h4")
    assert best in ("a2a3", "h2h4")
    assert {info.split(" pv ")[1].split()[0] for info in infos} == {"a2a3", "h2h4"}


def test_castling_is_written_as_the_gui_wishes(wire):
    fen = "6k1/8/8/8/8/8/8/4K2R w K - 0 1"
    assert wire.go(f"position fen {fen}", "go depth 1 searchmoves e1g1")[0] == "e1g1"
    assert wire.go("setoption name UCI_Chess960 value true", "go depth 1 searchmoves e1g1")[0] == "e1h1"


def test_stop_ends_an_endless_search_and_readiness_is_told_meanwhile(wire):
    wire.ask()
    wire.send("go infinite", "isready")
    wire.until("readyok")
    wire.send("stop")
    assert wire.until("bestmove")[-1].split()[1] in _uci_moves(CHESS.format(CHESS.read_position("start")))


def test_no_answer_is_given_before_the_gui_allows_it(wire):
    """A mate is found at once, but the answer must wait for `stop`, and in the opponent's time for `ponderhit`."""
    for go, allow in (("go infinite", "stop"), ("go ponder movetime 1", "ponderhit"), ("go ponder depth 1", "stop")):
        wire.ask()
        wire.send(f"position fen {MATE_IN_ONE}", go)
        assert "mate 1" in wire.until("info depth")[-1]
        wire.send("isready")
        assert not any(line.startswith("bestmove") for line in wire.until("readyok"))
        wire.send(allow)
        assert wire.until("bestmove")[-1].startswith("bestmove e1e8")


def test_the_clock_runs_from_ponderhit(wire):
    wire.ask()
    wire.send("go ponder wtime 1000 btime 1000", "ponderhit")
    assert wire.until("bestmove")


def test_another_table_and_a_learned_evaluator(wire, tmp_path):
    """Its head is tanh, so its score is the sum before it: here 2 for a queen more."""
    features = CHESS.feature_sets["material"]
    weights = np.array([[2.0 * name.lower().startswith("queen")] for name in features.names()])
    tensors = {"weight0": weights, "bias0": np.zeros(1)}
    file = tmp_path / "queens.safetensors"
    save_evaluator(make_evaluator(CHESS, tensors, features=features, head="tanh"), file)
    engine = wire.door.engine
    assert wire.ask("setoption name hash value 3", f"setoption name Evaluator value {file}") == []
    assert len(wire.door.engine.table) * 32 == 2 << 20
    assert wire.door.engine is not engine
    _, infos = wire.go("position fen 4k1n1/8/8/8/8/8/8/Q3K1N1 w - - 0 1", "go depth 1")
    assert " score cp 800 " in infos[-1]


# --- scores, time, levels ---------------------------------------------------------------------------------------------


def test_centipawns_of_the_baseline_are_its_pawns():
    """A rook up is told as 500, and read back as the same value."""
    state = parse("4k3/8/8/8/8/8/8/R3K3 w - - 0 1")
    value = float(CHESS.baselines["material"].function(state))
    assert to_centipawns(value) == 500
    assert from_centipawns(500) == pytest.approx(value)
    assert to_centipawns(1.0) == -to_centipawns(-1.0) > 1000


@pytest.mark.parametrize("increment", [0.0, 0.01, 2.0])
@pytest.mark.parametrize("moves", [None, 1, 40])
@pytest.mark.parametrize("left", [0.0, 0.01, 0.06, 1.0, 3600.0])
def test_no_move_takes_more_than_the_clock_allows(left, moves, increment):
    allowed = budget(left, increment, moves, 0.05)
    assert 0 <= allowed.soft <= allowed.hard <= 0.6 * left
    assert allowed.hard <= max(left - 0.05, 0.1 * left)


def test_more_time_is_used_where_more_is_left():
    softs = [budget(left, 0.1, None, 0.05).soft for left in (1.0, 10.0, 100.0)]
    assert softs == sorted(softs)
    assert softs[0] < softs[-1]
    assert budget(10.0, 0.0, 2, 0.05).soft > budget(10.0, 0.0, 20, 0.05).soft


def test_levels_end_with_what_one_search_finds():
    engine, state = Engine(CHESS, CHESS.baselines["material"]), parse("r3k2r/8/8/3q4/8/4B3/8/R3K2R w KQkq - 0 1")
    *_, last = levels(engine, state, make_path(CHESS.rules), 4, None, full=False)
    engine.forget()
    assert last.value == engine.search(state, depth=4).value
    assert last.depth == 4
    nodes = [found.nodes for found in levels(engine, state, make_path(CHESS.rules), 4, 500, full=False)]
    assert nodes == sorted(nodes)
    assert nodes[-1] <= 501


# --- the program ------------------------------------------------------------------------------------------------------


def test_the_program_speaks_and_ends_with_its_input():
    done = subprocess.run(
        [sys.executable, "-m", "deltaw", "uci"],
        input="uci\nisready\ngo depth 2\n", cwd=ROOT, capture_output=True, text=True, timeout=LONGEST,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("bestmove ")
    assert done.stdout.startswith("id name deltaw\n")


def test_a_wrong_evaluator_is_one_line(capsys):
    assert_one_line(main, "--evaluator nothing", "'nothing'", capsys)


# --- python-chess and Stockfish at the other end ----------------------------------------------------------------------


def test_python_chess_understands_every_line():
    chess = pytest.importorskip("chess")
    from uci_match import DELTAW, engine

    with engine(*DELTAW) as us:
        board = chess.Board()
        assert us.play(board, chess.engine.Limit(nodes=2000)).move in board.legal_moves
        infos = us.analyse(board, chess.engine.Limit(depth=3), multipv=3)
        assert [info["multipv"] for info in infos] == [1, 2, 3]
        info = us.analyse(chess.Board(MATE_IN_ONE), chess.engine.Limit(mate=1))
        assert info["score"].relative == chess.engine.Mate(1)
        assert info["pv"] == [chess.Move.from_uci("e1e8")]
        start = chess.Board("bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w KQkq - 0 1", chess960=True)
        assert us.play(start, chess.engine.Limit(depth=2), ponder=True).move in start.legal_moves
        with us.analysis(board) as analysis:
            analysis.stop()
            assert analysis.wait().move in board.legal_moves


@pytest.mark.parametrize(
    ("games_", "seconds", "increment"),
    [(2, 2.0, 0.1), (100, 1.0, 0.01)],
)
@pytest.mark.slow
def test_games_against_stockfish_end_by_the_rules(games_, seconds, increment):
    """Its moves and clocks are python-chess's."""
    pytest.importorskip("chess")
    from uci_match import STOCKFISH, match

    if not os.path.exists(STOCKFISH):
        pytest.skip("Stockfish is not installed")
    results = match(games_, seconds, increment, **{"Skill Level": 0})
    assert results["our flag"] == 0
    assert results.total() == games_
