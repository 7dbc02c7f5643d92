"""Whatever a stranger writes as a position, a move, dice or a request: it is read, or refused in one line, and what is
read can be thought about."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import random_game
from game_names import EVERY_GAME, SOME_GAMES
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaw.envs import games
from deltaw.envs.errors import MOST, InputError
from deltaw.envs.game import Game
from deltaw.envs.plain import plain_game
from deltaw.search.doors.lines import converse
from deltaw.search.doors.offer import Offer, Offered, make_offer
from deltaw.search.doors.protocol import KEYS, Pace, Protocol, read_request, write_answer
from deltaw.search.doors.thinker import Thinker
from deltaw.search.evaluators.evaluator import make_evaluator
from deltaw.search.players.how import How

TIC_TAC_TOE = games.load("tic_tac_toe")
PLAIN = plain_game(
    "plain",
    "Plain",
    TIC_TAC_TOE.state,
    board=(3, 3),
    max_moves=9,
    outcomes=(-1, 0, 1),
    **{name: getattr(TIC_TAC_TOE.rules, name) for name in ("initial", "seat", "legal_moves", "play", "outcome")},
)


def offered() -> Offer:
    """Every game with a player, and one in the plain notation, which an n-tuple network reads by the cells of its
    board."""
    offer, features = make_offer(EVERY_GAME), PLAIN.tuples([[0, 1, 2], [3, 4, 5]])
    random = np.random.default_rng(1)
    tensors = {"weight0": random.normal(0, 0.2, (features.num_features, 1)), "bias0": random.normal(0, 0.2, 1)}
    evaluator = make_evaluator(PLAIN, tensors, features=features, head="tanh")
    player = Offered("ntuple", "random weights", PLAIN, evaluator, How())
    return Offer(offer.games | {"plain": PLAIN}, offer.players | {"plain": {"ntuple": player}})


PROTOCOL = Protocol(offered(), Pace(0.01, 0.02))
THINKER = Thinker()
NAMES = sorted(PROTOCOL.offer.games)
THOUGHT_ABOUT = (*SOME_GAMES, "plain")
"""where every text that is a position is thought about; in the other games that is for the slow tests"""

PIECES = st.one_of(
    st.sampled_from(list("XOZxob-./:,*0123456789 abcdefgh=+()[]{}\"'\\²٣é\x00\n\u202e")),
    st.sampled_from(["pass", "start", "bar", "off", "NaN", "1e999", "-", "//", " 2", "\ud800", "9" * 5000, "[" * 2000]),
    st.text(max_size=3),
)


@st.composite
def damaged(draw: Callable, texts: list[str]) -> str:
    """One of the texts with pieces put in, or in place of what stood there."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(0, 3))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 3)))
        text = text[:begin] + draw(PIECES) + text[end:]
    return text


def holds(examples: int, strategy: st.SearchStrategy, check: Callable[[Any], None]) -> None:
    settings(max_examples=examples, deadline=None, database=None, derandomize=True)(given(strategy)(check))()


def read(reader: Callable[[str], Any], text: str) -> Any:
    """What the text says, or None after one line."""
    try:
        return reader(text)
    except InputError as error:
        message = str(error)
    assert message.isprintable()
    assert 0 < len(message) <= MOST
    return None


def ask(**request: Any) -> dict[str, Any]:
    answer = json.loads(write_answer(PROTOCOL.answer(read_request(json.dumps(request)), THINKER)))
    assert answer["ok"] or not answer["error"].startswith("internal"), (request, answer)
    return answer


@functools.cache
def texts_of(name: str) -> dict[str, list[str]]:
    """Positions, moves and dice of two random games, as the game writes them."""
    game = PROTOCOL.offer.games[name]
    found: dict[str, list[str]] = {"position": ["start"], "move": ["a1"], "dice": ["31", "0"]}
    for state in (state for number in range(2) for state in random_game(game, 5, number, 40)):
        found["position"].append(game.format(state))
        if not game.rules.outcome(state)[0]:
            rolls = game.rules.num_chance(state)
            found["dice"] += [game.chance_text(state, i) for i in range(min(rolls, 3))]
            found["move"] += [] if rolls else [game.move_text(state, move) for move in game.moves(state)[:3]]
    return found


FEW_AND_MANY = pytest.mark.parametrize("examples", [25, pytest.param(2500, marks=pytest.mark.slow)])


