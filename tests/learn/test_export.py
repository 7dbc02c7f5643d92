"""Exports: what is written is what was trained, refused where it is not, and golden vectors let others prove that they
read it right."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from conftest import ROOT
from toy_games import random_evaluator, tables_of_each_seat

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.tuples import tables
from deltaw.learn import export
from deltaw.learn.exports.golden import golden_path, golden_text
from deltaw.learn.exports.onnx_graph import target_of
from deltaw.learn.exports.verify import Reference, agreement, played
from deltaw.learn.weights.networks import Network, network_of
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator, save_evaluator
from deltaw.search.evaluators.inputs import inputs_of
from deltaw.search.evaluators.named import shipped

READER = ROOT / "docs" / "examples" / "read_evaluator.py"
SHIPPED = {f"{name}_{short}": path for name in games.names() for short, path in shipped(games.load(name)).items()}


@functools.cache
def evaluator(name: str) -> Evaluator:
    return load_evaluator(SHIPPED[name])


@functools.cache
def reader() -> ModuleType:
    """The documented reader, as a module."""
    spec = importlib.util.spec_from_file_location("read_evaluator", READER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """run(*words) -> (status, stdout, stderr) of `deltaw export` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["export", *words])
        try:
            export.main()
            status = 0
        except SystemExit as stop:
            status = int(stop.code or 0)
        out, err = capsys.readouterr()
        return status, out, "".join(line for line in err.splitlines(True) if not line.startswith("compiling"))

    return call


# --- the yardstick ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["classes", "tanh", "identity"])
@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh"])
@pytest.mark.parametrize("hidden", [[], [9], [12, 7]], ids=str)
def test_the_reference_is_torchs_in_float64(head, activation, hidden):
    game = games.load("backgammon")
    network = Network(game, game.features("tesauro"), hidden, head, activation)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)))
    ours = network.evaluator()
    rows = played(ours, 100).rows
    x = torch.from_numpy(inputs_of(game, ours.features, rows)).double()
    with torch.no_grad():
        expected = network.double().values(x).numpy()
    np.testing.assert_allclose(Reference(ours).values(rows)[0], expected, rtol=1e-12, atol=1e-12)


def summed_tables(ours: Evaluator, rows: np.ndarray) -> np.ndarray:
    """Values [n] of an n-tuple network straight from its definition, cell by cell."""
    rules, spec, weight = ours.game.rules, ours.description.spec, ours.tensors["weight0"][:, 0]
    sums, cells = np.full(len(rows), float(ours.tensors["bias0"][0])), np.empty(rules.num_cells, np.int64)
    for i, row in enumerate(rows):
        rules.tuple_cells(rules.load(row), cells)
        for table in tables(spec):
            own = table.first + (rules.seat(rules.load(row)) * table.size if spec[2] == 2 else 0)
            for placement in table.placements:
                entry = functools.reduce(lambda entry, cell: entry * spec[1] + int(cells[cell]), placement, 0)
                sums[i] += float(weight[own + entry])
    return max(rules.outcomes) * np.tanh(sums) if ours.description.head == "tanh" else sums


@pytest.mark.parametrize("name", ["othello_ntuple", "tic_tac_toe_ntuple", "of each seat"])
def test_the_reference_of_n_tuples_is_their_definition(name):
    ours = tables_of_each_seat() if name not in SHIPPED else evaluator(name)
    rows = played(ours, 100).rows
    np.testing.assert_allclose(Reference(ours).values(rows)[0], summed_tables(ours, rows), atol=1e-12)


def test_the_reference_knows_how_games_end():
    ours = evaluator("tic_tac_toe_ntuple")
    won = ours.game.parse("XXXOO----")
    values, outputs = Reference(ours).values(ours.game.row(won)[None])
    assert values[0] == outputs[0, 0] == ours.game.rules.outcome(won)[1] == -1


# --- agreement --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_the_compiled_form_agrees_on_real_positions(name):
    """A millionth on 1,000 positions of its own games, and every move in its place."""
    found = agreement(evaluator(name), evaluator(name), played(evaluator(name), 1000))
    assert found.positions == 1000
    assert found.difference < 1e-6
    assert found.moves > 2000
    assert found.misordered == 0


@pytest.mark.parametrize("name", ["backgammon_network", "connect_four_linear"])
def test_torch_agrees_as_far_as_float32_goes(name):
    ours = evaluator(name)
    rows = played(ours, 1000).rows
    with torch.no_grad():
        values = network_of(ours).values(torch.from_numpy(inputs_of(ours.game, ours.features, rows))).numpy()
    np.testing.assert_allclose(values, Reference(ours).values(rows)[0], atol=1e-6)


