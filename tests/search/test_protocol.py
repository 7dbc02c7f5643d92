"""Requests and answers of both doors: positions that read back, absolute boards, values against plain minimax,
stopping."""

from __future__ import annotations

import base64
import dataclasses
import functools

import numpy as np
import pytest
from game_names import EVERY_GAME, every_game, some_games
from protocol_answers import PROTOCOL, THINKER, ask, good, states

from deltaw.envs import games
from deltaw.envs.control import STOP, Switch, make_control, supervised
from deltaw.search.doors import view
from deltaw.search.doors.protocol import KEYS, LONGEST, write_answer
from deltaw.search.doors.thinker import KEPT, Thinker
from deltaw.search.evaluators.named import find_evaluator
from deltaw.search.players.agent import Agent

# --- positions --------------------------------------------------------------------------------------------------------


@every_game
def test_every_position_reads_back_as_the_same_state(name):
    game = games.load(name)
    for state in states(name):
        shown = view.position(game, state)
        assert view.read(game, shown.text, dice=shown.dice).state == state


def test_a_seat_is_written_only_where_the_notation_leaves_it_out():
    backgammon = games.load("backgammon")
    state = backgammon.parse("4HPwATDgc/ABMA")
    assert view.text_of(backgammon, state) == "4HPwATDgc/ABMA"
    assert view.text_of(backgammon, state._replace(seat=1)) == "4HPwATDgc/ABMA 2"
    assert view.text_of(backgammon, view.initial(backgammon)) == "start"
    assert good("show", game="nim", position="3-5-7 2")["seat"] == 1
    for name, text in (("nim", "3-5-7 3"), ("backgammon", "4HPwATDgc/ABMA 3"), ("tic_tac_toe", "X-------- 2")):
        assert "no" in ask("show", game=name, position=text)["error"]


def test_dice_inside_a_position_come_out_beside_it():
    rolled = good("show", game="backgammon", position="XGID=-b----E-C---eE---c-e----B-:0:0:-1:52:0:0:0:0:10")
    assert (rolled["position"], rolled["dice"], rolled["seat"]) == ("4HPwATDgc/ABMA 2", "52", 1)
    again = good("show", game="backgammon", position=rolled["position"], dice="2,5")
    assert again == rolled
    assert (
        "nothing to roll"
        in ask("roll", game="backgammon", position="XGID=-b----E-C---eE---c-e----B-:0:0:1:52:0:0:0:0:10")["error"]
    )


# --- the board --------------------------------------------------------------------------------------------------------


def cells_in_text(name: str, text: str) -> list[int]:
    """The board by seats, read from the position's text alone."""
    rows = text.split()[0].split("/")
    marks = "-XOZ"
    return [marks.index(mark) for row in (reversed(rows) if name == "connect_four" else rows) for mark in row]


@pytest.mark.parametrize("name", ["connect_four", "othello", "tic_tac_toe", "tic_tac_toe_three"])
def test_cells_are_seen_by_seats(name):
    for state in states(name):
        position = view.position(games.load(name), state).text
        shown = good("show", game=name, position=position)
        assert shown["cells"] == cells_in_text(name, position)
        for move in shown["moves"]:
            assert move["cells"] == cells_in_text(name, move["position"])


def decoded(position: str) -> dict[str, list[int]]:
    """A Position ID by its description: opponent first, then who is on roll; for each point so many ones, and a
    zero."""
    text, _, number = position.partition(" ")
    bits = [byte >> i & 1 for byte in base64.b64decode(text + "==") for i in range(8)]
    counts = [len(run) for run in "".join(map(str, bits)).split("0")[:50]]
    opponent, mover = counts[:25], counts[25:]
    seats = (opponent, mover) if number == "2" else (mover, opponent)
    points = [0] * 26
    for p in range(1, 25):
        points[p] = seats[0][p - 1] - seats[1][24 - p]
    return {"points": points, "bar": [s[24] for s in seats], "off": [15 - sum(s) for s in seats]}


@pytest.mark.parametrize("number", range(2))
def test_backgammon_is_seen_from_the_first_players_side(number):
    seats = set()
    for state in states("backgammon", number)[2:]:
        shown = view.show(games.load("backgammon"), view.position(games.load("backgammon"), state))
        assert shown["cells"] == decoded(shown["position"])
        for move in shown["moves"][:5]:
            assert move["cells"] == decoded(move["position"])
        seats.add(shown["seat"])
    assert seats == {0, 1}
    assert good("show", game="backgammon")["cells"]["points"] == [
        0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0,
    ]  # fmt: skip


