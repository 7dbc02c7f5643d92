"""Evaluator files and their kernels: against torch, against the small reader of the format's own page, and against
damage."""

from __future__ import annotations

import errno
import functools
import json
import os

import numpy as np
import pytest
import torch
from conftest import random_game
from game_names import every_game, some_games
from safetensors.numpy import save as to_bytes

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.learn.exports.export import random_positions
from deltaw.learn.selfplay.lockstep import dense
from deltaw.learn.weights.networks import Network, network_of
from deltaw.search.evaluators.evaluator import Evaluator, evaluate_rows, load_evaluator, make_evaluator, save_evaluator
from deltaw.search.evaluators.leaf import REFRESH
from deltaw.search.evaluators.named import find_evaluator, shipped
from deltaw.search.evaluators.work import make_work

HEADS = ("classes", "tanh", "identity")
SHAPES = [((), "relu"), *(((9,), a) for a in ("relu", "sigmoid", "tanh")), ((12, 7), "relu"), ((12, 7), "sigmoid")]


def tolerance(name: str) -> float:
    """float32 rounding of values, which are in units of the game's outcomes."""
    return 1e-5 * max(games.load(name).rules.outcomes)


TIC_TAC_TOE = games.load("tic_tac_toe")


@functools.cache
def network(name: str, hidden: tuple[int, ...] = (9,), head: str = "classes", activation: str = "relu") -> Network:
    """Random weights in every layer, biases included."""
    game = games.load(name)
    net = Network(game, game.features(), list(hidden), head, activation)
    random = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for k, parameter in enumerate(net.parameters()):
            parameter.copy_((0.25 if k < 2 else 0.8) * torch.randn(parameter.shape, generator=random))
    return net


@functools.cache
def positions(name: str, count: int = 300) -> np.ndarray:
    return random_positions(games.load(name), 3, count)


@functools.cache
def inputs(name: str) -> np.ndarray:
    """Dense features of `positions`."""
    game = games.load(name)
    return dense(game, game.features(), positions(name))


def same(a: Evaluator, b: Evaluator) -> bool:
    """Equal to the bit."""
    return a.tensors.keys() == b.tensors.keys() and all(
        np.array_equal(t, b.tensors[name]) and t.dtype == b.tensors[name].dtype for name, t in a.tensors.items()
    )


# --- compiled against torch -------------------------------------------------------------------------------------------


@some_games
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("hidden", "activation"), SHAPES, ids=str)
def test_compiled_values_are_torchs(name, head, hidden, activation):
    net = network(name, hidden, head, activation)
    with torch.no_grad():
        x = torch.from_numpy(inputs(name))
        expected_values, expected_outputs = net.values(x).numpy(), net.outputs(x).numpy()
    values, outputs = net.evaluator().values(positions(name))
    assert np.ptp(expected_values) > 0.01, "opinions differ from position to position, by far more than the tolerance"
    np.testing.assert_allclose(values, expected_values, atol=tolerance(name))
    np.testing.assert_allclose(outputs, expected_outputs, atol=tolerance(name))


@some_games
@pytest.mark.parametrize("head", HEADS)
def test_a_finished_game_has_its_result(name, head):
    *_, last = random_game(games.load(name), 5)
    result = games.load(name).rules.outcome(last)[1]
    opinion = network(name, (9,), head).evaluator().opinion(last)
    assert opinion.value == result
    if head == "classes":
        expected = [float(outcome == result) for outcome in games.load(name).rules.outcomes]
        assert list(opinion.chances) == expected
    else:
        assert opinion.chances is None


def test_torch_network_and_evaluator_are_one():
    for hidden, activation in SHAPES:
        evaluator = network("tic_tac_toe", hidden, "tanh", activation).evaluator()
        assert same(network_of(evaluator).evaluator(), evaluator)
        assert network_of(evaluator).evaluator().description == evaluator.description


def test_weights_are_written_into_compiled_arrays_in_place():
    for hidden in ((), (9,), (12, 7)):
        other, target = network("tic_tac_toe", hidden, "classes", "sigmoid"), network("tic_tac_toe", hidden, "classes")
        evaluator = make_evaluator(
            TIC_TAC_TOE,
            {k: np.zeros_like(t) for k, t in target.tensors().items()},
            features=target.features,
            head="classes",
        )
        other.write_weights(evaluator.leaf.weights)
        for mine, his in zip(evaluator.leaf.weights, target.evaluator().leaf.weights, strict=True):
            assert np.array_equal(mine, his)


# --- the first layer by differences -----------------------------------------------------------------------------------


