"""Backgammon against other programs' data and against a slow second implementation (`naive_backgammon.py`)."""

from __future__ import annotations

from functools import cache

import naive_backgammon as naive
import numpy as np
import pytest
from conftest import random_game, read_json, read_lines
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.games.backgammon import notation, rules
from deltaw.envs.games.backgammon.features import EXTRAS, feature_names
from deltaw.envs.games.backgammon.pubeval import pubeval

GAME = games.load("backgammon")
ROLLS = {
    f"{high}{low}": roll for roll, (high, low) in enumerate(zip(rules.DICE_HIGH, rules.DICE_LOW, strict=True)) if roll
}


def roll_number(dice):
    return ROLLS[f"{max(dice)}{min(dice)}"]


def with_dice(text, dice):
    return GAME.parse(text)._replace(roll=roll_number(dice))


def results(state):
    """Position IDs after every legal play, the opponent on roll; fails on a repeated one."""
    moves, rows = GAME.buffers()
    n = rules.expand(state, moves, rows)
    ids = [GAME.format(GAME.unrow(row)) for row in rows[:n]]
    assert len(set(ids)) == n
    return set(ids)


@cache
def random_states():
    """Decisions of random games: random players leave blots, get hit and bear off."""
    states = [state for number in range(6) for state in random_game(GAME, 99, number)]
    return [state for state in states if state.roll > 0]


def random_side(draw, taken):
    """26 counts that avoid the points in `taken` (the other side's indices)."""
    free = [i for i in range(24) if 23 - i not in taken] + [24, 25]
    side = [0] * 26
    for i in draw(st.lists(st.sampled_from(free), min_size=15, max_size=15)):
        side[i] += 1
    return side


@st.composite
def boards(draw):
    """Any two sides that share no point and have not both borne off all."""
    me = random_side(draw, set())
    opponent = random_side(draw, {i for i in range(24) if me[i]})
    if me[25] == opponent[25] == 15:
        me[25], me[0] = 14, 1
    return me, opponent


# --- legal plays -----------------------------------------------------------------------------------------


@cache
def golden_moves():
    return read_lines("moves.jsonl.gz")


def test_legal_plays_equal_those_of_five_programs():
    for record in golden_moves():
        state = with_dice(record["id"], record["dice"])
        assert notation.board(state) == (record["me"], record["opp"])
        assert results(state) == set(record["results"]), record


def test_dice_played_equal_those_of_five_programs():
    for record in golden_moves():
        state = with_dice(record["id"], record["dice"])
        for move in GAME.moves(state)[:5]:
            assert sum(bool(move >> 5 * i & 31) for i in range(4)) == record["dice_used"], record