def clicks(name: str, position: str) -> dict[str, list[list[int]]]:
    return {move["move"]: move["clicks"] for move in good("show", game=name, position=position)["moves"]}


def test_the_cells_to_click():
    assert clicks("connect_four", "4444")["4"] == [[31]]
    for move, ways in clicks("othello", "start").items():
        assert ways == [["abcdefgh".index(move[0]) + 8 * (int(move[1]) - 1)]]
    castling = clicks("chess", "4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    assert [castling[move] for move in ("O-O", "Kf1", "Rh8+")] == [[[60, 62], [60, 63]], [[60, 61]], [[63, 7]]]
    promoting = clicks("chess", "8/8/8/4k3/8/8/p7/4K3 b - - 0 1")
    assert [move for move, ways in promoting.items() if ways == [[48, 56]]] == ["a1=Q+", "a1=R+", "a1=B", "a1=N"]
    around = [[30, 23, 14, 21, 30], [30, 21, 14, 23, 30]]
    assert clicks("checkers", "W:WK31:B26,27,18,19") == {"31x24x15x22x31": around}
    assert clicks("checkers", "W:W32:B27")["32x23"] == [[31, 22]]
    passing = "-XO" + 61 * "O"
    passing = "X" + 7 * "X" + 19 * "X" + "XX" + 6 * "X" + "XX" + 26 * "X" + "-"
    shown = good("show", game="othello", position=f"{passing} O")
    assert shown["over"] or [(move["move"], move["clicks"]) for move in shown["moves"]] == [("pass", [])]
    assert all(move["clicks"] == [] for move in good("show", game="nim")["moves"])


def pieces_in_text(name: str, text: str) -> list[str]:
    """The board by seats, read from FEN or PDN's FEN alone, in the words of `cell_values`."""
    names = dict(zip("PNBRQK", ("pawn", "knight", "bishop", "rook", "queen", "king"), strict=True))
    if name == "chess":
        squares = "".join(" " * int(c) if c.isdigit() else c for c in text.split()[0].replace("/", ""))
        owners = ["first" if man.isupper() else "second" for man in squares]
        return [
            "empty" if man == " " else f"{owner} player's {names[man.upper()]}"
            for man, owner in zip(squares, owners, strict=True)
        ]
    found = ["empty"] * 32
    for side in text.split(":")[1:3]:
        for square in side[1:].split(",") if side[1:] else []:
            kind = "king" if square[0] == "K" else "man"
            found[int(square.strip("K")) - 1] = f"{'first' if side[0] == 'B' else 'second'} player's {kind}"
    return found


@pytest.mark.parametrize("name", ["chess", "checkers"])
def test_boards_with_several_kinds_of_pieces(name):
    values = next(info["cell_values"] for info in good("info")["games"] if info["name"] == name)
    for state in states(name)[:60]:
        shown = good("show", game=name, position=view.position(games.load(name), state).text)
        for one in (shown, *shown["moves"][:6]):
            assert [values[cell] for cell in one["cells"]] == pieces_in_text(name, one["position"])
        for move in shown["moves"]:
            for way in move["clicks"]:
                assert (shown["cells"][way[0]] - 1) % 2 == (move["cells"][way[-1]] - 1) % 2 == shown["seat"] or (
                    move["move"].startswith("O-O")
                )


def test_info_says_how_boards_are_drawn():
    infos = {info["name"]: info for info in good("info")["games"]}
    assert list(infos) == EVERY_GAME
    assert infos["connect_four"]["board"] == {"rows": 6, "columns": 7, "falls": True}
    assert infos["othello"]["board"] == {"rows": 8, "columns": 8, "falls": False}
    othello = games.load("othello")
    narrow = dataclasses.replace(othello, rules=othello.rules._replace(max_moves=8))
    assert view.board_of(narrow) == {"rows": 8, "columns": 8, "falls": False}  # as many moves as columns prove nothing
    assert infos["checkers"]["board"] == {"rows": 8, "columns": 4, "falls": False}  # the dark squares
    assert [len(infos[name]["shapes"]) for name in ("checkers", "chess", "othello")] == [2, 6, 0]
    assert [infos[name]["path"] for name in ("checkers", "chess", "othello")] == [True, True, False]
    assert [infos[name]["kind"] for name in ("tic_tac_toe_three", "backgammon", "nim")] == [
        "grid",
        "backgammon",
        "other",
    ]
    assert infos["tic_tac_toe_three"]["cell_values"] == ["empty", "first player", "second player", "third player"]
    assert (infos["backgammon"]["chance"], infos["backgammon"]["outcomes"]) == (True, [-3, -2, -1, 1, 2, 3])
    assert infos["backgammon"]["players"][0]["name"] == "network"
    for info in infos.values():
        assert good("show", game=info["name"], position=info["start"]) == good("show", game=info["name"])


# --- moves and dice ---------------------------------------------------------------------------------------------------


@some_games
def test_whole_games_through_the_protocol(name):
    """First legal moves to the end; `move` and the positions beside the moves agree."""
    now, seed, plies = good("show", game=name), 0, 0
    while not now["over"]:
        assert now["needs_dice"] == (now["moves"] == [])
        if now["needs_dice"]:
            now, seed = good("roll", game=name, position=now["position"], seed=seed), seed + 1
            continue
        move = now["moves"][0]
        after = good("move", game=name, position=now["position"], dice=now["dice"], move=move["move"])
        assert (after["position"], after["cells"]) == (move["position"], move["cells"])
        now, plies = after, plies + 1
    assert plies > 0
    assert now["moves"] == []
    assert now["payoffs"][now["seat"]] == now["result"]
    assert now["result"] in next(info["outcomes"] for info in good("info")["games"] if info["name"] == name)


def test_a_repetition_ends_the_game_that_came_through_it():
    steps = ["g1f3", "Nf6", "Ng1", "Ng8"] * 2
    before, now = (good("show", game="chess", steps=steps[:n]) for n in (7, 8))
    assert (before["over"], now["over"], now["result"], now["payoffs"]) == (False, True, 0, [0, 0])
    assert (before["repeated"], now["repeated"], now["moves"]) == (False, True, [])
    assert not good("show", game="chess", position=now["position"])["over"]
    assert "is finished: +0" in ask("choose", game="chess", steps=steps)["error"]
    moved = good("move", game="chess", steps=steps[:7], move="f6g8")
    assert moved == now | {"move": "Ng8"}


def test_values_know_the_path():
    """White is a queen up, and one of his moves repeats the position for the third time."""
    game = {"game": "chess", "player": "material", "depth": 1}
    start = "6k1/8/8/8/8/8/8/Q2K4 b - - 0 1"
    steps = (["Kh7", "Ke1", "Kg8", "Kd1"] * 2)[:-1]
    known = good("analyze", **game, position=start, steps=steps)
    values = {move["move"]: move["value"] for move in known["ranked"]}
    assert values.pop("Kd1") == 0
    assert min(value for move, value in values.items() if not move.startswith("Q")) > 0
    blind = good("analyze", **game, position=known["position"])
    assert min(move["value"] for move in blind["ranked"] if move["move"] == "Kd1") > 0


def test_steps_hold_rolls_as_well():
    one = good("show", game="backgammon", steps=["31", "8/5 6/5", "42"])
    after = good("move", game="backgammon", dice="31", move="8/5 6/5")
    assert one == good("show", game="backgammon", position=after["position"], dice="42")
    assert good("show", game="backgammon", steps=["31", "8/5 6/5"], dice="42") == one
    assert good("roll", game="backgammon", steps=["31", "8/5 6/5"], seed=3)["seat"] == 1


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("chess", {"steps": ["e4", "e5", "Qh5", "Ke7", "Qxe5"]}),
        ("chess", {"position": "8/8/8/4k3/8/8/p7/4K3 b - - 0 9", "steps": ["a1=R+", "Kd2"]}),
        ("backgammon", {"steps": ["31", "8/5 6/5", "42"]}),
        ("othello", {"steps": ["f5", "d6"]}),
        ("tic_tac_toe_three", {"steps": ["a1", "b1"]}),
    ],
)
def test_games_are_written_and_read(name, place):
    names = ["anna", "bert", "carl"][: next(info["seats"] for info in good("info")["games"] if info["name"] == name)]
    formats = next(info["formats"] for info in good("info")["games"] if info["name"] == name)
    now = good("show", game=name, **place)
    for ending in formats:
        text = good("write", game=name, format=ending, players=names, **place)["text"]
        for wanted in (ending, None):
            (game,) = good("read", game=name, text=text, format=wanted)["games"]
            *_, last = good("replay", game=name, position=game["position"], steps=game["steps"])["positions"]
            assert last | {"moves": now["moves"]} == {key: now[key] for key in (*last, "moves")}
            assert game["payoffs"] == now.get("payoffs")
            assert game["players"] == names or ending == ".txt"
    if name == "chess" and now["over"]:
        assert text.endswith("3. Qxe5# 1-0\n\n")


