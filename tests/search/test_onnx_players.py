"""ONNX files as players: the moves of the compiled evaluator, networks that others made, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_lines import assert_one_line, call
from onnx_files import SHIPPED, evaluator, exported, files_in, foreign

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.learn.exports.onnx_graph import WILDBG, onnx_bytes, target_of
from deltaw.search import analyze, arena
from deltaw.search.evaluators.inputs import inputs_of
from deltaw.search.evaluators.named import find_evaluator, leaf_of, only_by_plies
from deltaw.search.evaluators.onnx_file import load_onnx, most_states
from deltaw.search.evaluators.onnx_limits import Shapes, read_model
from deltaw.search.play import make_agent
from deltaw.search.players.agent import Agent
from deltaw.search.players.find import find_player
from deltaw.search.players.how import Limits

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

TIC_TAC_TOE, CONNECT_FOUR = games.load("tic_tac_toe"), games.load("connect_four")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return files_in(tmp_path_factory.mktemp("onnx"))


# --- players ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "plies", "games_played"),
    [
        ("backgammon_network", 1, 40),
        ("othello_ntuple", 1, 40),
        ("connect_four_linear", 2, 40),
        ("backgammon_linear", 2, 2),
    ],
)
def test_a_match_against_itself_is_drawn(files, name, plies, games_played):
    """Pairs of games have the same dice and swapped seats: the same player scores exactly nothing against itself."""
    game = evaluator(name).game
    first, second = (find_player(game, text, plies, threads=1) for text in (files(name), str(SHIPPED[name])))
    result = arena.match(game, first, second, games_played, 3, threads=1, slots=games_played)
    assert result.mean == 0.0
    assert games_played == 2 or result.standard_error == 0.0
    assert result.pentanomial[2] == games_played // 2
    assert first.name == f"{name}_None" + (" 2-ply" if plies == 2 else "")


@pytest.mark.parametrize("plies", [1, 2])
@pytest.mark.parametrize("head", [None, WILDBG])
def test_an_agent_sees_what_the_compiled_one_sees(files, plies, head):
    game = games.load("backgammon")
    mine = Agent(game, find_evaluator(game, files("backgammon_network", head)), plies=plies, candidates=3)
    theirs = Agent(game, evaluator("backgammon_network"), plies=plies, candidates=3)
    before = game.parse("4HPwATDgc/ABMA")
    state = game.rules.chance(before, game.find_chance(before, "31"))[0]
    ranked, expected = mine.rank(state), theirs.rank(state)
    assert [(r.move, r.text, r.state, r.depth) for r in ranked] == [
        (r.move, r.text, r.state, r.depth) for r in expected
    ]
    np.testing.assert_allclose([r.value for r in ranked], [r.value for r in expected], atol=2e-6)
    np.testing.assert_allclose([r.chances for r in ranked], [r.chances for r in expected], atol=2e-6)
    assert mine.choose(state) == theirs.choose(state)
    for position in (state, before):
        assert mine.value(position).value == pytest.approx(theirs.value(position).value, abs=2e-6)
        np.testing.assert_allclose(mine.value(position).chances, theirs.value(position).chances, atol=2e-6)


def test_an_evaluator_of_n_tuples_plays(files):
    agent = make_agent(games.load("othello"), files("othello_ntuple"))
    state = agent.game.unrow(agent.game.row(agent.game.rules.initial()))
    assert agent.how.plies == 2
    assert agent.value(state).chances is None
    assert agent.choose(state) in agent.game.moves(state)


def test_the_arena_and_the_analysis_take_files(files, capsys):
    status, out, err = call(
        arena.main, ["connect_four", files("connect_four_linear"), "random", "--games", "20", "--json"], capsys
    )
    assert (status, err) == (0, "")
    assert json.loads(out)["mean"] > 0
    words = ["connect_four", "32", "--evaluator", files("connect_four_linear"), "--json"]
    status, out, err = call(analyze.main, words, capsys)
    assert (status, err) == (0, "")
    by_plies = call(analyze.main, ["connect_four", "32", "--evaluator", "linear", "--plies", "1", "--json"], capsys)[1]
    assert [m["move"] for m in json.loads(out)["moves"]] == [m["move"] for m in json.loads(by_plies)["moves"]]
    status, out, _ = call(analyze.main, [*words, "--plies", "2"], capsys)
    assert json.loads(out)["moves"][0]["plies"] == 2


REFUSED = {
    "a search": "connect_four {file}@depth=4 random --games 2",
    "two evaluators": "backgammon network random --games 2 --luck {backgammon}",
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_uses_are_refused(files, case, capsys):
    words = REFUSED[case].format(file=files("connect_four_linear"), backgammon=files("backgammon_linear"))
    assert_one_line(arena.main, words, "runs in onnxruntime, many positions at once", capsys)


def test_searches_refuse_it(files, capsys):
    game, path = games.load("connect_four"), files("connect_four_linear")
    found = find_evaluator(game, path)
    assert only_by_plies(found)
    for use in (
        lambda: leaf_of(found),
        lambda: Agent(game, found, limits=Limits(depth=3)),
        lambda: Agent(game, found, endings=lambda leaf: leaf),
    ):
        with pytest.raises(InputError, match="runs in onnxruntime"):
            use()
    assert_one_line(analyze.main, f"connect_four 32 --depth 3 --evaluator {path}", "runs in onnxruntime", capsys)


# --- networks of others -----------------------------------------------------------------------------------------------


CLASSES = {"deltaw.game": "tic_tac_toe", "deltaw.features": "cells", "deltaw.classes": "[1, 0, -1]"}


def test_a_network_of_others_plays_with_our_metadata(tmp_path):
    ours = load_onnx(foreign(tmp_path), TIC_TAC_TOE)
    rows = np.array([TIC_TAC_TOE.row(TIC_TAC_TOE.parse(text)) for text in ("X---O----", "XO--X-O--")])
    x = inputs_of(TIC_TAC_TOE, TIC_TAC_TOE.features("cells"), rows)
    expected = np.tanh(0.1 * x @ np.arange(1, 19))
    values, outputs = ours.values(rows)
    np.testing.assert_allclose(values, expected, atol=1e-6)
    np.testing.assert_allclose(outputs, expected[:, None], atol=1e-6)
    assert not ours.gives_chances


def test_chances_may_come_in_any_order(tmp_path):
    ours = load_onnx(foreign(tmp_path, outputs=(("softmax", 3),), metadata=CLASSES, factor=0.01))
    rows = np.array([TIC_TAC_TOE.row(TIC_TAC_TOE.parse("X---O----"))])
    x = inputs_of(TIC_TAC_TOE, TIC_TAC_TOE.features("cells"), rows)[0]
    odds = np.exp(0.01 * x @ np.arange(1, 55).reshape(18, 3))
    win, draw, loss = odds / odds.sum()
    values, outputs = ours.values(rows)
    np.testing.assert_allclose(outputs[0], [loss, draw, win], atol=1e-6)
    assert values[0] == pytest.approx(win - loss, abs=1e-6)
    assert ours.gives_chances


def test_entries_may_be_int64(tmp_path):
    features = evaluator("tic_tac_toe_ntuple").features
    metadata = {"deltaw.game": "tic_tac_toe", "deltaw.features": "tuples", "deltaw.spec": json.dumps(features.spec)}
    ours = load_onnx(foreign(tmp_path, width=16, kind="INT64", metadata=metadata, factor=1e-4))
    rows = np.array([TIC_TAC_TOE.row(TIC_TAC_TOE.parse("X---O----"))])
    entries = inputs_of(TIC_TAC_TOE, features, rows)[0]
    assert ours.values(rows)[0][0] == pytest.approx(np.tanh(1e-4 * entries @ np.arange(1, 17)), abs=1e-6)


FAULTS = {
    "no metadata": ({"metadata": {}}, "its metadata lacks deltaw.game and deltaw.features"),
    "another game": ({"metadata": CLASSES | {"deltaw.game": "nim"}}, "evaluates nim, not tic_tac_toe"),
    "no such features": ({"metadata": CLASSES | {"deltaw.features": "corners"}}, "no feature set 'corners'"),
    "another spec": ({"metadata": CLASSES | {"deltaw.spec": "[7]"}}, "spec (7,)"),
    "no numbers": ({"metadata": CLASSES | {"deltaw.spec": "seven"}}, "deltaw.spec is 'seven', not a list"),
    "deep": ({"metadata": CLASSES | {"deltaw.spec": "[" * 100_000}}, "not a list"),
    "cells off the board": (
        {"metadata": CLASSES | {"deltaw.features": "tuples", "deltaw.spec": "[-1,3,1,1,2,1,-40,1]"}}, "from 0"),
    "huge numbers": ({"metadata": CLASSES | {"deltaw.spec": f"[{'9' * 5000}]"}}, "not a list of whole numbers"),
    "cut tuples": ({"metadata": CLASSES | {"deltaw.features": "tuples", "deltaw.spec": "[-1, 3]"}}, "n-tuple"),
    "other classes": ({"metadata": CLASSES | {"deltaw.classes": "[-3, 3]"}}, "knows the outcomes (-3, 3)"),
    "width": ({"width": 17}, "one input [batch, 18] for the feature set 'cells'; it has ['n', 17]"),
    "inputs": ({"inputs": 2}, "one input [batch, 18]"),
    "kind": ({"kind": "DOUBLE"}, "of float32"),
    "outputs": ({"outputs": (("a", 1), ("b", 1))}, "has the outputs a, b: one must be called value"),
    "chances without classes": ({"outputs": (("chances", 3),)}, "deltaw.classes"),
    "columns": ({"outputs": (("chances", 2),), "metadata": CLASSES},
        "the output chances of 2 states should be (2, 3), not (2, 2)"),
    "wide value": ({"outputs": (("value", 2),)}, "the output value of 2 states should be (2,), not (2, 2)"),
    "fixed batch": ({"batch": 1}, "does not evaluate 2 states at once"),
    "not finite": ({"factor": float("nan")}, "NaN or infinity"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_what_cannot_be_played_is_refused(tmp_path, case, capfd):
    options, message = FAULTS[case]
    with pytest.raises(InputError) as caught:
        load_onnx(foreign(tmp_path, **options), TIC_TAC_TOE)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == "", "onnxruntime keeps quiet"


@pytest.mark.parametrize("cut", [0, 1, 100, 2000])
def test_damaged_files(tmp_path, cut, capfd):
    path = tmp_path / "cut.onnx"
    path.write_bytes(exported("connect_four_linear")[:cut])
    with pytest.raises(InputError, match=r"cut\.onnx (is no ONNX file|does not say)") as caught:
        load_onnx(path)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_no_such_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match=r"there is no evaluator file .*x\.onnx"):
        load_onnx(tmp_path / "x.onnx")
    (tmp_path / "y.onnx").mkdir()
    with pytest.raises(InputError, match=r"cannot read .*y\.onnx"):
        load_onnx(tmp_path / "y.onnx")


def test_weights_in_other_files_are_not_read(tmp_path, files, monkeypatch):
    """A model can name files that hold its numbers; nothing that was not named on the command line is opened, not even
    in the working directory."""
    monkeypatch.chdir(tmp_path)
    model = onnx.load(files("connect_four_linear"))
    onnx.save(model, tmp_path / "x.onnx", save_as_external_data=True, location="secret.bin", size_threshold=0)
    assert (tmp_path / "secret.bin").exists()
    with pytest.raises(InputError, match=r"x\.onnx keeps 'weight0' in another file"):
        load_onnx(tmp_path / "x.onnx")


def program(folder: Path, nodes: str, *, functions: str = "", **constants: Any) -> Path:
    """A graph from `x` float [n, 18] to `y` float [n, 1], with our metadata; `nodes` in ONNX's own notation."""
    text = f"""<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        g (float[n, 18] x) => (float[n, 1] y) {{ {nodes} }} {functions}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(c), name) for name, c in constants.items())
    onnx.helper.set_model_props(model, {"deltaw.game": "tic_tac_toe", "deltaw.features": "cells"})
    path = folder / "program.onnx"
    path.write_bytes(model.SerializeToString())
    return path


ENDLESS = """y0 = ReduceSum <keepdims = 1> (x, axis)  true = Constant <value_int = 1> ()  going = Cast <to = 9> (true)
    y = Loop (, going, y0) <body = b (int64 i, bool c, float[n, 1] v) => (bool d, float[n, 1] w) {
        d = Identity (c)  w = Identity (v) }>"""
HIDDEN = '<domain: "own", opset_import: ["" : 17]> Mine (a) => (b) { b = Identity (a) }'
SUM = "s = ReduceSum <keepdims = 1> (x, axis)"
LARGE = np.array([40_000, 40_000])
PROGRAMS = {
    "a loop that never ends": (ENDLESS, {}, "has the operator Loop"),
    "a function": ("y = own.Mine (x)", {"functions": HIDDEN}, "has functions of its own"),
    "an operator of others": ("y = own.Mine (x)", {}, "has the operator own.Mine"),
    "6 GB of zeros": (f"{SUM} z = ConstantOfShape (size) t = ReduceSum (z) y = Add (s, t)", {"size": LARGE},
        "takes more than"),
    "6 GB by repetition": (f"{SUM} z = Tile (s, size) y = ReduceSum <keepdims = 1> (z, axis)", {"size": LARGE},
        "takes more than"),
    "6 GB by an outer product": (f"{SUM} z = Mul (c, r) t = ReduceSum (z) y = Add (s, t)",
        {"c": np.ones((40_000, 1), np.float32), "r": np.ones((1, 40_000), np.float32)}, "takes more than"),
    "6 GB for few states": (f"{SUM} h = Shape (x) n = Slice (h, zero, axis) m = Sub (most, n)"
        " k = Concat <axis = 0> (m, m) z = ConstantOfShape (k) t = ReduceSum (z) y = Add (s, t)",
        {"zero": np.array([0]), "most": np.array([40_000])}, "takes more than"),
    "hours of work": (f"{SUM} p = MatMul (a, a) q = MatMul (p, a) r = ReduceSum (q) y = Add (s, r)",
        {"a": np.ones((3600, 3600), np.float16)}, "takes more than"),
    "a size that depends on numbers": (f"{SUM} k = Cast <to = 7> (s) f = Reshape (k, minus)  z = ConstantOfShape (f) "
        "t = ReduceSum (z) y = Add (s, t)", {"minus": np.array([-1])}, "cannot be told before it is run"),
    "a division that kills": (f"{SUM} i = Cast <to = 7> (s) l = Mul (i, least) d = Div (l, minus)"
        " y = Cast <to = 1> (d)",
        {"least": np.array([-(2**63)]), "minus": np.array([-1])}, "known divisors from 1 upwards"),
    "a shape below zero": (f"{SUM} a, b = Split <axis = 1> (x, size) h = Shape (b) t = ReduceSum (a) y = Add (s, t)",
        {"size": np.array([20, -2])}, "impossible shape"),
    "an empty array": (f"{SUM} z = ConstantOfShape (size) h = ReduceSum (z) y = Add (s, h)",
        {"size": np.array([0, 2**62])}, "impossible shape"),
    "texts": ("t = Cast <to = 8> (x) y = Cast <to = 1> (t)", {}, "texts, no numbers"),
}  # fmt: skip


@pytest.mark.parametrize("case", PROGRAMS)
def test_a_graph_is_no_program(tmp_path, case):
    nodes, more, message = PROGRAMS[case]
    with pytest.raises(InputError) as caught:
        load_onnx(program(tmp_path, nodes, axis=np.array([1]), **more))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tensor_must_hold_what_it_says(tmp_path):
    path = program(tmp_path, f"{SUM} y = Add (s, c)", axis=np.array([1]), c=np.ones((1, 1), np.float32))
    model = onnx.load(path)
    model.graph.initializer[1].dims[:] = [40_000, 40_000]
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match="damaged"):
        load_onnx(path)


def test_names_are_utf8(tmp_path):
    path = program(tmp_path, f"{SUM} y = Relu (s)", axis=np.array([1]))
    path.write_bytes(path.read_bytes().replace(b"deltaw.game", b"deltaw.gam\xff"))
    with pytest.raises(InputError, match="no UTF-8"):
        load_onnx(path)


def test_shapes_may_be_calculated(tmp_path):
    """As exporters write `x.view(x.size(0), 2, -1)`."""
    nodes = """h = Shape (x) n = Gather (h, first) m = Unsqueeze (n, zero) k = Concat <axis = 0> (m, rest)
        v = Reshape (x, k) w = ReduceSum <keepdims = 0> (v, axis) y = ReduceSum <keepdims = 1> (w, axis)"""
    arrays = {"first": np.array(0), "zero": np.array([0]), "rest": np.array([2, -1]), "axis": np.array([1])}
    ours = load_onnx(program(tmp_path, nodes, **arrays))
    rows = np.array([TIC_TAC_TOE.row(TIC_TAC_TOE.parse(text)) for text in ("X---O----", "XO--X----", "XO-------")])
    expected = inputs_of(TIC_TAC_TOE, TIC_TAC_TOE.features("cells"), rows).sum(axis=1)
    np.testing.assert_allclose(ours.values(rows)[0], expected)


@pytest.mark.parametrize("bearable", [1, 8, 4096])
def test_a_large_graph_takes_fewer_states_at_once(files, monkeypatch, bearable):
    """The values are the same."""
    path = files("connect_four_linear")
    rows = np.repeat(CONNECT_FOUR.row(CONNECT_FOUR.parse("4453"))[None], 20, axis=0)
    expected, model = load_onnx(path).values(rows)[0], read_model(path)
    cost = Shapes(path, model).cost(bearable, 96)
    monkeypatch.setattr("deltaw.search.evaluators.onnx_limits.MOST_STEPS", cost.steps)
    assert most_states(path, Shapes(path, model), 96) == bearable
    np.testing.assert_allclose(load_onnx(path).values(rows)[0], expected, atol=1e-12)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_without_a_package(files, monkeypatch, capsys, package):
    path = files("connect_four_linear")
    monkeypatch.setitem(sys.modules, package, None)
    assert_one_line(arena.main, f"connect_four {path} random", 'pip install "deltaw[onnx]"', capsys)


def test_without_onnx(monkeypatch):
    for name in ("onnx", "onnx.checker"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r'pip install "deltaw\[onnx\]"'):
        onnx_bytes(evaluator("connect_four_linear"), target_of(evaluator("connect_four_linear").description))


def test_too_large_for_a_file(monkeypatch):
    monkeypatch.setattr("deltaw.learn.exports.onnx_graph.MOST_BYTES", 100)
    with pytest.raises(InputError, match="388 bytes of weights"):
        onnx_bytes(evaluator("connect_four_linear"), target_of(evaluator("connect_four_linear").description))
