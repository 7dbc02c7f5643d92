"""ONNX files: their values by onnxruntime, by ONNX's own reference in NumPy and by the evaluator's definition; wildbg;
metadata; the document."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, random_game
from hydra import compose, initialize_config_module
from onnx_files import SHIPPED, evaluator, exported, files_in, foreign
from toy_games import tables_of_each_seat

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.learn import export
from deltaw.learn.exports import wildbg
from deltaw.learn.exports.golden import golden_text, sample_for
from deltaw.learn.exports.onnx_graph import HEADS, WILDBG, WILDBG_CLASSES, onnx_bytes, target_of
from deltaw.learn.exports.verify import Reference, agreement, played
from deltaw.learn.weights.networks import Network
from deltaw.search import analyze, arena
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator, make_evaluator
from deltaw.search.evaluators.inputs import inputs_of
from deltaw.search.evaluators.onnx_file import load_onnx
from deltaw.search.players.find import find_player
from deltaw.search.players.gnubg import write_boards

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return files_in(tmp_path_factory.mktemp("onnx"))


def network(
    game: Game, hidden: list[int], head: str, activation: str = "relu", features: str | None = None
) -> Evaluator:
    """Random weights of ordinary size in every layer."""
    net = Network(game, game.features(features), hidden, head, activation)
    random = np.random.default_rng(4)
    tensors = {name: random.normal(0, 0.4, t.shape) for name, t in net.tensors().items()}
    return make_evaluator(game, tensors, features=net.features, head=head, activation=activation)


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_values_and_order_are_those_of_what_was_trained(files, name):
    """On 1,000 positions of real games: a millionth, and every move in its place."""
    found = agreement(evaluator(name), load_onnx(files(name)), played(evaluator(name), 1000))
    assert found.positions == 1000
    assert found.difference < 1e-6
    assert found.moves > 2000
    assert found.misordered == 0


@pytest.mark.parametrize("head", ["classes", "tanh", "identity"])
@pytest.mark.parametrize(
    ("hidden", "activation"), [([], "relu"), ([9], "relu"), ([9], "sigmoid"), ([8, 7], "tanh")], ids=str
)
def test_every_kind_by_onnxs_own_reference(head, hidden, activation):
    """ONNX's reference evaluator computes every operator with NumPy, from the standard's text: no onnxruntime in it."""
    from onnx.reference import ReferenceEvaluator

    ours = network(games.load("connect_four"), hidden, head, activation)
    rows = played(ours, 60).rows
    values, outputs = Reference(ours).values(rows)
    model = onnx.load_from_string(onnx_bytes(ours, target_of(ours.description)))
    assert (model.opset_import[0].version, model.ir_version) == (17, 8)
    found = ReferenceEvaluator(model).run(None, {"features": inputs_of(ours.game, ours.features, rows)})
    named = dict(zip([output.name for output in model.graph.output], found, strict=True))
    assert set(named) == ({"chances", "value"} if head == "classes" else {"value"})
    assert np.ptp(values) > 0.1
    np.testing.assert_allclose(named["value"], values, atol=2e-6)
    if head == "classes":
        np.testing.assert_allclose(named["chances"], outputs, atol=2e-6)
    assert all(array.dtype == np.float32 for array in found)


def test_n_tuples_by_onnxs_own_reference():
    from onnx.reference import ReferenceEvaluator

    ours = evaluator("othello_ntuple")
    rows = played(ours, 40).rows
    entries = inputs_of(ours.game, ours.features, rows)
    assert entries.dtype == np.int32
    (found,) = ReferenceEvaluator(onnx.load_from_string(exported("othello_ntuple"))).run(None, {"entries": entries})
    np.testing.assert_allclose(found, Reference(ours).values(rows)[0], atol=1e-6)


def test_tables_of_each_seat(tmp_path):
    ours = tables_of_each_seat()
    (tmp_path / "x.onnx").write_bytes(onnx_bytes(ours, target_of(ours.description)))
    found = agreement(ours, load_onnx(tmp_path / "x.onnx"), played(ours, 300))
    assert found.difference < 1e-6
    assert found.misordered == 0


@pytest.mark.parametrize("name", ["backgammon_network", "othello_ntuple"])
def test_any_number_of_positions(files, name):
    """The batch axis is free, and a value does not depend on the batch."""
    ours, rows = load_onnx(files(name)), played(evaluator(name), 300).rows
    values, outputs = ours.values(rows)
    assert values.shape == (300,)
    for size in (1, 2, 7, 64):
        parts = [ours.values(rows[i : i + size])[0] for i in range(0, 70, size)]
        assert np.array_equal(np.concatenate(parts)[:70], values[:70])
    none, no_outputs = ours.values(rows[:0])
    assert none.shape == (0,)
    assert no_outputs.shape == (0, outputs.shape[1])


def test_finished_games_have_their_results(files):
    *_, last = random_game(games.load("backgammon"), 5)
    result = games.load("backgammon").rules.outcome(last)[1]
    for head in (None, WILDBG):
        ours = load_onnx(files("backgammon_network", head))
        values, outputs = ours.values(ours.game.row(last)[None])
        assert values[0] == result
        assert outputs[0].tolist() == [float(outcome == result) for outcome in ours.game.rules.outcomes]


def test_the_head_of_wildbg(files):
    """Win normal, gammon, backgammon, lose normal, gammon, backgammon; they exclude each other, and wildbg's equity is
    our value."""
    model = onnx.load_from_string(exported("backgammon_network", WILDBG))
    assert [output.name for output in model.graph.output] == ["probabilities"]
    assert [dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim] == [0, 6]
    ours, rows = evaluator("backgammon_network"), played(evaluator("backgammon_network"), 1000).rows
    session = onnxruntime.InferenceSession(exported("backgammon_network", WILDBG))
    (found,) = session.run(None, {"features": inputs_of(ours.game, ours.features, rows)})
    values, chances = Reference(ours).values(rows)
    lose_backgammon, lose_gammon, lose_normal, win_normal, win_gammon, win_backgammon = chances.T
    expected = [win_normal, win_gammon, win_backgammon, lose_normal, lose_gammon, lose_backgammon]
    np.testing.assert_allclose(found.T, expected, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
    wn, wg, wb, ln, lg, lb = found.T.astype(np.float64)
    np.testing.assert_allclose(wn - ln + 2 * (wg - lg) + 3 * (wb - lb), values, atol=2e-6)
    found = agreement(ours, load_onnx(files("backgammon_network", WILDBG)), played(ours, 1000))
    assert found.difference < 1e-6
    assert found.misordered == 0


@pytest.mark.parametrize("features", ["tesauro", "tesauro_pips"])
@pytest.mark.parametrize("hidden", [[], [20]], ids=str)
@pytest.mark.parametrize("head", ["wildbg-contact", "wildbg-race"])
def test_a_network_over_wildbgs_inputs_computes_the_same(tmp_path, features, hidden, head):
    ours = network(games.load("backgammon"), hidden, "classes", features=features)
    target = target_of(ours.description, head)
    (tmp_path / "x.onnx").write_bytes(onnx_bytes(ours, target))
    read = load_onnx(tmp_path / "x.onnx", ours.game, target.encoder(ours))
    sample = sample_for(ours, target, 200)
    assert wildbg.is_race(sample.rows).all() == (head == "wildbg-race")
    found = agreement(ours, read, sample)
    assert found.difference < 3e-6, "float32 sums of random weights"
    assert found.misordered == 0
    (graph_input,) = onnx.load(tmp_path / "x.onnx").graph.input
    assert graph_input.type.tensor_type.shape.dim[1].dim_value == {"wildbg-contact": 202, "wildbg-race": 186}[head]
    with pytest.raises(InputError, match="no feature set 'wildbg-"):
        load_onnx(tmp_path / "x.onnx")


def test_wildbgs_inputs_are_as_it_publishes_them():
    """The position of wildbg's own tests: x on 1 2 2 3 3 3 4 4 4 4 5 5 5 5 5 (one to five checkers), o on 24 and on the
    bar."""
    game = games.load("backgammon")
    x, o = np.zeros(25, np.int64), np.zeros(25, np.int64)
    x[:5] = [1, 2, 3, 4, 5]
    boards = np.array([[o, x]])
    boards[0, 0, 0] = boards[0, 0, 24] = 1  # o's own 1-point is x's 24-point; the bar is last
    rows = np.zeros((1, game.rules.width), np.int64)
    write_boards(boards, np.zeros(1, np.int64), rows)
    contact = wildbg.encode("wildbg-contact", rows)[0].astype(int).tolist()
    assert contact[:2] == [0, 13]
    assert contact[2:26] == [0, 0, 0, 0, *[1, 0, 0, 0], *[0, 1, 0, 0], *[0, 0, 1, 0], *[0, 0, 1, 1], *[0, 0, 1, 2]]
    assert not any(contact[26:102])
    assert contact[102:106] == [1, 0, 0, 0], "o on the bar"
    assert not any(contact[106:198])
    assert contact[198:] == [1, 0, 0, 0], "o on 24"
    boards[0, 0, 24] = 0
    write_boards(boards, np.zeros(1, np.int64), rows)
    assert wildbg.is_race(rows)[0]
    race = wildbg.encode("wildbg-race", rows)[0].astype(int).tolist()
    assert len(race) == 186
    assert race[:6] == [0, 14, 1, 0, 0, 0]
    assert race[182:] == [1, 0, 0, 0]


def test_wildbgs_inputs_need_features_that_they_determine():
    with pytest.raises(InputError, match="needs the features tesauro or tesauro_pips"):
        target_of(evaluator("backgammon_network").description, "wildbg-contact")


@pytest.mark.parametrize("name", ["connect_four_linear", "backgammon_evolved"])
def test_wildbgs_head_needs_its_six_classes(name):
    with pytest.raises(InputError, match="head=wildbg needs chances of winning and losing 1, 2 and 3 points"):
        target_of(evaluator(name).description, WILDBG)


# --- the file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["backgammon_linear", "tic_tac_toe_ntuple"])
def test_the_same_evaluator_gives_the_same_bytes(name):
    again = load_evaluator(SHIPPED[name])
    data = onnx_bytes(again, target_of(again.description))
    assert data == exported(name)
    for folder in (ROOT, Path.home(), sys.prefix, tempfile.gettempdir()):
        assert f"{folder}/".encode() not in data, "no local paths"


def test_metadata_says_what_goes_in_and_comes_out():
    model = onnx.load_from_string(exported("backgammon_linear"))
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    game, description = games.load("backgammon"), evaluator("backgammon_linear").description
    assert metadata["deltaw.game"] == "backgammon"
    assert metadata["deltaw.features"] == "expert"
    assert json.loads(metadata["deltaw.spec"]) == list(description.spec)
    assert json.loads(metadata["deltaw.feature_names"]) == game.features("expert").names()
    assert json.loads(metadata["deltaw.outcomes"]) == json.loads(metadata["deltaw.classes"]) == [-3, -2, -1, 1, 2, 3]
    assert json.loads(metadata["deltaw.trained"]) == description.trained
    assert json.loads(metadata["deltaw.network"]) == {"head": "classes", "kind": "linear", "sizes": [235, 6]}
    assert list(metadata) == sorted(metadata)
    assert "backgammon" in model.doc_string
    assert all(info.doc_string for info in [*model.graph.input, *model.graph.output])
    wild = {
        entry.key: entry.value for entry in onnx.load_from_string(exported("backgammon_linear", WILDBG)).metadata_props
    }
    assert json.loads(wild["deltaw.classes"]) == list(WILDBG_CLASSES)


def test_weights_keep_their_names():
    model = onnx.load_from_string(exported("backgammon_network"))
    held = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for name, tensor in evaluator("backgammon_network").tensors.items():
        assert np.array_equal(held[name], tensor)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("backgammon_network", None),
        ("backgammon_network", WILDBG),
        ("connect_four_linear", None),
        ("othello_ntuple", None),
    ],
)
def test_golden_vectors_are_what_onnxruntime_answers(name, head):
    """As another program would test itself: the file, the vectors, onnxruntime, nothing of ours."""
    golden = json.loads(golden_text(evaluator(name), target_of(evaluator(name).description, head), 64))
    session = onnxruntime.InferenceSession(exported(name, head))
    (given,) = session.get_inputs()
    kind = np.int32 if given.type == "tensor(int32)" else np.float32
    outputs = session.run(None, {given.name: np.array(golden["inputs"], kind)})
    assert [output.name for output in session.get_outputs()] == list(golden["outputs"])
    for measured, expected in zip(outputs, golden["outputs"].values(), strict=True):
        np.testing.assert_allclose(measured, expected, atol=golden["tolerance"])


def test_the_command_writes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["export", "from=connect_four_linear", "to=c4.onnx", "golden=4", "positions=50"])
    export.main()
    assert (tmp_path / "c4.onnx").read_bytes() == exported("connect_four_linear")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c4.golden.json", "c4.onnx"]
    assert "in the same order" in capsys.readouterr().out


# --- the document -----------------------------------------------------------------------------------------------------

DOCUMENT = (ROOT / "docs" / "export.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, flags=re.DOTALL)


@pytest.mark.parametrize("block", blocks("python"))
def test_the_documents_python_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ours = evaluator("backgammon_network")
    (tmp_path / "backgammon.onnx").write_bytes(exported("backgammon_network"))
    (tmp_path / "backgammon.golden.json").write_text(golden_text(ours, target_of(ours.description), 16))
    yours = foreign(tmp_path, width=235, outputs=(("softmax", 6),), metadata={})
    Path(yours).rename(tmp_path / "yours.onnx")
    exec(compile(block, "export.md", "exec"), {})
    if "yours_to_play" in block:
        player = find_player(ours.game, "yours_to_play.onnx", threads=1)
        assert player.name == "yours_to_play"


@pytest.mark.parametrize("command", [line.split("  #")[0] for block in blocks("sh") for line in block.splitlines()])
def test_the_documents_commands_are_understood(command):
    words = command.split()
    if words[:2] == ["deltaw", "export"]:
        with initialize_config_module("deltaw.conf", version_base="1.3"):
            raw = compose("export", overrides=words[2:])
        export.check_options(raw)
        assert raw.head is None or raw.head in HEADS
    elif words[0] == "deltaw":
        {"arena": arena, "analyze": analyze}[words[1]].parser().parse_args(words[2:])
    else:
        assert words[0] == "python"
        assert (ROOT / words[1]).exists()


def test_the_documents_golden_vectors_have_the_right_keys():
    shown = json.loads(blocks("json")[0])
    ours = evaluator("backgammon_network")
    assert list(shown) == list(json.loads(golden_text(ours, target_of(ours.description), 1)))


def test_the_document_names_every_metadata_key():
    model = onnx.load_from_string(exported("backgammon_network"))
    for entry in model.metadata_props:
        assert f"`{entry.key}`" in DOCUMENT