def test_rolls():
    same = {good("roll", game="backgammon", seed=5)["dice"] for _ in range(3)}
    assert len(same) == 1
    openings = {good("roll", game="backgammon", seed=seed)["dice"] for seed in range(200)}
    assert openings == {f"{high}{low}" for high in range(2, 7) for low in range(1, high)}  # never a double
    later = {good("roll", game="backgammon", position="4HPwATDgc/ABMA", seed=seed)["dice"] for seed in range(300)}
    assert len(later) == 21
    assert len({good("roll", game="backgammon")["dice"] for _ in range(40)}) > 3


# --- values -----------------------------------------------------------------------------------------------------------

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@functools.cache
def minimax(board: str) -> int:
    """Plain tic-tac-toe, for the side to move."""
    mover, other = ("X", "O") if board.count("X") == board.count("O") else ("O", "X")
    if any(all(board[i] == other for i in line) for line in LINES):
        return -1
    children = [board[:i] + mover + board[i + 1 :] for i in range(9) if board[i] == "-"]
    return max((-minimax(child) for child in children), default=0)


@functools.cache
def plies_left(board: str) -> int:
    """Until the end, where a winner hurries and a loser delays; of games without a winner, nothing."""
    value, mover = minimax(board), "XO"[board.count("X") > board.count("O")]
    children = [board[:i] + mover + board[i + 1 :] for i in range(9) if board[i] == "-"]
    if any(all(board[i] == "XO"[mover == "X"] for i in line) for line in LINES) or not children:
        return 0
    left = [1 + plies_left(child) for child in children if -minimax(child) == value]
    return min(left) if value > 0 else max(left)