def test_legal_plays_equal_brute_force():
    states = random_states()
    seen = set()
    for state in states[:: max(1, len(states) // 300)]:
        me, opponent = (tuple(side) for side in notation.board(state))
        high, low = int(rules.DICE_HIGH[state.roll]), int(rules.DICE_LOW[state.roll])
        expected = {
            GAME.format(notation.from_board(list(his), list(mine)))
            for mine, his in naive.results(me, opponent, high, low)
            if mine[25] < 15
        }
        assert {text for text in results(state) if sum(GAME.parse(text)[2:4])} == expected, GAME.format(state)
        seen |= {"double" if high == low else "two dice", *(["bar"] if me[24] else [])}
        seen |= {"bearing off"} if not any(me[6:25]) else set()
        seen |= {"no move"} if GAME.moves(state) == [0] else set()
    assert seen == {"double", "two dice", "bar", "bearing off", "no move"}


@settings(max_examples=150, deadline=None)
@given(boards(), st.integers(1, 6), st.integers(1, 6))
def test_legal_plays_of_any_board_equal_brute_force(board, a, b):
    me, opponent = board
    if me[25] == 15 or opponent[25] == 15:
        return
    state = notation.from_board(me, opponent, roll_number((a, b)))
    moves, rows = GAME.buffers()
    n = rules.expand(state, moves, rows)
    after = [notation.board(GAME.unrow(row)) for row in rows[:n]]
    found = {(tuple(mine), tuple(his)) for his, mine in after}
    assert len(found) == n
    assert found == naive.results(tuple(me), tuple(opponent), max(a, b), min(a, b))


def test_every_opening_has_its_number_of_plays():
    openings = read_json("openings.json")
    assert len(openings) == 21
    for dice, opening in openings.items():
        found = results(with_dice("start", [int(die) for die in dice.split("-")]))
        assert len(found) == opening["n_results"]
        assert found >= {play["result"] for play in opening["top"]}


def test_a_position_that_released_programs_got_wrong():
    state = with_dice("8N4ZAAbg/xMAIA", (6, 2))
    assert results(state) == {"wv8HAAjw3hkABg"}
    assert [GAME.move_text(state, move) for move in GAME.moves(state)] == ["24/22 8/2"]


def test_the_opening_roll_is_no_double():
    start = GAME.parse("start")
    rolls = [rules.chance(start, i)[0].roll for i in range(rules.num_chance(start))]
    assert len(rolls) == 15
    assert all(rules.DICE_HIGH[roll] != rules.DICE_LOW[roll] for roll in rolls)


def test_doubles_are_half_as_likely_as_other_rolls():
    state = GAME.parse("start")._replace(roll=0)
    edges = [rules.chance(state, i) for i in range(rules.num_chance(state))]
    assert len(edges) == 21
    for after, probability in edges:
        double = rules.DICE_HIGH[after.roll] == rules.DICE_LOW[after.roll]
        assert probability == pytest.approx(1 / 36 if double else 1 / 18)


def test_no_position_has_more_plays_than_there_is_room_for():
    """Fifteen checkers far apart and nobody in the way, every double: the widest nodes there are."""
    spread = [0] * 26
    for i in range(9, 24):
        spread[i] = 1
    opponent = [0] * 24 + [0, 14]
    opponent[0] = 1  # on the mover's 24-point: move that checker away
    spread[23], spread[8] = 0, 1
    counts = [len(GAME.moves(notation.from_board(spread, opponent, roll_number((d, d))))) for d in range(1, 7)]
    assert max(counts) <= rules.MAX_MOVES
    assert counts[0] > 1000


# --- outcomes --------------------------------------------------------------------------------------------


def side(**points):
    """26 counts from `p6=2, bar=1, off=12`."""
    counts = [0] * 26
    for name, n in points.items():
        counts[{"bar": 24, "off": 25}.get(name, int(name[1:]) - 1 if name[0] == "p" else -1)] = n
    assert sum(counts) == 15
    return counts


@pytest.mark.parametrize(
    ("loser", "size"),
    [
        (side(p6=14, off=1), 1),
        (side(p6=15), 2),
        (side(p18=1, p6=14), 2),
        (side(p19=1, p6=14), 3),
        (side(p24=15), 3),
        (side(bar=1, p1=14), 3),
        (side(bar=1, p1=13, off=1), 1),
    ],
)
def test_single_game_gammon_and_backgammon(loser, size):
    winner = side(off=15)
    assert rules.outcome(notation.from_board(loser, winner)) == (True, -size)
    assert rules.outcome(notation.from_board(winner, loser)) == (True, size)


def test_a_game_goes_on_while_both_have_checkers():
    assert rules.outcome(GAME.parse("start")) == (False, 0)
    assert rules.outcome(notation.from_board(side(p1=1, off=14), side(p1=1, off=14))) == (False, 0)


# --- Position ID and XGID --------------------------------------------------------------------------------


def test_the_start_has_its_well_known_id():
    assert GAME.format(GAME.parse("start")) == "4HPwATDgc/ABMA"
    me, opponent = notation.board(GAME.parse("start"))
    assert me == opponent == side(p24=2, p13=5, p8=3, p6=5)


@given(boards())
def test_position_ids_round_trip(board):
    state = notation.from_board(*board)
    text = notation.position_id(state)
    assert len(text) == 14
    assert GAME.parse(text) == state
    assert notation.board(state) == tuple(board)


START_XGID = "XGID=-b----E-C---eE---c-e----B-:0:0:{turn}:{dice}:0:0:0:0:10"


def test_xgid_of_the_start():
    state = GAME.parse(START_XGID.format(turn=1, dice="00"))
    assert GAME.format(state) == notation.START
    assert (state.roll, state.seat) == (0, 0)


def test_xgid_turn_and_dice():
    state = GAME.parse(START_XGID.format(turn=-1, dice="52"))
    assert GAME.format(state) == notation.START
    assert (notation.roll_text(state.roll), state.seat) == ("52", 1)


def test_xgid_turn_swaps_an_uneven_board():
    """Upper case: one checker on its 6-point and one on the bar; lower case: two on its ace-point, the 24-point of the
    other."""
    text = "XGID=------A-----------------bA:0:0:{}:00:0:0:0:0:10".replace("-----------------bA", "-----------------bA")
    upper, lower = side(p6=1, bar=1, off=13), side(p1=2, off=13)
    assert notation.board(GAME.parse(text.format(1))) == (upper, lower)
    assert notation.board(GAME.parse(text.format(-1))) == (lower, upper)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("4HPwATDgc/ABM", "14 characters"),
        ("4HPwATDgc/ABM!", "14 characters"),
        ("//////////////", "no Position ID"),
        ("4HPwATDgc/ABMB", "4HPwATDgc/ABMA"),
        ("XGID=-b----E-C---eE---c-e----B:0:0:1:00", "26 letters"),
        ("XGID=-b----E-C---eE---c-e----B-:0:0:2:00", "turn"),
        ("XGID=Ab----E-C---eE---c-e----B-:0:0:1:00", "bar"),
        ("XGID=-b----O-C---eE---c-e----B-:0:0:1:00", "25 checkers"),
        ("XGID=-b----E-C---eE---c-e----B-:0:0:1:19", "dice"),
    ],
)
def test_bad_positions_are_refused_in_one_line(text, what):
    with pytest.raises(InputError) as caught:
        GAME.parse(text)
    message = str(caught.value)
    assert what in message
    assert "\n" not in message
    if "checkers" not in what:
        assert text in message or "'19'" in message


