"""Backgammon's `.mat` files: texts as other programs write them, a second reader that does what gnubg's importer does,
bad files."""

from __future__ import annotations

import re

import pytest
from test_formats import one_record

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.games.backgammon.match_file import hops_text
from deltaw.envs.games.backgammon.notation import board
from deltaw.envs.record import final_state, read_games, replay

BACKGAMMON = games.load("backgammon")
MAT = BACKGAMMON.files[".mat"]

GNUBG = """; [Site "a club"]
; [EventDate "2025.11.08"]

 7 point match

 Game 1
 anna : 0                       bert, the second : 0
  1)                             41: 13/9 24/23
  2) 31: 6/5 8/5                 41: 6/5 9/5
  3)  Doubles => 2                Takes
  4) 65: 24/18 18/13              Doubles => 4
  5)  Drops
                                  Wins 2 points

 Game 2
 anna : 0                       bert, the second : 2
  1) 42: 8/4 6/4                 55: 13/3(2)
  2) 63: 24/15                   21: 13/10
                                  Wins 5 points and the match
"""
XG = """\ufeff; [Site "eXtreme Gammon"]\r
\r
0 point match\r
\r
 Game 7\r
 x : 12                         y : 3\r
  1) 64: 24/18 13/9              66: 24/18(2) 13/7*(2)\r
  2) 66: Cannot Move             11: 6/5(2) 8/7 8/7 \r
  3) 21: ????\r
                                  Wins 1 point\r
"""


def moves_of(record) -> list[str]:
    """`41 24/23 13/9` of every turn."""
    texts, dice = [], ""
    for state, event in replay(BACKGAMMON, record):
        if event.is_chance:
            dice = BACKGAMMON.chance_text(state, event.code)
        else:
            texts.append(f"{dice} {BACKGAMMON.move_text(state, event.code)}")
    return texts


# --- files of others ------------------------------------------------------------------------------------------------


def test_a_match_with_cube_as_gnubg_exports_it():
    first, second = MAT.read(BACKGAMMON, GNUBG)
    assert moves_of(first) == ["41 24/23 13/9", "31 8/5 6/5", "41 9/5 6/5", "65 24/13"]
    assert first.players == ("bert, the second", "anna")  # the right one began
    assert first.payoffs == (2.0, -2.0)
    assert first.notes == (
        "game 1: the doubling cube (4 times) is left out",
        "game 1: the score of the 7-point match is left out",
    )
    assert moves_of(second) == ["42 8/4 6/4", "55 13/3(2)", "63 24/15", "21 13/10*"]
    assert second.players == ("anna", "bert, the second")
    assert second.payoffs == (-5.0, 5.0)
    assert second.notes == ("game 2: the score of the 7-point match is left out",)


def test_a_session_as_xg_writes_it():
    """A byte order mark, CRLF, game numbers that do not begin at 1, words for what cannot be played, a resignation
    after the roll."""
    (record,) = MAT.read(BACKGAMMON, XG.lstrip("\ufeff"))
    assert moves_of(record) == ["64 24/18 13/9", "66 24/18(2) 13/7* 13/7", "66 (no move)", "11 8/7(2) 6/5(2)"]
    assert record.events[-1].is_chance
    assert record.payoffs == (-1.0, 1.0)
    assert record.notes == ()


def test_the_byte_order_mark_is_read_over(tmp_path):
    path = tmp_path / "xg.MAT"
    path.write_bytes(XG.encode())
    assert len(read_games(BACKGAMMON, path)) == 1


def test_forced_moves_may_be_left_out():
    """From the bar against five points: no move, or only one."""
    record = one_record(BACKGAMMON, 2)
    text = MAT.write(BACKGAMMON, [record])
    forced = [
        i
        for i, (state, event) in enumerate(replay(BACKGAMMON, record))
        if not event.is_chance and len(BACKGAMMON.moves(state)) == 1
    ]
    assert forced
    states = [state for state, _ in replay(BACKGAMMON, record)]
    assert any(hops_text(states[i], record.events[i].code) for i in forced)  # a forced move that is one
    for i in forced:
        dice = BACKGAMMON.chance_text(states[i - 1], record.events[i - 1].code)
        cell = f"{dice}: {hops_text(states[i], record.events[i].code)}".rstrip()
        assert cell in text
    assert MAT.read(BACKGAMMON, text)[0].events == record.events


# --- our files, as gnubg reads them ---------------------------------------------------------------------------------


def gnubg_cells(line: str) -> tuple[str, str]:
    """The left and the right player's part of a line, by the rules of gnubg's import.c."""
    right = None
    first = line.find(":")
    second = line.find(":", first + 1) if first >= 0 else -1
    if second > 3:
        line, right = line[: second - 3], line[second - 2 :]
    elif len(line) > 15 and (gap := line.find("  ", 15)) >= 0:
        line, right = line[:gap], line[gap:]
    left = line[line.find(")") + 1 :]
    return left.strip(), (right or "").strip()


def gnubg_move(text: str) -> list[tuple[int, int]]:
    """(from, to) of every hop, as the mover counts; bar 25, off 0."""
    numbers = {"bar": 25, "off": 0}
    return [
        tuple(numbers.get(p.rstrip("*"), 0) or int(re.sub(r"\D", "", p) or 0) for p in hop.split("/"))
        for hop in text.split()
    ]