@kernel
def evaluate_in_a_row(rules, leaf, rows, work, values, age):
    """Like evaluate_rows without forgetting; age: evaluations since the sums were computed afresh."""
    for i in range(len(rows)):
        values[i] = leaf.evaluate(rules, leaf.weights, rules.load(rows[i]), work)
        age[i] = work.slot[2]


def siblings(game: Game, decisions: int) -> np.ndarray:
    """All results of successive decisions of random games: long rows of similar positions, finished games among
    them."""
    rows: list[np.ndarray] = []
    number = 0
    while decisions:
        number += 1
        for state in random_game(game, 11, number):
            if decisions and not game.rules.num_chance(state) and not game.rules.outcome(state)[0]:
                moves, results = game.buffers()
                rows += list(results[: game.rules.expand(state, moves, results)].copy())
                decisions -= 1
    return np.array(rows)


@some_games
@pytest.mark.parametrize("hidden", [(), (9,)], ids=str)
def test_differences_equal_a_fresh_computation(name, hidden):
    game, leaf = games.load(name), network(name, hidden).evaluator().leaf
    if game.features().max_active < 3:
        pytest.skip("with one feature a position, a difference is never less work")
    rows = siblings(game, 120)
    values, fresh, age = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows), np.int64)
    evaluate_in_a_row(game.rules, leaf, rows, make_work(leaf, game), values, age)
    evaluate_rows(
        game.rules,
        leaf,
        rows,
        make_work(leaf, game),
        fresh,
        np.empty((len(rows), len(leaf.weights.outcomes)), np.float32),
    )
    np.testing.assert_allclose(values, fresh, atol=tolerance(name))
    assert len(rows) > 5 * REFRESH
    assert np.mean(age > 0) > 0.5, "most positions were evaluated by differences"
    assert age.max() <= REFRESH
    assert np.sum(age == 0) > 1, "the sums are computed afresh now and then"


def test_a_value_does_not_depend_on_the_rest_of_the_batch():
    evaluator = network("backgammon").evaluator()
    rows = positions("backgammon")
    values, _ = evaluator.values(rows)
    assert np.array_equal(evaluator.values(rows[::-1])[0], values[::-1])
    assert np.array_equal(evaluator.values(rows[17:18])[0], values[17:18])


# --- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("hidden", "activation"), SHAPES, ids=str)
def test_round_trip(tmp_path, head, hidden, activation):
    evaluator = network("tic_tac_toe", hidden, head, activation).evaluator({"method": "by hand", "games": 3})
    save_evaluator(evaluator, tmp_path / "deep" / "file.safetensors")
    back = load_evaluator(tmp_path / "deep" / "file.safetensors")
    assert back.description == evaluator.description
    assert back.description.kind == ("mlp" if hidden else "linear")
    assert same(back, evaluator)
    rows = positions("tic_tac_toe")
    assert np.array_equal(back.values(rows)[0], evaluator.values(rows)[0])


def test_same_evaluator_same_bytes(tmp_path):
    net = network("tic_tac_toe")
    first = net.evaluator({"games": 3, "method": "x"})
    tensors = dict(reversed(net.tensors().items()))
    second = make_evaluator(
        TIC_TAC_TOE, tensors, features=net.features, head="classes", trained={"method": "x", "games": 3}
    )
    save_evaluator(first, tmp_path / "a")
    save_evaluator(second, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def small_reader(data: bytes, x: np.ndarray) -> np.ndarray:
    """The values [N] of features x [N, F], as the page of search/evaluators/evaluator.py says: numpy alone."""
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + n])
    description = json.loads(header["__metadata__"]["deltaw"])

    def tensor(name: str) -> np.ndarray:
        return np.frombuffer(data[8 + n :][slice(*header[name]["data_offsets"])], "<f4").reshape(header[name]["shape"])

    layers = len(description["sizes"]) - 1
    activation = {"relu": lambda y: np.maximum(y, 0), "sigmoid": lambda y: 1 / (1 + np.exp(-y)), "tanh": np.tanh}
    for k in range(layers - 1):
        x = activation[description["activation"]](x @ tensor(f"weight{k}") + tensor(f"bias{k}"))
    outputs = x @ tensor(f"weight{layers - 1}") + tensor(f"bias{layers - 1}")
    if description["head"] == "classes":
        chances = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
        return chances @ description["outcomes"]
    scale = max(description["outcomes"])
    return scale * np.tanh(outputs[:, 0]) if description["head"] == "tanh" else outputs[:, 0]


@some_games
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("hidden", "activation"), SHAPES, ids=str)
def test_twenty_lines_of_numpy_read_the_file(tmp_path, name, head, hidden, activation):
    evaluator = network(name, hidden, head, activation).evaluator()
    save_evaluator(evaluator, tmp_path / "file")
    read = small_reader((tmp_path / "file").read_bytes(), inputs(name))
    np.testing.assert_allclose(evaluator.values(positions(name))[0], read, atol=tolerance(name))


