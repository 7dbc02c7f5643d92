"""An evaluator as an ONNX graph, written node by node: no exporter, so the same evaluator gives the same bytes and
nothing of this machine is in them.

    network, linear   features float32 [batch, F] -> Gemm -> Relu | Sigmoid | Tanh -> ... -> Gemm -> head
    n-tuples          entries int32 [batch, P]    -> Gather -> ReduceSum (float64)                -> head

    head classes      Softmax -> chances [batch, K], and their expectation -> value [batch]
    head tanh         Tanh x the largest outcome -> value [batch];  head identity: value [batch]
    head wildbg       Softmax -> probabilities [batch, 6], alone: win normal, gammon, backgammon, lose normal, gammon,
                      backgammon

The last is what wildbg (github.com/carsten-wenderdel/wildbg, crates/engine/src/onnx.rs) reads from its networks' only
output: exclusive probabilities, for the side to move; `wildbg-contact` and `wildbg-race` have its inputs too
(`learn/exports/wildbg.py`). Weights keep the names they have in the evaluator file. Opset 17 and IR version 8 are read
by onnxruntime since 1.13 and by tract.
"""

from __future__ import annotations

import functools
import importlib
import json
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.learn.exports import wildbg
from deltaw.search.evaluators.evaluator import Description, Evaluator
from deltaw.search.evaluators.inputs import inputs_of, width_of
from deltaw.search.evaluators.onnx_file import INSTALL, PREFIX, Encoder

OPSET, IR_VERSION = 17, 8
WILDBG = wildbg.HEAD
HEADS = (WILDBG, wildbg.CONTACT, wildbg.RACE)
"""that an export may have instead of the evaluator's own"""
WILDBG_CLASSES = (1, 2, 3, -1, -2, -3)
"""what the columns of wildbg's probabilities are worth"""
OPERATORS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh"}
MOST_NAMES = 4096
"""features that are named one by one in the metadata"""
MOST_BYTES = 2_000_000_000
"""an ONNX file is one protobuf message, which must be below 2 GiB"""


COLUMNS = np.array([1], np.int64)
"""the axis of a row's numbers"""


class Target(NamedTuple):
    """What a file is to give."""

    head: str
    """classes, tanh, identity or wildbg"""
    classes: tuple[int, ...]
    """what the columns of chances are worth; empty for a scalar head"""
    inputs: str | None = None
    """wildbg-contact or wildbg-race, where it is to have wildbg's inputs; None: the evaluator's"""

    def encoder(self, evaluator: Evaluator) -> Encoder:
        """What makes the inputs of the file."""
        if self.inputs is not None:
            return wildbg.encoder(self.inputs)
        features = evaluator.features
        return Encoder(features.name, width_of(features), functools.partial(inputs_of, evaluator.game, features))

    @property
    def chances(self) -> str:
        """Name of the output of chances."""
        return "probabilities" if self.head == WILDBG else "chances"


def onnx_bytes(evaluator: Evaluator, target: Target) -> bytes:
    """The ONNX file of an evaluator. Raises InputError for tables that are too large, and where the package onnx is
    missing."""
    size = sum(tensor.nbytes for tensor in evaluator.tensors.values())
    if size > MOST_BYTES:
        raise InputError(f"the evaluator has {size:,} bytes of weights; an ONNX file holds {MOST_BYTES:,} at most")
    onnx = _load_onnx()
    graph = _Graph(onnx, evaluator, target)
    model = onnx.helper.make_model(
        graph.made(),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="deltaw",
        doc_string=about(evaluator.description, target),
    )
    onnx.helper.set_model_props(model, metadata(evaluator, target))
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