def test_a_shared_point_is_refused():
    with pytest.raises(InputError, match="point 6"):
        notation.from_board(side(p6=15), side(p19=15))


@pytest.mark.parametrize(("text", "roll"), [("31", "31"), ("13", "31"), ("3-1", "31"), ("3,1", "31"), ("[6, 6]", "66")])
def test_dice_are_read(text, roll):
    state = GAME.parse("start")._replace(roll=0)
    assert notation.roll_text(notation.read_roll(state, text)) == roll
    assert GAME.chance_text(state, GAME.find_chance(state, text)) == roll


@pytest.mark.parametrize("text", ["", "7", "71", "1", "111", "ab", "0 1"])
def test_bad_dice_are_refused(text):
    with pytest.raises(InputError) as caught:
        GAME.find_chance(GAME.parse("start"), text)
    assert repr(text) in str(caught.value)


def test_a_double_cannot_open_and_dice_lie_once():
    with pytest.raises(InputError, match="'33' cannot open"):
        GAME.find_chance(GAME.parse("start"), "33")
    with pytest.raises(InputError, match="already rolled: 62"):
        GAME.find_chance(with_dice("start", (6, 2)), "33")


# --- moves as players write them -------------------------------------------------------------------------


def state_of(me, opponent, dice):
    return notation.from_board(me, opponent, roll_number(dice))


