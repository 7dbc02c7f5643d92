"""Backends: the same results everywhere, in the order of the jobs."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.learn.selfplay.lockstep import Batch, SelfPlay, Settings, new_slots
from deltaw.learn.weights.population import stack
from deltaw.learn.workers.backend import BACKENDS, Backend, Serial, Threads, make_backend
from deltaw.search.evaluators.leaf import Leaf


@pytest.fixture(params=BACKENDS)
def backend(request):
    made = make_backend(request.param, 3)
    yield made
    made.close()


# --- jobs and results -------------------------------------------------------------------------------------------------


def squared_late(number: int) -> int:
    """The first jobs end last."""
    time.sleep(0.02 * (5 - number))
    return number * number


def failing(number: int) -> int:
    if number == 3:
        time.sleep(0.1)  # a later job fails first
    if number in (3, 4):
        raise InputError(f"{number} is unlucky")
    return number


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_results_are_in_the_order_of_the_jobs(backend, number):
    assert backend.map(squared_late, list(range(number))) == [k * k for k in range(number)]


def test_an_exception_is_that_of_the_first_job_and_the_backend_goes_on(backend):
    with pytest.raises(InputError, match=r"^3 is unlucky$"):
        backend.map(failing, [1, 2, 3, 4, 5])
    assert backend.map(failing, [7, 8, 9]) == [7, 8, 9]


def test_backends_by_name():
    assert isinstance(make_backend("threads", 1), Serial)
    assert isinstance(make_backend("serial", 4), Serial)
    for name in BACKENDS:
        made = make_backend(name, 2)
        assert made.workers == (1 if name == "serial" else 2)
        made.close()


# --- self-play --------------------------------------------------------------------------------------------------------


def engine(name: str, backend: Backend) -> SelfPlay:
    """11 slots, and a population of two evaluators that play both seats."""
    game = games.load(name)
    leaves = [random_evaluator(game, seed).leaf for seed in (1, 2)]
    leaf = Leaf(leaves[0].evaluate, stack([leaf.weights for leaf in leaves]))
    assign = np.array([[k % 2, (k // 2) % 2] for k in range(11)])
    return SelfPlay(game, leaf, new_slots(game, len(leaf.weights.outcomes), 11, capacity=8), assign, backend)


def played(engine: SelfPlay, calls: int) -> list[Batch]:
    """Some calls, with other weights after each."""
    batches = []
    for _ in range(calls):
        batches.append(engine.play(Settings(seed=5, trace=0.7, explore=0.1, plies=6)))
        engine.leaf.weights.first[...] *= 0.9
    return batches


def assert_same(one: SelfPlay, other: SelfPlay, calls: int) -> None:
    """To the bit: what ended and what goes on."""
    for a, b in zip(played(one, calls), played(other, calls), strict=True):
        for x, y in zip(a, b, strict=True):
            assert np.array_equal(x, y)
    assert np.array_equal(one.slots.game, other.slots.game)
    assert np.array_equal(one.slots.ply, other.slots.ply)
    for slot, ply in enumerate(one.slots.ply):
        for x, y in zip(one.slots[2:], other.slots[2:], strict=True):
            assert np.array_equal(x[slot, :ply], y[slot, :ply])


class Elsewhere(Serial):
    """Workers that share no memory with us: they see a copy of every job, and only their answer comes back."""

    workers = 3

    def map(self, function, shards):
        copies = [shard._replace(slots=pickle.loads(pickle.dumps(shard.slots))) for shard in shards]
        return [function(copy) for copy in copies]


@pytest.mark.parametrize("name", ["tic_tac_toe", "backgammon"])
def test_self_play_is_the_same_in_every_backend(name):
    calls = {"tic_tac_toe": 6, "backgammon": 20}[name]
    for backend in (Threads(2), Threads(5), Elsewhere()):
        assert_same(engine(name, Serial()), engine(name, backend), calls)
        backend.close()
    assert sum(batch.games for batch in played(engine(name, Serial()), calls)) > 5
