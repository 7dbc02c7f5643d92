"""What the tests of the protocol share: one protocol for every game, and answers as a client reads them."""

from __future__ import annotations

import json

from conftest import random_game
from game_names import EVERY_GAME

from deltaw.envs import games
from deltaw.search.doors.offer import make_offer
from deltaw.search.doors.protocol import Protocol, read_request, write_answer
from deltaw.search.doors.thinker import Thinker

PROTOCOL = Protocol(make_offer(EVERY_GAME))
THINKER = Thinker()


def ask(do: str, protocol: Protocol = PROTOCOL, **request) -> dict:
    """The answer as a client reads it."""
    answer = protocol.answer(read_request(json.dumps({"do": do, **request})), THINKER)
    return json.loads(write_answer(answer))


def good(do: str, **request) -> dict:
    answer = ask(do, **request)
    assert answer["ok"], answer
    return answer


def states(name: str, number: int = 0) -> list:
    """The states of a random game, dice before and after the roll."""
    return list(random_game(games.load(name), 11, number))