# --- faults -----------------------------------------------------------------------------------------------------------


def one_line(call, *arguments) -> str:
    """The message of the InputError that the call must raise: one line."""
    with pytest.raises(InputError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert message
    assert "\n" not in message
    return message


@pytest.fixture
def good(tmp_path):
    """(path, evaluator) of a good file."""
    evaluator = network("tic_tac_toe", (9,), "classes").evaluator({"games": 3})
    save_evaluator(evaluator, tmp_path / "good.safetensors")
    return tmp_path / "good.safetensors", evaluator


def described(path) -> dict:
    data = path.read_bytes()
    return json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["deltaw"])


def rewrite(path, tensors: dict, **changes) -> None:
    """The file at `path` with other tensors and some fields of the description changed (None: left out)."""
    fields = {k: v for k, v in (described(path) | changes).items() if v is not None}
    path.write_bytes(to_bytes(tensors, metadata={"deltaw": json.dumps(fields)}))


FIELDS = {
    "version": ({"version": 99}, "99"),
    "feature set": ({"features": "corners"}, "'corners'"),
    "spec": ({"spec": [5]}, "(5,)"),
    "inputs": ({"sizes": [23, 9, 3]}, "(23, 9, 3)"),
    "hidden": ({"sizes": [24, 8, 3]}, "(24, 8)"),
    "layers": ({"sizes": [24, 3]}, "weight1"),
    "no sizes": ({"sizes": []}, "sizes ()"),
    "no outputs": ({"sizes": [24]}, "at least 1 each"),
    "an empty layer": ({"sizes": [24, 0, 3]}, "at least 1 each"),
    "outcomes": ({"outcomes": [-3, -2, -1, 1, 2, 3]}, "(-3, -2, -1, 1, 2, 3)"),
    "head": ({"head": "softplus"}, "'softplus'"),
    "outputs": ({"head": "tanh"}, "3 outputs"),
    "activation": ({"activation": "gelu"}, "'gelu'"),
    "game": ({"game": "halma"}, "'halma'"),
    "incomplete": ({"spec": None}, "'spec'"),
    "no version": ({"version": None}, "'version'"),
    "type of a number": ({"spec": "1"}, "description"),
    "type of a text": ({"head": ["classes"]}, "description"),
    "type of the version": ({"version": "new"}, "not 'new'"),
    "version that is no number": ({"version": float("nan")}, "no finite number"),
    "version that is none": ({"version": 0}, "not 0"),
    "trained": ({"trained": ["by", "hand"]}, "trained must be an object"),
    "deep": (
        {"trained": {"by": functools.reduce(lambda inner, _: [inner], range(400), [])}},
        "nested more than 32 levels deep",
    ),
    "unknown field": ({"colour": "blue"}, "colour"),
}


@pytest.mark.parametrize("case", FIELDS)
def test_a_wrong_description_is_named(good, case):
    changes, named = FIELDS[case]
    path, evaluator = good
    rewrite(path, evaluator.tensors, **changes)
    assert named in one_line(load_evaluator, path)


@pytest.mark.parametrize("text", ["", "[1, 2]", "3", "{", "null", "[" * 100_000, '{"version": ' + "9" * 5_000 + "}"])
def test_a_description_that_is_none(good, text):
    path, evaluator = good
    path.write_bytes(to_bytes(evaluator.tensors, metadata={"deltaw": text}))
    assert str(path) in one_line(load_evaluator, path)


def test_wrong_tensors_are_named(good):
    path, evaluator = good
    tensors = evaluator.tensors
    wrong = {
        "bias1": {"bias1": np.zeros(4, np.float32)},
        "(24, 8)": {"weight0": np.zeros((24, 8), np.float32)},
        "(9, 24)": {"weight0": tensors["weight0"].T.copy()},
        "extra": {"extra": np.zeros(1, np.float32)},
        "in weight1": {"weight1": np.full((9, 3), np.nan, np.float32)},
        "in bias0": {"bias0": np.array([1.0] * 8 + [np.inf], np.float32)},
        "in layer 0": {"weight0": np.full((24, 9), 3e38, np.float32)},
        "in layer 1": {"weight0": np.full((24, 9), 1e20, np.float32), "weight1": np.full((9, 3), -1e20, np.float32)},
    }
    for named, change in wrong.items():
        rewrite(path, tensors | change)
        assert named in one_line(load_evaluator, path)
    rewrite(path, {name: t for name, t in tensors.items() if name != "bias0"})
    assert "bias0" in one_line(load_evaluator, path)
    rewrite(path, tensors | {"bias0": tensors["bias0"].astype(np.float64)})
    assert "{'bias0': 'float64'}; weights are float32" in one_line(load_evaluator, path)


