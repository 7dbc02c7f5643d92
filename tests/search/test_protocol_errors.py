"""Bad requests: every kind of them gets one clear line, damaged positions break nothing, and our own mistakes are
answered too."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from game_names import every_game
from protocol_answers import PROTOCOL, THINKER, ask, states

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.record import Event, GameRecord, event_text, follow, formats, is_over, moves_of, replay
from deltaw.search.doors import view
from deltaw.search.doors.offer import make_offer
from deltaw.search.doors.protocol import MOST_BYTES, MOST_ERROR, Protocol, read_request, write_answer


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ('{"do": NaN}', "'NaN' is no finite number"),
        ('{"do": "info", "id": -1e999}', "'-1e999' is no finite number"),
        ("[" * 60_000, "is nested more than 32 levels deep"),
        ('{"do": "show", "dice": ' + "[" * 33 + '"]"' + "]" * 33 + "}", "is nested more than 32 levels deep"),
        ('{"seed": ' + "9" * 5000 + "}", "is no whole number of 64 bits"),
        ("[1]", "is no object"),
        ('"do"', "is no object"),
        (b"\xff", "not UTF-8"),
        ('{"do": "' + "x" * MOST_BYTES + '"}', "longer than 65536 bytes"),
    ],
)
def test_what_is_no_request(text, message):
    with pytest.raises(InputError, match=message) as error:
        read_request(text if isinstance(text, bytes) else text.encode())
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < MOST_ERROR


PLACE = {"game": "tic_tac_toe"}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, '"do" is missing; it is one of: info, show, roll, move, write, read, replay, analyze, choose'),
        ({"do": "dance"}, '"do" is "dance"'),
        ({"do": ["show"]}, '"do" is ["show"]'),
        ({"do": "info", "game": "nim"}, "info takes no 'game'; it takes: nothing"),
        ({"do": "show", "move": "a1", **PLACE}, "show takes no 'move'; it takes: game, position, steps, dice"),
        ({"do": "show"}, 'show needs a "game"'),
        ({"do": "show", "game": 3}, '"game" is 3; it must be a text'),
        ({"do": "show", "game": "shogi"}, "there is no game 'shogi' here"),
        ({"do": "show", "game": "x" * 101}, '"game" has 101 characters'),
        ({"do": "show", "position": "", **PLACE}, '"position" is ""; it must be a text'),
        ({"do": "show", "position": "x" * 1001, **PLACE}, '"position" has 1001 characters'),
        ({"do": "show", "position": "XX-------", **PLACE}, "XX-------"),
        ({"do": "show", "dice": "31", **PLACE}, "tic_tac_toe has no dice, but '31' were given"),
        ({"do": "show", "game": "backgammon", "dice": "71"}, "'71' are no dice"),
        ({"do": "show", "game": "backgammon", "dice": [3, 1]}, '"dice" is [3, 1]; it must be a text'),
        ({"do": "show", "game": "backgammon", "dice": "66"}, "the opening roll is never a double"),
        ({"do": "show", "game": "trees_chance", "dice": "1"}, "no dice are due in 'start'"),
        ({"do": "show", "steps": "a1", **PLACE}, '"steps" is "a1"; it must be a list of at most 1000 texts'),
        ({"do": "show", "steps": ["a1"] * 1001, **PLACE}, '"steps" has 1001 entries'),
        ({"do": "show", "steps": ["a1", 2], **PLACE}, '"steps" has 2 in it; texts of 1 to 100 are right'),
        ({"do": "show", "steps": ["a1", "a1"], **PLACE}, "step 2: 'a1' is not a legal move here"),
        ({"do": "show", "steps": ["a1", "a2", "b1", "b2", "c1", "c2"], **PLACE}, "step 6: 'c2' comes after the end"),
        ({"do": "write", "format": ".pgn", **PLACE}, "\"format\" is '.pgn'; games of tic_tac_toe are kept as: .jsonl"),
        ({"do": "write", "players": ["me"], **PLACE}, '"players" has 1 names; tic_tac_toe has 2 seats'),
        ({"do": "read", **PLACE}, 'read needs a "text"'),
        ({"do": "read", "text": "1. e4", **PLACE}, "is not JSON"),
        ({"do": "read", "game": "chess", "text": "{nothing}"}, "holds no games; from 1 to 100 can be read at once"),
        ({"do": "read", "game": "chess", "text": "* " * 101}, "holds 101 games"),
        ({"do": "read", "game": "chess", "text": "* " * 16_001}, '"text" has 32002 characters'),
        ({"do": "read", "game": "othello", "text": "f5f5"}, "game 1: "),
        ({"do": "read", "game": "chess", "text": "1. e5"}, "move 1 of White: 'e5' is not a legal move here"),
        ({"do": "roll", **PLACE}, "there is nothing to roll in '---------'"),
        ({"do": "roll", "game": "backgammon", "seed": -1}, '"seed" is -1; it must be a whole number from 0'),
        ({"do": "roll", "game": "backgammon", "seed": 1 << 63}, '"seed" is 9223372036854775808'),
        ({"do": "roll", "game": "backgammon", "seed": True}, '"seed" is true'),
        ({"do": "move", **PLACE}, 'move needs a "move"'),
        ({"do": "move", "move": "z9", **PLACE}, "'z9' is not a legal move here; legal: a1, b1"),
        ({"do": "move", "move": "a1", "position": "XXXOO----", **PLACE}, "is finished: -1 for the side to move"),
        ({"do": "move", "move": "8/5 6/5", "game": "backgammon"}, "has no dice yet"),
        ({"do": "move", "move": "8/5 6/4", "game": "backgammon", "dice": "31"}, "is not legal with 31; legal: "),
        ({"do": "choose", "game": "backgammon"}, "has no dice yet"),
        ({"do": "choose", "position": "XXXOO----", **PLACE}, "is finished"),
        (
            {"do": "choose", "player": "network", **PLACE},
            "there is no player 'network' of tic_tac_toe here; there are: ntuple",
        ),
        ({"do": "choose", "player": "../../etc/passwd", **PLACE}, "there is no player '../../etc/passwd'"),
        ({"do": "choose", "seconds": 11, **PLACE}, '"seconds" is 11; it must be a number from 0.01 to 10'),
        ({"do": "choose", "seconds": 0, **PLACE}, '"seconds" is 0'),
        ({"do": "choose", "seconds": "1", **PLACE}, '"seconds" is "1"'),
        ({"do": "choose", "depth": 65, **PLACE}, '"depth" is 65; it must be a whole number from 1 to 64'),
        ({"do": "choose", "depth": 2.0, **PLACE}, '"depth" is 2.0'),
        ({"do": "choose", "plies": 3, **PLACE}, '"plies" is 3; it must be a whole number from 1 to 2'),
        ({"do": "choose", "plies": 1, "depth": 2, **PLACE}, "plies and depth exclude each other"),
        ({"do": "analyze", "top": 0, **PLACE}, '"top" is 0'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_requests_get_one_clear_line(request_, message):
    answer = PROTOCOL.answer({"id": "x7", **request_}, THINKER)
    assert (answer["ok"], answer["id"]) == (False, "x7")
    assert message in answer["error"]
    assert set(answer) == {"ok", "error", "id"}
    assert answer["error"].isprintable()
    assert len(answer["error"]) <= MOST_ERROR
    write_answer(answer)


@pytest.mark.parametrize("id_", [[7], {}, 1.5, True])
def test_an_id_is_a_text_a_whole_number_or_null(id_):
    answer = ask("info", id=id_)
    assert (answer["ok"], answer["id"]) == (False, None)
    assert answer["error"] == f'"id" is {json.dumps(id_)}; it must be a text, a whole number or null'
    assert [ask("info", id=good)["id"] for good in ("", -1, (1 << 63) - 1, None)] == ["", -1, (1 << 63) - 1, None]


def test_levels_count_outside_of_texts_only():
    text = "[{" * 99 + '\\"'
    assert read_request(json.dumps({"do": text, "dice": [[]]})) == {"do": text, "dice": [[]]}


def test_a_value_that_is_no_number_is_an_answer_too():
    assert json.loads(write_answer({"ok": True, "value": float("inf"), "id": 3})) == {
        "ok": False,
        "error": "a value is no finite number: this player cannot judge the position",
        "id": 3,
    }


def damaged(texts: list[str], number: int) -> Iterator[str]:
    """So many of them with one to three characters replaced or inserted."""
    random = np.random.default_rng(3)
    characters = list("XOZ-./:0123456789 abcdefgh=+²٣é\x00\n'\"\\A*()")
    for _ in range(number):
        text = list(texts[random.integers(len(texts))])
        for _ in range(random.integers(1, 4)):
            i = int(random.integers(len(text) + 1))
            text[i : i + int(random.integers(2))] = [characters[random.integers(len(characters))]]
        yield "".join(text)


@every_game
def test_damaged_positions_are_refused_or_read_but_never_break_anything(name):
    texts = [view.position(games.load(name), state).text for state in states(name)[:20]]
    for text in damaged(texts, 150):
        answer = ask("show", game=name, position=text)
        assert answer["ok"] or not answer["error"].startswith("internal error")


@every_game
def test_damaged_games_are_refused_or_read_to_be_replayed(name):
    known = games.load(name)
    course = view.read(known, "start").course
    while len(course.events) < 6 and not is_over(known, course):
        chance = known.rules.num_chance(course.state) > 0
        course = follow(known, course, Event(chance, 0 if chance else moves_of(known, course)[0]))
    steps = [event_text(known, *one) for one in replay(known, GameRecord(view.initial(known), (), course.events, None))]
    texts = [ask("write", game=name, steps=steps, format=ending)["text"] for ending in formats(known)]
    for text in (*texts, *damaged(texts, 100)):
        answer = ask("read", game=name, text=text)
        assert answer["ok"] or not answer["error"].startswith("internal error")
        for game in answer.get("games", ()):
            again = ask("replay", game=name, position=game["position"], steps=game["steps"])
            assert len(again["positions"]) == len(game["steps"]) + 1


def test_our_own_mistakes_are_answered_too(capsys):
    protocol = Protocol(make_offer(["nim"]))
    protocol._answers["show"] = lambda request: 1 // 0
    answer = ask("show", protocol, game="nim", id="x")
    assert answer == {"ok": False, "error": "internal error: this request met a mistake in the program", "id": "x"}
    assert "ZeroDivisionError" in capsys.readouterr().err