def test_proven_results_say_how_far_they_are():
    for board in ("X---O----", "XX-OO----", "X-O-----X", "XO--X---O"):
        answer = good("analyze", game="tic_tac_toe", position=board, player="open_lines", depth=9)
        positions = {move["move"]: move["position"] for move in answer["moves"]}
        for move in answer["ranked"]:
            after = positions[move["move"]]
            assert move["distance"] == (1 + plies_left(after) if move["value"] else None)
        chosen = good("choose", game="tic_tac_toe", position=board, player="open_lines", depth=9)
        assert chosen["distance"] == answer["ranked"][0]["distance"]


@pytest.mark.parametrize("board", ["X---O----", "XO-------", "XOX-O----", "XX-OO----"])
def test_values_of_every_move_against_plain_minimax(board):
    answer = good("analyze", game="tic_tac_toe", position=board, player="open_lines", depth=9)
    assert len(answer["ranked"]) == len(answer["moves"]) == board.count("-")
    positions = {move["move"]: move["position"] for move in answer["moves"]}
    assert {m["move"]: m["value"] for m in answer["ranked"]} == {m: -minimax(after) for m, after in positions.items()}
    assert answer["value"] == minimax(board) == max(move["value"] for move in answer["ranked"])
    chosen = good("choose", game="tic_tac_toe", position=board, player="open_lines", depth=9)
    assert -minimax(chosen["position"]) == chosen["value"] == minimax(board)
    for line in (answer["ranked"][0]["line"], chosen["line"]):
        assert line
        now = {"position": board}
        for move in line:
            now = good("move", game="tic_tac_toe", position=now["position"], move=move)
        assert minimax(now["position"]) == minimax(board) * (-1) ** len(line)


def test_backgammon_is_ranked_by_plies():
    game = games.load("backgammon")
    state = view.read(game, "4HPwATDgc/ABMA 2", dice="31").state
    for plies in (None, 1, 2):
        answer = good("analyze", game="backgammon", position="4HPwATDgc/ABMA 2", dice="31", plies=plies)
        ranked = Agent(game, find_evaluator(game, "network"), plies=plies or 2).rank(state)
        assert [move["move"] for move in answer["ranked"]] == [move.text for move in ranked]
        np.testing.assert_allclose([m["value"] for m in answer["ranked"]], [m.value for m in ranked], atol=1e-6)
        for move in answer["ranked"]:
            assert sum(move["chances"]) == pytest.approx(1, abs=1e-5)
            assert np.dot(move["chances"], game.rules.outcomes) == pytest.approx(move["value"], abs=1e-5)
        chosen = good("choose", game="backgammon", position="4HPwATDgc/ABMA 2", dice="31", plies=plies)
        assert (chosen["move"], chosen["value"], chosen["nodes"]) == ("8/5 6/5", answer["value"], None)