def target_of(description: Description, head: str | None = None) -> Target:
    """What a file is to give; `head` None: as the evaluator, or "wildbg". Raises InputError where the head does not
    fit."""
    if head is None:
        return Target(description.head, description.outcomes if description.head == "classes" else ())
    if head not in HEADS:
        raise InputError(f"head={head}: an export has the evaluator's own head (head=null), or {', '.join(HEADS)}")
    if description.head != "classes" or sorted(description.outcomes) != sorted(WILDBG_CLASSES):
        raise InputError(
            f"head={head} needs chances of winning and losing 1, 2 and 3 points; this evaluator of {description.game} "
            f"has head {description.head!r} and the outcomes {description.outcomes}"
        )
    if head != WILDBG:
        wildbg.check_features(description, head)
    return Target(WILDBG, WILDBG_CLASSES, None if head == WILDBG else head)


def _load_onnx() -> Any:
    try:
        importlib.import_module("onnx.checker")
        return importlib.import_module("onnx")
    except ImportError:
        raise InputError(f"to write ONNX files needs the package onnx: {INSTALL}") from None


class _Graph:
    """A graph in the making: nodes and constants, one after the other. `sums` are the names of the last layer's
    outputs."""

    def __init__(self, onnx: Any, evaluator: Evaluator, target: Target) -> None:
        self.onnx, self.evaluator, self.target = onnx, evaluator, target
        self.description = evaluator.description
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def made(self) -> Any:
        """The GraphProto."""
        tuples, types = self.description.kind == "ntuple", self.onnx.TensorProto
        sums = self.tables() if tuples else self.layers()
        outputs = self.classes(sums) if self.target.classes else self.scalar(sums)
        describe = self.onnx.helper.make_tensor_value_info
        name, kind = ("entries", types.INT32) if tuples else ("features", types.FLOAT)
        width = self.target.encoder(self.evaluator).width
        inputs = [describe(name, kind, ["batch", width], doc_string=input_text(self.description, self.target))]
        columns = len(self.target.classes)
        given = [
            describe(output, types.FLOAT, ["batch"] if output == "value" else ["batch", columns], doc_string=text)
            for output, text in outputs.items()
        ]
        return self.onnx.helper.make_graph(self.nodes, "evaluator", inputs, given, self.constants)

    def layers(self) -> str:
        """Dense layers; returns the last one's sums [batch, outputs], in float64 unless wildbg is to read them: half of
        a network's rounding errors are made behind them, and nearly all of a linear evaluator's in them."""
        last, flow = len(self.description.sizes) - 2, "features"
        for k in range(last + 1):
            weight, bias = self.evaluator.tensors[f"weight{k}"], self.evaluator.tensors[f"bias{k}"]
            if k == 0 and self.target.inputs is not None:
                weight = wildbg.folded(self.evaluator, self.target.inputs)
            if k == last and self.target.head == WILDBG:
                columns = [self.description.outcomes.index(worth) for worth in WILDBG_CLASSES]
                weight, bias = weight[:, columns], bias[columns]
            terms = [flow, self.constant(f"weight{k}", weight), self.constant(f"bias{k}", bias)]
            if last == 0:
                terms = [self.double(term) for term in terms]
            flow = self.node("Gemm", terms, f"sums{k}")
            if k < last:
                flow = self.node(OPERATORS[self.description.activation], [flow], f"hidden{k}")
        return flow if last == 0 or self.target.head == WILDBG else self.double(flow)

    def tables(self) -> str:
        """Look-ups in the tables of an n-tuple network; returns their sum [batch, 1] in float64: hundreds of entries
        add up."""
        weights = self.constant("weight0", self.evaluator.tensors["weight0"][:, 0])
        found = self.double(self.node("Gather", [weights, "entries"], "found"))
        total = self.node("ReduceSum", [found, self.constant("columns", COLUMNS)], "total", keepdims=1)
        return self.node("Add", [total, self.double(self.constant("bias0", self.evaluator.tensors["bias0"]))], "sums0")

    def classes(self, sums: str) -> dict[str, str]:
        """A head over outcome classes; returns the outputs and what they are."""
        shares = self.node("Softmax", [sums], "shares", axis=1)
        texts = {self.single(shares, self.target.chances): output_text(self.target)}
        if self.target.head != WILDBG:
            worths = self.constant("outcomes", np.array(self.target.classes, np.float64)[:, None])
            texts |= self.value(self.node("MatMul", [shares, worths], "expected"))
        return texts

    def scalar(self, sums: str) -> dict[str, str]:
        """A head with one output; returns it and what it is."""
        if self.target.head == "tanh":
            scale = self.constant("scale", np.array(max(self.description.outcomes), np.float64))
            sums = self.node("Mul", [self.node("Tanh", [sums], "bounded"), scale], "scaled")
        return self.value(sums)

    def value(self, column: str) -> dict[str, str]:
        """The output `value` [batch] from a column [batch, 1] of float64."""
        self.single(self.node("Squeeze", [column, self.constant("columns", COLUMNS)], "squeezed"), "value")
        return {"value": VALUE_TEXT}

    def double(self, name: str) -> str:
        """`name` in float64."""
        return self.node("Cast", [name], f"{name}_exact", to=self.onnx.TensorProto.DOUBLE)

    def single(self, name: str, output: str) -> str:
        """`output`, in float32."""
        return self.node("Cast", [name], output, to=self.onnx.TensorProto.FLOAT)

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Append a node; returns the name of its output."""
        self.nodes.append(
            self.onnx.helper.make_node(operator, inputs, [output], name=f"{operator}_{output}", **attributes)
        )
        return output

    def constant(self, name: str, array: np.ndarray) -> str:
        if all(known.name != name for known in self.constants):
            self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


# --- what the file says of itself -----------------------------------------------------------------------------------

VALUE_TEXT = (
    "expected result of the game for the side to move, in outcome units (backgammon: points, cubeless money play)"
)


def input_text(description: Description, target: Target) -> str:
    """What the input is."""
    if target.inputs is not None:
        return (
            f"the inputs of wildbg's networks ({target.inputs.partition('-')[2]}), the side to move being x; "
            f"{PREFIX}feature_names has their order"
        )
    seen = f"of {description.game}, as the side to move sees the position (before the dice, where there are any)"
    if description.kind == "ntuple":
        return (
            f"active entries of the n-tuples {seen}: indices into weight0, "
            f"laid out by {PREFIX}spec as envs/tuples.py tells"
        )
    return f"feature set {description.features!r} {seen}; {PREFIX}feature_names has their order"


def output_text(target: Target) -> str:
    """What the output of chances is."""
    return (
        f"chances of the outcomes {', '.join(f'{worth:+d}' for worth in target.classes)} for the side to move, "
        "in this order; they exclude each other and add up to 1"
    )


def about(description: Description, target: Target) -> str:
    """The model's own description."""
    shape = "-".join(map(str, description.sizes))
    return (
        f"Evaluator of {description.game} ({description.kind} {shape}, head {target.head}), "
        "a position in, its worth for the side to move out."
    )


def metadata(evaluator: Evaluator, target: Target) -> dict[str, str]:
    """metadata_props: texts, and JSON where a value is a list, a number or an object."""
    description, features = evaluator.description, evaluator.features
    network = {"kind": description.kind, "sizes": description.sizes, "head": target.head}
    if description.kind == "mlp":
        network["activation"] = description.activation
    texts = {
        "format": "1",
        "game": description.game,
        "features": target.inputs or description.features,
        "network": json.dumps(network, sort_keys=True),
        "outcomes": json.dumps(description.outcomes),
        "inputs": input_text(description, target),
        "outputs": output_text(target) if target.classes else VALUE_TEXT,
        "trained": json.dumps(description.trained, sort_keys=True),
    }
    if target.classes:
        texts["classes"] = json.dumps(target.classes)
    if target.inputs is not None:
        texts["feature_names"] = json.dumps(wildbg.input_names(target.inputs))
    else:
        texts["spec"] = json.dumps(description.spec)
        if features.num_features <= MOST_NAMES:
            texts["feature_names"] = json.dumps(features.names())
    return {PREFIX + key: texts[key] for key in sorted(texts)}