@pytest.mark.parametrize("name", ["backgammon_linear", "tic_tac_toe_ntuple"])
def test_other_weights_do_not_agree(name):
    ours = evaluator(name)
    noise = np.random.default_rng(1)
    tensors = {key: tensor + 0.05 * noise.normal(size=tensor.shape) for key, tensor in ours.tensors.items()}
    found = agreement(ours, dataclasses.replace(ours, tensors=tensors), played(ours, 200))
    assert found.difference > 1e-4
    assert found.misordered > 0


def test_positions_come_from_different_games():
    for name in ("backgammon_linear", "connect_four_linear"):
        sample = played(evaluator(name), 400)
        assert len(np.unique(sample.rows, axis=0)) > 200
        assert np.array_equal(played(evaluator(name), 400).rows, sample.rows), "the same positions every time"
        assert not np.array_equal(played(evaluator(name), 400, seed=2).rows, sample.rows)


# --- golden vectors and the documented reader -------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_the_documented_reader_computes_the_golden_values(tmp_path, name):
    ours = evaluator(name)
    save_evaluator(ours, tmp_path / "x.safetensors")
    golden = json.loads(golden_text(ours, target_of(ours.description), 64))
    description, tensors = reader().read(tmp_path / "x.safetensors")
    values, chances = reader().evaluate(description, tensors, np.array(golden["inputs"]))
    np.testing.assert_allclose(values, golden["outputs"]["value"], atol=1e-6)
    assert np.ptp(values) > 0.1
    if ours.gives_chances:
        assert golden["classes"] == list(ours.game.rules.outcomes)
        np.testing.assert_allclose(chances, golden["outputs"]["chances"], atol=1e-6)
    else:
        assert chances is None
        assert "classes" not in golden


@pytest.mark.parametrize("name", SHIPPED)
def test_golden_vectors_are_of_their_positions(name):
    """Inputs and values follow from the text of a position; the compiled form is the oracle."""
    ours = evaluator(name)
    golden = json.loads(golden_text(ours, target_of(ours.description), 64))
    assert len(golden["positions"]) == 64 or name.startswith("tic_tac_toe")
    assert len(set(golden["positions"])) == len(golden["positions"])
    rows = np.array([ours.game.row(ours.game.parse(text)) for text in golden["positions"]])
    inputs = inputs_of(ours.game, ours.features, rows)
    assert np.array_equal(np.array(golden["inputs"], inputs.dtype), inputs), "to the last bit of a float32"
    np.testing.assert_allclose(ours.values(rows)[0], golden["outputs"]["value"], atol=2e-6)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_the_documented_reader_knows_every_activation(tmp_path, activation):
    game = games.load("connect_four")
    network = Network(game, game.features(), [6, 5], "tanh", activation)
    network.initialize(4)
    with torch.no_grad():
        network.layers[-1].weight.fill_(0.5)
    ours = network.evaluator()
    save_evaluator(ours, tmp_path / "x.safetensors")
    golden = json.loads(golden_text(ours, target_of(ours.description), 8))
    values, _ = reader().evaluate(*reader().read(tmp_path / "x.safetensors"), np.array(golden["inputs"]))
    np.testing.assert_allclose(values, golden["outputs"]["value"], atol=1e-6)


def test_the_documented_reader_needs_numpy_alone():
    names = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(READER.read_text()))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "")]
        )
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert names == {"json", "sys", "pathlib", "numpy"}


def test_the_documented_reader_says_when_values_differ(tmp_path, capsys):
    ours = evaluator("connect_four_linear")
    save_evaluator(ours, tmp_path / "x.safetensors")
    golden = json.loads(golden_text(ours, target_of(ours.description), 8))
    (tmp_path / "x.golden.json").write_text(json.dumps(golden))
    assert reader().main(tmp_path / "x.safetensors", tmp_path / "x.golden.json")
    assert "8 positions" in capsys.readouterr().out
    golden["outputs"]["value"][3] += 1e-4
    (tmp_path / "x.golden.json").write_text(json.dumps(golden))
    assert not reader().main(tmp_path / "x.safetensors", tmp_path / "x.golden.json")


# --- the command ------------------------------------------------------------------------------------------------------