@pytest.mark.parametrize(
    ("state", "written", "shown"),
    [
        (with_dice("start", (3, 1)), "8/5 6/5", "8/5 6/5"),
        (with_dice("start", (3, 1)), "6/5 8/5", "8/5 6/5"),
        (with_dice("start", (3, 1)), "  6/5   8/5 ", "8/5 6/5"),
        (with_dice("start", (6, 5)), "24/13", "24/13"),
        (with_dice("start", (6, 5)), "24/18 18/13", "24/13"),
        (with_dice("start", (6, 5)), "24/18/13", "24/13"),
        (with_dice("start", (6, 5)), "18/13 24/18", "24/13"),
        (with_dice("start", (1, 1)), "8/7(2) 6/5(2)", "8/7(2) 6/5(2)"),
        (with_dice("start", (1, 1)), "6/5 8/7 6/5 8/7", "8/7(2) 6/5(2)"),
        (state_of(side(bar=1, p6=14), side(p5=1, p1=14), (5, 4)), "bar/20* 6/2", "bar/20* 6/2"),
        (state_of(side(bar=1, p6=14), side(p5=1, p1=14), (5, 4)), "BAR/20 6/2", "bar/20* 6/2"),
        (state_of(side(p6=2, off=13), side(p1=2, off=13), (6, 6)), "6/off(2)", "6/off(2)"),
        (state_of(side(p6=2, off=13), side(p1=2, off=13), (6, 6)), "6/off 6/off", "6/off(2)"),
        (state_of(side(p24=2, p6=13), side(p7=1, p2=14), (6, 3)), "24/18*/15", "24/18*/15"),
    ],
)
def test_moves_are_read_in_any_spelling(state, written, shown):
    assert GAME.move_text(state, GAME.find_move(state, written)) == shown


def test_two_plays_that_differ_in_a_hit_only_need_the_star():
    """24 to 15 by 6 and 3: over the opponent's blot on 18, or over the empty 21."""
    state = state_of(side(p24=2, p6=13), side(p7=1, p12=14), (6, 3))
    hit, quiet = GAME.find_move(state, "24/18*/15"), GAME.find_move(state, "24/21/15")
    assert rules.play(state, hit) != rules.play(state, quiet)
    assert GAME.move_text(state, quiet) == "24/15"
    assert GAME.find_move(state, "24/18* 18/15") == hit
    assert GAME.find_move(state, "24/15") == quiet


def test_an_ambiguous_move_is_refused_with_the_ways_to_write_it():
    """24 to 15 by 6 and 3, a blot on either point between: each way hits."""
    state = state_of(side(p24=2, p6=13), side(p7=1, p4=1, p12=13), (6, 3))
    with pytest.raises(InputError, match="ambiguous") as caught:
        GAME.find_move(state, "24/15")
    assert "24/18*/15" in str(caught.value)
    assert "24/21*/15" in str(caught.value)
    assert GAME.find_move(state, "24/18*/15") != GAME.find_move(state, "24/21*/15")


def test_a_pass_is_written_and_read():
    state = state_of(side(bar=1, p6=14), side(p1=2, p2=2, p3=2, p4=2, p5=2, p6=2, p8=3), (5, 3))
    assert GAME.moves(state) == [0]
    assert GAME.move_text(state, 0) == "(no move)"
    assert [GAME.find_move(state, text) for text in ("(no move)", "pass", "no move")] == [0, 0, 0]


@pytest.mark.parametrize("text", ["8/3", "8-5 6-5", "13/15", "24/24", "8/5", "bar/20", "30/2", "8/5 6/5 6/5", "pass"])
def test_illegal_moves_are_refused_with_what_was_written(text):
    with pytest.raises(InputError) as caught:
        GAME.find_move(with_dice("start", (3, 1)), text)
    assert any(part in str(caught.value) for part in (text, *text.split()))
    assert "\n" not in str(caught.value)


# --- features --------------------------------------------------------------------------------------------


def dense(state, name):
    feature_set = GAME.features(name)
    index, value = np.zeros(feature_set.max_active, np.int32), np.zeros(feature_set.max_active, np.float32)
    n = GAME.rules.features(state, np.array(feature_set.spec, np.int64), index, value)
    inputs = np.zeros(feature_set.num_features)
    inputs[index[:n]] = value[:n]
    return inputs


@pytest.mark.parametrize("name", ["tesauro", "tesauro_pips", "expert"])
def test_features_equal_their_definition(name):
    positions = [(record["me"], record["opp"]) for record in golden_moves()[::4]]
    positions += [notation.board(state) for state in random_states()[::5]]
    for me, opponent in positions:
        wanted = naive.expert(tuple(me), tuple(opponent))
        found = dense(notation.from_board(me, opponent), name)
        np.testing.assert_allclose(found, wanted[: len(found)], rtol=1e-6, err_msg=f"{me} {opponent}")


