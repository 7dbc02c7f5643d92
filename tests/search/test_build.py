"""The command that builds databases and checks them: what it writes, what it says, and what it leaves behind when
stopped."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest
from conftest import ROOT

from deltaw.envs import games
from deltaw.search import build
from deltaw.search.databases.database import Entry, find_databases, load_database

TIC_TAC_TOE = games.load("tic_tac_toe")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_build_and_check(folder, capsys):
    assert build.main(["tic_tac_toe", "complete"]) == 0
    path = folder / "tic_tac_toe_complete.table"
    told = capsys.readouterr().out
    for text in (str(path), "765", "deltaw build tic_tac_toe complete", f"{path.stat().st_size:,}"):
        assert text in told
    assert build.main(["--check", str(path)]) == 0
    assert capsys.readouterr().out == told
    database = load_database(find_databases(TIC_TAC_TOE)["complete"])
    assert database.find(TIC_TAC_TOE.rules.initial()) == Entry(0, None)


def test_build_other_kinds(folder, capsys):
    assert build.main(["nim", "endgame", "--from", "3-4-5", "--from", "1-2", "--out", str(folder / "a file")]) == 0
    nim = games.load("nim")
    database = load_database(folder / "a file", nim)
    assert "3-4-5, 1-2" in database.description.covers
    assert database.description.made["command"] == "deltaw build nim endgame --from 3-4-5 --from 1-2"
    assert database.find(nim.parse("3-4-5")).value == 1
    assert build.main(["tic_tac_toe", "book", "--plies", "2", "--no-symmetry"]) == 0
    assert len(load_database(folder / "tic_tac_toe_book_2.table")) == 82
    assert build.main(["tic_tac_toe", "book", "--plies", "1", "--from", "X---O----"]) == 0
    assert len(load_database(folder / "tic_tac_toe_book_1.table")) == 1 + 4
    assert build.main(["backgammon", "bearoff", "--checkers", "3"]) == 0
    assert "both sides: up to 3" in capsys.readouterr().out
    assert build.main(["backgammon", "bearoff", "--checkers", "3", "--pairs", "0"]) == 0
    assert "both sides: up to 0" in capsys.readouterr().out
    assert build.main(["--check", str(folder / "backgammon_bearoff.table")]) == 0


BAD = {
    "tic_tac_toe": "what to build",
    "": "name a game",
    "halma complete": "'halma'",
    "tic_tac_toe perfect": "perfect",
    "tic_tac_toe book": "--plies",
    "tic_tac_toe complete --plies 3": "--plies",
    "tic_tac_toe book --plies -1": "-1",
    "tic_tac_toe book --plies many": "many",
    "tic_tac_toe endgame": "--from",
    "tic_tac_toe endgame --from XXX": "'XXX'",
    "tic_tac_toe complete --from X--------": "--from",
    "tic_tac_toe endgame --from XXX --pieces 3": "one of them",
    "tic_tac_toe endgame --pieces 3": "tic_tac_toe does not number",
    "tic_tac_toe complete --pieces 3": "--pieces",
    "checkers endgame --pieces 9": "'9'",
    "checkers endgame --pieces 1": "'1'",
    "checkers endgame --pieces KRK": "'KRK'",
    "chess endgame --pieces 3": "'3'",
    "chess endgame --pieces KNK": "drawn",
    "chess endgame --pieces KRK,KPKP": "'KPKP' has pawns of both sides",
    "chess endgame --pieces KQQKQQQ": "more than 6 men",
    "chess endgame --pieces ../KRK": "'../KRK'",
    "tic_tac_toe complete --limit 0": "--limit",
    "tic_tac_toe complete --limit 100": "100 positions",
    "tic_tac_toe bearoff": "tic_tac_toe",
    "backgammon complete": "chance",
    "backgammon book --plies 2": "chance",
    "backgammon bearoff --checkers 16": "16",
    "backgammon bearoff --checkers 3 --pairs 4": "--pairs 4",
    "backgammon bearoff --checkers 3 --pairs -1": "-1",
    "--check absent.table": "absent.table",
    "tic_tac_toe --check absent.table": "--check",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_one_line(folder, capsys, words):
    try:
        status = build.main(words.split())
    except SystemExit as error:  # argparse
        status = error.code
    told = capsys.readouterr()
    assert status == 2
    assert BAD[words] in told.err
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert not folder.exists()


def test_a_target_that_cannot_be_written(folder, capsys, tmp_path):
    (tmp_path / "file").touch()
    assert build.main(["nim", "complete", "--out", str(tmp_path / "file" / "below")]) == 2
    assert "below" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", ["tic_tac_toe complete", "tic_tac_toe book --plies 3", "backgammon bearoff --checkers 3"]
)
def test_ctrl_c_leaves_nothing_behind(folder, monkeypatch, words):
    def interrupted(*numbers):
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "progress_bar", lambda what: contextlib.nullcontext(interrupted))
    assert build.main(words.split()) == 130
    assert not folder.exists() or not list(folder.iterdir())


def test_the_module_runs_as_a_command(folder):
    done = subprocess.run(
        [sys.executable, "-m", "deltaw.search.build", "tic_tac_toe", "complete", "--out", str(folder / "x.table")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "765" in done.stdout
    assert done.stderr == "" or "compiling" in done.stderr
