"""The benchmarks run, in miniature; nobody asserts how fast."""

from __future__ import annotations

import json
import math
import time

import pytest
from conftest import ROOT

from benchmarks import run, switches
from benchmarks.bench_search_peers import find_stockfish
from benchmarks.measure import REPEATS, Row, Settings, Timing, rate, row
from deltaw.search.players.spec import SETTINGS
from deltaw.search.tree.engine import SWITCHES

TINY = Settings(seconds=0.01, games=1, positions=20, decisions=20, batch=32, starts=1, cold=False, peers=True)
STARTS = [bench for bench in run.discover() if bench.name.startswith("startup.")]
QUICK = [bench for bench in run.discover() if bench not in STARTS]
COMPILES = (
    "search.nodes", "search.chance", "search.othello", "search.chess",
    "search_peers.stockfish", "search_peers.python_chess_search",
)  # fmt: skip
"""benches that compile every algorithm, or the engine, for large games: minutes without a cache"""
PEERS = {  # the module of each
    "peers.gnubg": "gnubg_nn",
    "peers.open_spiel": "pyspiel",
    "peers.python_chess": "chess",
    "search_peers.open_spiel_search": "pyspiel",
    "search_peers.bitbully": "bitbully",
    "search_peers.stockfish": "",
    "search_peers.python_chess_search": "chess",
}


def check(rows: list[Row]) -> None:
    for line in rows:
        assert line.name
        assert line.unit
        assert math.isfinite(line.value)
        assert 0.0 < line.low <= line.value <= line.high
    assert len({(line.name, line.unit) for line in rows}) == len(rows)


@pytest.mark.parametrize(
    "bench",
    [pytest.param(bench, marks=pytest.mark.slow if bench.name in COMPILES else ()) for bench in QUICK],
    ids=lambda bench: bench.name,
)
def test_a_bench_yields_rows(bench):
    if bench.name == "search_peers.stockfish" and find_stockfish() is None:
        pytest.skip("no Stockfish here")
    elif PEERS.get(bench.name):
        pytest.importorskip(PEERS[bench.name])
    rows = run.collect([bench], TINY)
    assert rows
    check(rows)
    assert all(line.repeats >= REPEATS or line.unit == "nodes" for line in rows)  # what is counted needs no repeat


@pytest.mark.slow
@pytest.mark.parametrize("bench", STARTS, ids=lambda bench: bench.name)
def test_a_start_is_measured(bench):
    check(run.collect([bench], TINY._replace(cold=True)))


def test_peers_are_measured_on_demand_only():
    peers = [bench for bench in QUICK if bench.name in PEERS]
    assert len(peers) == len(PEERS)
    assert run.collect(peers, TINY._replace(peers=False)) == []


def test_every_area_of_the_readme_is_there():
    text = (ROOT / "benchmarks" / "README.md").read_text()
    assert all(f"| `{bench.name.split('.')[0]}` |" in text for bench in run.discover())


@pytest.mark.slow
def test_the_engines_ideas_are_matched(capsys):
    assert switches.main(["--only", "null_move", "--games", "4", "--seconds", "0.002"]) == 0
    header, rule, line = capsys.readouterr().out.splitlines()
    assert header.count("|") == rule.count("|") == line.count("|")
    assert line.startswith("| null move | ")
    won, drawn, lost = (int(number) for number in line.split("|")[4].split(","))
    assert won + drawn + lost == 4


def test_every_idea_is_an_option_of_the_engine(capsys):
    assert {option for option, _ in switches.SWITCHES.values()} <= {*SWITCHES, *SETTINGS}
    assert switches.main(["--only", "luck"]) == 2
    assert "no idea luck" in capsys.readouterr().err


def test_a_rate_counts_units():
    done = []

    def work() -> int:
        done.append(time.perf_counter())
        time.sleep(0.0002 if len(done) > 2 else 0.0)  # the first calls say little about the others
        return 3

    timing = rate(work, 0.02)
    assert len(timing.values) >= REPEATS
    assert all(0.0 < value < 3 / 0.0002 for value in timing.values)
    assert done[-1] - done[0] < 2.0


def test_a_row_is_the_median():
    line = row("x", "games/s", Timing([1.0, 9.0, 2.0], 0.5), scale=2.0)
    assert (line.low, line.value, line.high, line.repeats) == (2.0, 4.0, 18.0, 3)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.0, "1,230,000"), (456.4, "456"), (99.96, "100"), (7.891, "7.89"), (0.1234, "0.123"), (0.0, "0")],
)
def test_numbers_have_three_digits(value, text):
    assert run.number(value) == text


def test_command_line(tmp_path, capsys):
    path = tmp_path / "bench.json"
    assert run.main(["--only", "rules.features", "--seconds", "0.01", "--json", str(path)]) == 0
    report = json.loads(path.read_text())
    assert "backgammon: features expert" in capsys.readouterr().out
    assert {line["name"] for line in report["rows"]} >= {"backgammon: features expert", "tic_tac_toe: features lines"}
    assert report["machine"]["versions"]["numba"]
    assert report["settings"]["seconds"] == 0.01


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--only", "chess"], "no benchmark 'chess'"), (["--seconds", "0"], "--seconds"), (["--games", "0"], "--games")],
)
def test_bad_input_is_one_line(arguments, complaint, capsys):
    assert run.main(arguments) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