def test_a_shipped_evaluator_is_exported_by_name(run, tmp_path):
    status, out, err = run("from=connect_four_linear", "to=deep/x.safetensors", "+note.place=here", "golden=5")
    assert (status, err) == (0, "")
    assert "deep/x.safetensors" in out
    assert "same order" in out
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == [
        "deep/x.golden.json", "deep/x.safetensors",
    ]  # fmt: skip
    read, ours = load_evaluator(tmp_path / "deep" / "x.safetensors"), evaluator("connect_four_linear")
    assert all(np.array_equal(tensor, ours.tensors[name]) for name, tensor in read.tensors.items())
    assert read.description.trained == ours.description.trained | {"place": "here"}
    assert len(json.loads((tmp_path / "deep" / "x.golden.json").read_text())["positions"]) == 5


def test_a_file_is_exported(run, tmp_path):
    save_evaluator(random_evaluator(games.load("tic_tac_toe"), 3), tmp_path / "a.safetensors")
    assert run("from=a.safetensors", "to=b.safetensors", "golden=0", "positions=50", "tolerance=1e-5")[0] == 0
    assert (tmp_path / "b.safetensors").read_bytes() == (tmp_path / "a.safetensors").read_bytes()
    assert not golden_path(tmp_path / "b.safetensors").exists()


def test_folders_of_this_machine_stay_here(run, tmp_path):
    ours = random_evaluator(games.load("tic_tac_toe"), 3)
    trained = {"opponent": str(tmp_path / "secret" / "rival.safetensors"), "method": "dynamic", "games": 3}
    save_evaluator(
        dataclasses.replace(ours, description=dataclasses.replace(ours.description, trained=trained)), "a.safetensors"
    )
    assert run("from=a.safetensors", "to=b.safetensors", "golden=0", "positions=50", "tolerance=1e-5")[0] == 0
    assert load_evaluator("b.safetensors").description.trained == trained | {"opponent": "rival.safetensors"}


def test_a_file_that_differs_is_not_written(run, tmp_path, monkeypatch):
    other = random_evaluator(games.load("connect_four"), 3)
    monkeypatch.setattr(
        "deltaw.learn.exports.export.load_evaluator",
        lambda path, game=None: evaluator("connect_four_linear") if game is None else other,
    )
    (tmp_path / "x.safetensors").write_bytes(b"older")
    status, _, err = run("from=a.safetensors", "to=x.safetensors", "positions=50")
    assert status == 2
    assert err.startswith("error: x.safetensors would differ from what was trained by ")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.safetensors"]
    assert (tmp_path / "x.safetensors").read_bytes() == b"older"


def test_an_order_that_differs_is_refused():
    ours = evaluator("tic_tac_toe_ntuple")
    found = agreement(ours, ours, played(ours, 20))._replace(misordered=3)
    with pytest.raises(InputError, match="order 3 pairs"):
        export.refuse_difference(Path("x.onnx"), found, 1.0)


BAD = {
    "nothing": ("", "run=FOLDER_OF_A_RUN or from=EVALUATOR"),
    "no target": ("from=network", "to=FILE.safetensors or to=FILE.onnx"),
    "two sources": ("from=network run=x to=y.onnx", "run=FOLDER_OF_A_RUN or from=EVALUATOR"),
    "unknown": ("from=nobody to=x.onnx", "no evaluator 'nobody': name a file or one of backgammon_evolved"),
    "ambiguous": ("from=linear to=x.onnx", "backgammon_linear or connect_four_linear"),
    "handmade": ("from=pubeval to=x.onnx", "no weights"),
    "no file": ("from=nix.safetensors to=x.onnx", "there is no evaluator file nix.safetensors"),
    "an export": ("from=x.onnx to=y.onnx", "an export already"),
    "ending": ("from=network to=x.pt", "to=x.pt must end in .safetensors or .onnx"),
    "head of a file": ("from=network to=x.safetensors head=wildbg", "head=wildbg is for ONNX files"),
    "positions": ("from=network to=x.onnx positions=0", "positions=0"),
    "golden": ("from=network to=x.onnx golden=-1", "golden=-1"),
    "golden text": ("from=network to=x.onnx golden=all", "golden=all"),
    "tolerance": ("from=network to=x.onnx tolerance=0", "tolerance=0"),
    "note": ("from=network to=x.onnx note=hello", "note=hello"),
    "typo": ("from=network too=x.onnx", "too"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(run, tmp_path, case):
    words, message = BAD[case]
    status, out, err = run(*words.split())
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