@settings(max_examples=200, deadline=None)
@given(boards())
def test_features_of_any_board_equal_their_definition(board):
    me, opponent = board
    wanted = naive.expert(tuple(me), tuple(opponent))
    found = dense(notation.from_board(me, opponent), "expert")
    wrong = [feature_names()[i] for i in np.flatnonzero(~np.isclose(found, wanted, rtol=1e-6))]
    assert not wrong, (me, opponent)


def test_the_start_in_numbers():
    """A worked example: 24-point 2, 13-point 5, 8-point 3, 6-point 5, twice."""
    inputs = dense(GAME.parse("start"), "expert")
    named = dict(zip(feature_names(), inputs, strict=True))
    assert [named[f"me_6_{part}"] for part in ("1", "2", "3", "more")] == [1, 1, 1, 1]
    assert [named[f"opponent_24_{part}"] for part in ("1", "2", "3", "more")] == [1, 1, 0, 0]
    assert named["me_pips"] == named["opponent_pips"] == 1
    assert named["lead"] == named["race"] == 0
    assert len(EXTRAS) == 17


# --- pubeval ---------------------------------------------------------------------------------------------


def candidates(record):
    """(moves, children, Position IDs) of a recorded decision."""
    state = with_dice(record["id"], record["dice"])
    moves = GAME.moves(state)
    children = [GAME.rules.play(state, move) for move in moves]
    return state, moves, children, [GAME.format(child) for child in children]


def test_pubeval_equals_its_definition_and_plays_as_well_as_known():
    """Score by score on all candidates. Mean loss x 1000 over a larger set of the same kind: 39.2 ± 2.8, by gnubg
    2-ply."""
    definition = read_json("pubeval.json")
    losses = []
    for record in read_lines("decisions.jsonl.gz"):
        state, moves, children, ids = candidates(record)
        weights = definition["race" if naive.is_race(tuple(record["me"]), tuple(record["opp"])) else "contact"]
        scores = [pubeval(state, move, child) for move, child in zip(moves, children, strict=True)]
        for child, score in zip(children, scores, strict=True):
            opponent, me = notation.board(child)
            assert score == pytest.approx(naive.pubeval(weights, tuple(me), tuple(opponent)), abs=1e-9)
        values = {entry[0]: entry[-1] for entry in record["cand"]}
        assert set(values) == set(ids)
        losses.append(max(values.values()) - values[ids[int(np.argmax(scores))]])
    assert len(losses) == 400
    mean, error = 1000 * np.mean(losses), 1000 * np.std(losses) / len(losses) ** 0.5
    assert abs(mean - 39.2) < 2 * np.hypot(error, 2.8)
    assert mean == pytest.approx(32.833, abs=0.001)  # of these 400


def test_pubeval_chooses_its_weights_before_the_move():
    """The last contact is broken by the move itself: the contact weights still score it."""
    definition = read_json("pubeval.json")
    me, opponent = side(p13=1, p1=14), side(p13=1, p1=14)
    state = notation.from_board(me, opponent, roll_number((6, 5)))
    assert not naive.is_race(tuple(me), tuple(opponent))
    child = GAME.rules.play(state, GAME.find_move(state, "13/2"))
    his, mine = notation.board(child)
    assert naive.is_race(tuple(mine), tuple(his))
    score = naive.pubeval(definition["contact"], tuple(mine), tuple(his))
    assert pubeval(state, 0, child) == pytest.approx(score, abs=1e-9)


# --- the second implementation itself --------------------------------------------------------------------


def test_the_brute_force_agrees_with_five_programs():
    """The oracle is checked too, on every twelfth record."""
    for record in golden_moves()[::12]:
        found = naive.results(tuple(record["me"]), tuple(record["opp"]), max(record["dice"]), min(record["dice"]))
        assert len(found) == record["n"]
        ids = {GAME.format(notation.from_board(list(his), list(mine))) for mine, his in found if mine[25] < 15}
        assert ids <= set(record["results"])