def test_gnubgs_reader_finds_our_games():
    """Whole games with names on either side: who did what, by hops that are each one die, and the score so far."""
    records = [one_record(BACKGAMMON, 9, number) for number in range(6)]
    records = [record._replace(players=record.players[:: (-1) ** i]) for i, record in enumerate(records)]
    lines = MAT.write(BACKGAMMON, records).splitlines()
    assert " 0 point match" in lines
    starts = [i for i, line in enumerate(lines) if line.startswith(" Game ")]
    score = [0, 0]
    for number, (record, start, end) in enumerate(zip(records, starts, [*starts[1:], len(lines)], strict=True)):
        assert re.fullmatch(rf" player 0 : {score[0]} +player 1 : {score[1]}", lines[start + 1])
        cells = [cell for line in lines[start + 2 : end] if line.strip() for cell in gnubg_cells(line)]
        if number % 2:
            assert cells.pop(0) == ""  # the right one begins
        *turns, wins = [cell for cell in cells if cell]
        played = [(state, event.code) for state, event in replay(BACKGAMMON, record) if not event.is_chance]
        assert len(turns) == len(played)
        for turn, (state, code) in zip(turns, played, strict=True):
            dice, _, hops = turn.partition(":")
            assert dice == BACKGAMMON.chance_text(state._replace(roll=0), state.roll - 1)
            after = board(BACKGAMMON.rules.play(state, code))[1]
            mine = list(board(state)[0])
            for source, landing in gnubg_move(hops):
                mine[24 if source == 25 else source - 1] -= 1
                mine[25 if landing == 0 else landing - 1] += 1
                assert str(source - landing) in dice or landing == 0
            assert mine == after
        winner = 0 if (record.payoffs[0] > 0) == (number % 2 == 0) else 1
        score[winner] += int(abs(record.payoffs[0]))
        assert wins == f"Wins {abs(record.payoffs[0]):.0f} point{'s' * (abs(record.payoffs[0]) > 1)}"
        assert [
            line.strip()
            for line in lines[start:end]
            if "Wins" in line and (len(line) - len(line.lstrip()) > 15) == winner
        ]


def test_long_doubles_and_odd_names():
    """Four hops that hit do not fit into the left column; a colon in a name would end it."""
    record = one_record(BACKGAMMON, 11)._replace(players=("a:b", "c  d"))
    text = MAT.write(BACKGAMMON, [record])
    (again,) = MAT.read(BACKGAMMON, text)
    assert again.players == ("a-b", "c d")
    assert again.events == record.events
    joined = re.sub(r"(\S) +([1-6][1-6]:)", r"\1 \2", text)  # columns pressed together
    assert MAT.read(BACKGAMMON, joined)[0].events == record.events


def test_what_a_mat_file_cannot_hold():
    record = one_record(BACKGAMMON, 1)
    later = record._replace(start=final_state(BACKGAMMON, record._replace(events=record.events[:4])), events=())
    for records, message in (
        ([later], "game 1 does not begin at the start"),
        ([record, record._replace(players=("x", "y"))], "game 2 is of x and y"),
        ([], "no game"),
    ):
        with pytest.raises(InputError, match=message):
            MAT.write(BACKGAMMON, records)


# --- bad files ------------------------------------------------------------------------------------------------------

GOOD = """ 0 point match

 Game 3
 a : 0                          b : 0
  1) 31: 8/5 6/5                 42: 8/4 6/4
  2) 65: 24/13
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("42: 8/4 6/4", "42: 8/4 6/3", "game 3, move 1 of b: '8/4 6/3' is not legal with 42"),
        ("65: 24/13", "65: 24/x", "game 3, move 2 of a: '24/x' is no move"),
        ("65: 24/13", "75: 24/13", "game 3, move 2: '2) 75: 24/13' is not understood"),
        ("31: 8/5 6/5", "33: 8/5 6/5", "game 3, move 1 of a: '33' cannot open a game"),
        (
            "  2) 65: 24/13",
            "  2)                             65: 24/13",
            "game 3, move 2 of b: '65: 24/13' comes although",
        ),
        ("  2) 65: 24/13", "  2) Waits", "game 3, move 2: '2) Waits' is not understood"),
        (" a : 0                          b : 0", " a and b", "game 3: 'a and b' does not name the players"),
        ("42: 8/4 6/4", "42: Illegal play (x)", "game 3, move 1 of b: 'illegal' is no move"),
        ("  2) 65: 24/13", "      Wins 1 point\n  2) 65: 24/13", "'65: 24/13' comes after the end of the game"),
        (" Game 3\n", " Game 3\n; Set Pos=-b----E-C---eE---c-e----B-/0\n", "a position was set up by hand"),
        ("  2) 65: 24/13", "  2) 65:                         31: 8/5", "game 3, move 2 of b: '31: 8/5' comes although"),
        ("65: 24/13", f"65: 24/{'1' * 5000}", "is no move: write 8/5 6/5"),
        ("  2) 65: 24/13", f"      Wins {'9' * 5000} points", "is not understood"),
    ],
)
def test_bad_files_name_the_game_and_the_move(old, new, message):
    assert len(MAT.read(BACKGAMMON, GOOD)[0].events) == 6
    assert old in GOOD
    with pytest.raises(InputError) as error:
        MAT.read(BACKGAMMON, GOOD.replace(old, new))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