def test_before_the_dice_there_is_a_value_alone():
    answer = good("analyze", game="backgammon", player="network", plies=1)
    assert (answer["needs_dice"], answer["ranked"], answer["moves"]) == (True, [], [])
    assert 0 < answer["value"] < 0.2


def test_a_finished_game_is_worth_its_result():
    answer = good("analyze", game="tic_tac_toe", position="XXXOO----")
    assert (answer["value"], answer["ranked"], answer["result"], answer["payoffs"]) == (-1, [], -1, [1, -1])


def test_players_that_only_rank_have_no_values():
    for name, player, place in (("backgammon", "pubeval", {"dice": "31"}), ("tic_tac_toe", "criteria", {})):
        answer = good("analyze", game=name, player=player, **place)
        assert answer["value"] is None
        assert {move["value"] for move in answer["ranked"]} == {None}
        assert len(answer["ranked"]) == len(answer["moves"])
        assert "only ranks" in ask("choose", game=name, player=player, depth=3, **place)["error"]
        assert "only ranks" in ask("choose", game=name, player=player, plies=2, **place)["error"]


def test_three_players_and_chance_are_searched():
    chosen = good("choose", game="tic_tac_toe_three", position="X-X-/O--O/-Z--", depth=3)
    assert chosen["move"] == "b1"  # Z must block
    assert good("analyze", game="trees_chance", depth=8)["value"] == 3.0  # the tree's value, as its file says
    assert "is for two" in ask("analyze", game="tic_tac_toe_three", plies=1)["error"]


def test_limits_are_kept():
    answer = good("analyze", game="connect_four", seconds=0.05, top=2)
    assert len(answer["ranked"]) == 2
    assert answer["seconds"] < 5
    assert good("choose", game="connect_four", depth=3)["depth"] == 3
    assert good("choose", game="connect_four", position="4453", depth=64, seconds=0.02)["ok"]


def test_a_thinker_keeps_a_few_searchers():
    thinker = Thinker()
    for name in ("connect_four", "othello", "tic_tac_toe", "backgammon", "connect_four"):
        dice = {"dice": "31"} if name == "backgammon" else {}
        assert PROTOCOL.answer({"do": "choose", "game": name, "depth": 1, **dice}, thinker)["ok"]
    assert len(thinker._kept) == KEPT


# --- stopping ---------------------------------------------------------------------------------------------------------


def test_a_switch_stops_searches_that_run_and_those_that_begin_later():
    switch, control = Switch(), make_control()

    def work() -> int:
        assert control[STOP] == 0
        switch.stop()
        return int(control[STOP])

    with switch:
        assert supervised(control, None, work) == 1
        later = make_control()
        assert supervised(later, None, lambda: int(later[STOP])) == 1
    after = make_control()
    assert supervised(after, None, lambda: int(after[STOP])) == 0


@pytest.mark.parametrize(
    ("name", "place"),
    [("connect_four", {}), ("tic_tac_toe_three", {}), ("backgammon", {"dice": "31", "depth": 5}), ("othello", {})],
)
@pytest.mark.parametrize("do", ["analyze", "choose"])
def test_a_search_stopped_at_once_still_answers(name, place, do):
    switch = Switch()
    switch.stop()
    answer = PROTOCOL.answer({"do": do, "game": name, **place}, THINKER, switch)
    write_answer(answer)
    assert answer["ok"]
    assert good(
        "move", game=name, dice=place.get("dice"), move=(answer if do == "choose" else answer["ranked"][0])["move"]
    )
    assert good(do, game=name, **place | {"depth": 1})["ok"]  # the next one is not stopped


# --- the documentation ------------------------------------------------------------------------------------------------


def test_every_request_is_known_to_the_documentation():
    from conftest import ROOT

    text = (ROOT / "docs" / "protocol.md").read_text()
    for do, keys in KEYS.items():
        assert f'`"{do}"`' in text or f"`{do}`" in text
        for key in keys:
            assert f"`{key}`" in text
    assert f"{LONGEST:g} seconds" in text