@pytest.mark.parametrize(
    ("number", "shape"), [("F8_E4M3", [4]), ("F4", [8]), ("BF16", [2]), ("F32", [0, 2**62, 2**62])]
)
def test_numbers_that_numpy_does_not_have(good, number, shape):
    path, _ = good
    tensor = {"dtype": number, "shape": shape, "data_offsets": [0, 4 if 0 not in shape else 0]}
    header = json.dumps({"__metadata__": {"deltaw": json.dumps(described(path))}, "weight0": tensor}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4 if 0 not in shape else 0))
    assert (number if 0 not in shape else "too big") in one_line(load_evaluator, path)


def test_a_file_larger_than_the_memory(good, monkeypatch):
    monkeypatch.setattr("deltaw.envs.memory.free_memory", lambda: 1000)
    assert "GiB are free" in one_line(load_evaluator, good[0])


def test_files_that_are_none(good, tmp_path):
    path, evaluator = good
    assert str(tmp_path / "absent") in one_line(load_evaluator, tmp_path / "absent")
    assert str(tmp_path) in one_line(load_evaluator, tmp_path)
    path.write_bytes(to_bytes(evaluator.tensors, metadata={"other": "{}"}))
    assert "'deltaw'" in one_line(load_evaluator, path)
    path.write_bytes(to_bytes(evaluator.tensors))
    assert "'deltaw'" in one_line(load_evaluator, path)


def test_a_file_for_another_game(good):
    message = one_line(load_evaluator, good[0], games.load("backgammon"))
    assert "tic_tac_toe" in message
    assert "backgammon" in message


def test_truncated_and_random_files(good):
    path, _ = good
    data = path.read_bytes()
    random = np.random.default_rng(5)
    for length in [0, 1, 7, 8, 9, 100, len(data) // 2, len(data) - 1]:
        path.write_bytes(data[:length])
        assert str(path) in one_line(load_evaluator, path)
        path.write_bytes(random.bytes(length))
        assert str(path) in one_line(load_evaluator, path)


def test_flipped_bytes_are_an_error_or_harmless(good):
    """Whatever is broken in the header, no other exception comes out."""
    path, _ = good
    data = path.read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    random = np.random.default_rng(6)
    refused = 0
    for _ in range(300):
        broken = bytearray(data)
        broken[random.integers(header)] = random.integers(256)
        path.write_bytes(broken)
        try:
            load_evaluator(path)
        except InputError:
            refused += 1
    assert refused > 100


def test_nan_cannot_be_made_into_an_evaluator():
    tensors = network("tic_tac_toe").tensors() | {"bias1": np.full(3, np.nan, np.float32)}
    with pytest.raises(InputError, match="bias1"):
        make_evaluator(TIC_TAC_TOE, tensors, features=TIC_TAC_TOE.features(), head="classes")


# --- writing that fails -----------------------------------------------------------------------------------------------


def test_a_target_that_cannot_be_written(good):
    path, evaluator = good
    before = path.read_bytes()
    below_a_file = path / "new.safetensors"
    assert str(below_a_file) in one_line(save_evaluator, evaluator, below_a_file)
    one_line(save_evaluator, evaluator, "/")
    (path.parent / "folder").mkdir()
    assert "folder" in one_line(save_evaluator, evaluator, path.parent / "folder")
    assert sorted(os.listdir(path.parent)) == ["folder", path.name]
    assert path.read_bytes() == before


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_alone(good, monkeypatch, call):
    path, _ = good
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    other = network("tic_tac_toe", (12, 7)).evaluator()
    message = one_line(save_evaluator, other, path)
    assert str(path) in message
    assert os.strerror(errno.ENOSPC) in message
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


# --- by name ----------------------------------------------------------------------------------------------------------


@every_game
def test_an_unknown_name_lists_what_exists(name):
    game = games.load(name)
    message = one_line(find_evaluator, game, "wizard")
    assert "'wizard'" in message
    for known in [*shipped(game), *game.baselines]:
        assert known in message


@every_game
def test_everything_that_is_listed_is_found(name):
    game = games.load(name)
    for baseline in game.baselines:
        assert find_evaluator(game, baseline) is game.baselines[baseline]
    for evaluator in shipped(game):
        assert find_evaluator(game, evaluator).game is game


def test_a_file_is_found_by_its_path(good):
    path, evaluator = good
    assert same(find_evaluator(TIC_TAC_TOE, str(path)), evaluator)
    assert "no evaluator file" in one_line(find_evaluator, TIC_TAC_TOE, "absent.safetensors")