@pytest.mark.parametrize("name", NAMES)
@FEW_AND_MANY
def test_a_text_is_a_position_that_can_be_thought_about_or_refused(name, examples):
    game = PROTOCOL.offer.games[name]
    how = {"depth": 1} if game.rules.num_players > 2 else {"plies": 1}

    def check(text: str) -> None:
        state = read(game.read_position, text)
        if state is None:
            return
        shown = game.format(state)
        assert game.format(game.parse(shown)) == shown
        if name not in THOUGHT_ABOUT and examples < 100:
            return
        answer = ask(do="analyze", game=name, position=text, **how)
        if len(text) <= 1000:
            assert answer["ok"], (text, answer)
            assert bool(answer["ranked"]) == bool(answer["moves"])

    holds(examples, damaged(texts_of(name)["position"]), check)


@pytest.mark.parametrize("name", NAMES)
@FEW_AND_MANY
def test_a_text_is_a_legal_move_or_refused_and_so_are_dice(name, examples):
    game: Game = PROTOCOL.offer.games[name]
    states = [state for state in random_game(game, 5, 0, 40) if not game.rules.outcome(state)[0]]
    chances = [state for state in states if game.rules.num_chance(state)]
    decisions = [state for state in states if not game.rules.num_chance(state)]

    def check_move(case: tuple[Any, str]) -> None:
        move = read(functools.partial(game.find_move, case[0]), case[1])
        results = [tuple(map(int, game.rules.play(case[0], code))) for code in game.moves(case[0])]
        assert move is None or tuple(map(int, game.rules.play(case[0], move))) in results

    def check_dice(case: tuple[Any, str]) -> None:
        chance = read(functools.partial(game.find_chance, case[0]), case[1])
        assert chance is None or 0 <= chance < game.rules.num_chance(case[0])

    texts = texts_of(name)
    holds(examples, st.tuples(st.sampled_from(decisions), damaged(texts["move"])), check_move)
    if chances:
        holds(examples, st.tuples(st.sampled_from(chances), damaged(texts["dice"])), check_dice)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("nim", lambda game, number: game.parse(f"3-{number}")),
        ("plain", lambda game, number: game.parse(f"1,{number}")),
        (
            "backgammon",
            lambda game, number: game.find_move(game.rules.chance(game.parse("start"), 0)[0], f"{number}/5"),
        ),
        ("backgammon", lambda game, number: game.find_chance(game.parse("start"), number)),
    ],
)
def test_numbers_of_thousands_of_digits_are_refused(name, wrong):
    with pytest.raises(InputError):
        wrong(PROTOCOL.offer.games[name], "9" * 5000)


def test_a_message_is_one_printable_line_that_keeps_its_beginning_and_its_end():
    assert str(InputError("a\r\n  b\tc\x00\u202e\ud800é")) == r"a b\tc\x00\u202e\ud800é"
    long = str(InputError("begin" + "x" * 5000 + "\n" + "end"))
    assert (len(long), long[:6], long[-5:]) == (MOST, "beginx", "x end")
    assert str(InputError(long)) == long


# --- requests ---------------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([1e300, 10**30]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
REQUESTS = st.fixed_dictionaries(
    {"do": st.sampled_from([*KEYS, "stop", "dance"])},
    optional={
        "game": st.sampled_from(["tic_tac_toe", "backgammon", "plain", "shogi"]) | VALUES,
        "position": damaged(["start", "X---O----", "4HPwATDgc/ABMA", "1,2", "4HPwATDgc/ABMA 2"]) | VALUES,
        "dice": damaged(["31", "66"]) | VALUES,
        "move": damaged(["8/5 6/5", "b2"]) | VALUES,
        "player": st.sampled_from(["ntuple", "pubeval", "../x", "x" * 300]) | VALUES,
        "plies": st.integers(0, 3) | VALUES,
        "depth": st.integers(0, 3) | VALUES,
        "seconds": st.just(0.01) | VALUES,
        "top": st.integers(0, 3) | VALUES,
        "seed": st.integers(-1, 1 << 64) | VALUES,
        "id": VALUES,
    },
)


@FEW_AND_MANY
def test_every_line_has_one_answer(examples):
    whole = st.lists(REQUESTS.map(json.dumps), min_size=1, max_size=4)
    broken = REQUESTS.map(json.dumps).flatmap(lambda text: damaged([text, '{"do": "info", "id": 1e999}']))

    def check(lines: list[str]) -> None:
        data = [line.encode("utf-8", "surrogateescape" if line.isascii() else "replace") for line in lines]
        parts = iter([b"\n".join(line.replace(b"\n", b" ") for line in data)])
        written: list[bytes] = []
        converse(PROTOCOL, lambda: next(parts, b""), written.append)
        assert len(written) == sum(bool(line.replace(b"\n", b" ").strip()) for line in data)
        for line in written:
            answer = json.loads(line, parse_constant=pytest.fail)
            assert answer["ok"] or (answer["error"].isprintable() and len(answer["error"]) <= 300)
            assert answer["ok"] or not answer["error"].startswith("internal"), (lines, answer)

    holds(examples, whole | st.lists(broken, min_size=1, max_size=2), check)
