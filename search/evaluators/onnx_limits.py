"""What a graph in an ONNX file may be, checked before onnxruntime sees it: listed operators in one file, of bounded
memory and work.

A graph is a program, and a stranger's may loop for ever, read other files, or make terabytes out of a few numbers. So
only `OPERATORS` are allowed: no control flow, nothing random, and nothing whose memory and work do not follow from the
shapes that go in and come out. These shapes are found for each number of states that is evaluated in one call, node by
node: by ONNX's own inference, and where a graph calculates a shape (`Shape`, `Gather`, `Concat`, then `Reshape`), by
ONNX's reference implementation.
"""

from __future__ import annotations

import copy
import importlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.memory import check_memory

INSTALL = 'pip install "deltaw[onnx]"'
_NUMBER_BY_NUMBER = """
    Abs Add And Cast CastLike Ceil Celu Clip Cos Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual
    HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or Pow
    PRelu Reciprocal Relu Round Selu Sigmoid Sign Sin Softplus Softsign Sqrt Sub Sum Tan Tanh ThresholdedRelu Where
    Xor"""
_SUMS_AND_EXTREMES = """
    ArgMax ArgMin AveragePool Conv CumSum Gemm GlobalAveragePool GlobalMaxPool MatMul MaxPool ReduceL1 ReduceL2
    ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"""
_NORMALISATIONS = """
    BatchNormalization GroupNormalization Hardmax InstanceNormalization LayerNormalization LogSoftmax LpNormalization
    MeanVarianceNormalization RMSNormalization Softmax"""
_MOVES = """
    Concat Constant ConstantOfShape DepthToSpace Expand Flatten Gather GatherElements GatherND OneHot Pad Reshape Shape
    Size Slice SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze"""
_CALCULATIONS = """
    Add Cast Concat ConstantOfShape Div Equal Expand Gather Identity Mod Mul Reshape Shape Size Slice Squeeze Sub
    Transpose Unsqueeze Where"""
OPERATORS = frozenset(f"{_NUMBER_BY_NUMBER} {_SUMS_AND_EXTREMES} {_NORMALISATIONS} {_MOVES}".split())
CALCULATED = frozenset(_CALCULATIONS.split())
"""operators by which graphs calculate shapes; onnxruntime and the reference implementation agree on whole numbers"""
COUNTS = ("strides", "dilations", "kernel_shape", "group", "num_groups", "blocksize", "num_outputs")
"""attributes that are at least 1: other numbers have crashed implementations"""
MOST_KNOWN = 64
"""numbers in a shape, or in an array from which one is taken"""
MOST_FILE_BYTES = 2**31 - 1
"""an ONNX file is one protobuf message"""
MOST_NODES = 5000
"""half a millisecond each for finding the shapes"""
MOST_BYTES = 2**30
"""of all that the nodes give in one call, together"""
MOST_STEPS = 2**36
"""multiplications and other steps of one call: some ten seconds"""


class Cost(NamedTuple):
    """What one run takes, at most."""

    bytes: int
    steps: int

    @property
    def bearable(self) -> bool:
        return self.bytes <= MOST_BYTES and self.steps <= MOST_STEPS

    def plus(self, other: Cost) -> Cost:
        return Cost(self.bytes + other.bytes, self.steps + other.steps)


def read_model(path: str | Path) -> Any:
    """The ModelProto of an ONNX file, which holds nothing but what the module's docstring allows. Raises InputError."""
    onnx = _load_onnx(path)
    try:
        size = Path(path).stat().st_size
        if size > MOST_FILE_BYTES:
            raise InputError(f"{path} has {size:,} bytes; an ONNX file has at most {MOST_FILE_BYTES:,}")
        check_memory(3 * size, str(path))  # the file, the model, and what onnxruntime makes of it
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no evaluator file {path}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    try:
        model = onnx.ModelProto.FromString(content)
    except Exception as error:  # protobuf's own classes, which its versions move about
        raise damaged(path, error) from None
    model.DiscardUnknownFields()
    _check_texts(path, model)
    _check_parts(path, model)
    return model


def _check_texts(path: str | Path, message: Any) -> None:
    """Raises InputError for a name that is no UTF-8: protobuf hands it out as bytes."""
    for field, value in message.ListFields():
        values = value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else [value]
        if field.type == field.TYPE_STRING:
            for text in values:
                if isinstance(text, bytes):
                    raise InputError(f"{path} is a damaged ONNX file: {text[:60]!r} is no UTF-8")
        elif field.type == field.TYPE_MESSAGE:
            for inner in values:
                _check_texts(path, inner)


def _check_parts(path: str | Path, model: Any) -> None:
    """Raises InputError for whatever a graph should not have."""
    nodes, tensors = model.graph.node, list(model.graph.initializer)
    if model.functions or model.graph.sparse_initializer:
        raise InputError(f"{path} has functions of its own or sparse tensors: export it without them")
    if len(nodes) > MOST_NODES:
        raise InputError(f"{path} has {len(nodes):,} nodes; at most {MOST_NODES:,} are run")
    for node in nodes:
        if node.op_type not in OPERATORS or node.domain not in ("", "ai.onnx"):
            name = ".".join(filter(None, (node.domain, node.op_type)))
            raise InputError(f"{path} has the operator {name}, which is not among those that are run (docs/export.md)")
        for part in node.attribute:
            if part.HasField("g") or part.graphs or part.HasField("sparse_tensor") or part.sparse_tensors:
                raise InputError(f"{path}: {node.op_type} has a graph or a sparse tensor inside: export it without")
            if part.name in COUNTS and min((part.i, *part.ints) if part.type == part.INT else part.ints, default=1) < 1:
                raise InputError(f"{path}: {part.name} of {node.op_type} must be at least 1")
            tensors += [part.t, *part.tensors]
    for tensor in tensors:
        if tensor.external_data or tensor.data_location == tensor.EXTERNAL:
            raise InputError(f"{path} keeps {tensor.name!r} in another file: save the model as one file")


class Shapes:
    """The shapes of all that a graph calculates, found without running it. Keeps no weights."""

    def __init__(self, path: str | Path, model: Any) -> None:
        """Raises InputError for a constant that has another size than it says."""
        self._path, self._onnx = path, _load_onnx(path)
        self._opset = {
            "": max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
        }
        self._types: dict[str, Any] = {}
        self._known: dict[str, np.ndarray] = {}
        self._nodes = []
        try:
            for tensor in model.graph.initializer:
                self._add_constant(tensor.name, self._onnx.numpy_helper.to_array(tensor))
            for node in model.graph.node:
                if node.op_type == "Constant":
                    self._add_constant(node.output[0], self._evaluated(node, {}))
                else:
                    self._nodes.append(copy.deepcopy(node))  # the model itself, with its weights, is not kept
        except Exception as error:  # whatever damaged tensors raise
            raise damaged(path, error) from None
        self._inputs = [copy.deepcopy(given) for given in inputs_of_graph(model.graph)]

    def cost(self, states: int, width: int) -> Cost:
        """What a call takes whose input is [states, width]. Raises InputError where it cannot be told. Where it is not
        bearable, it may be more."""
        types, known = dict(self._types), dict(self._known)
        for given in self._inputs:
            types[given.name] = self._type(given.type.tensor_type.elem_type, (states, width))
        cost = Cost(0, 0)
        for node in self._nodes:
            types |= self._infer(node, types, known)
            cost = cost.plus(self._cost_of(node, types))
            if not cost.bearable:
                break
            self._check_division(node, types, known)
            self._calculate(node, types, known)
        return cost

    def _add_constant(self, name: str, array: np.ndarray) -> None:
        self._types[name] = self._type(self._onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        if _is_known(array):
            self._known[name] = array.copy()

    def _type(self, number: int, shape: tuple[int, ...]) -> Any:
        return self._onnx.helper.make_tensor_type_proto(number, shape)

    def _infer(self, node: Any, types: dict[str, Any], known: dict[str, np.ndarray]) -> dict[str, Any]:
        """Type of every output that ONNX can tell."""
        onnx, version = self._onnx, self._opset[""]
        try:
            schema = onnx.defs.get_schema(node.op_type, version, "")
            own = {name: types[name] for name in node.input if name}
            data = {name: onnx.numpy_helper.from_array(known[name]) for name in own if name in known}
            opset = [onnx.helper.make_opsetid("", version)]
            return dict(onnx.shape_inference.infer_node_outputs(schema, node, own, data, opset_imports=opset))
        except Exception as error:  # a KeyError for a name that nothing gives, and onnx's own classes
            raise damaged(self._path, error) from None

    def _cost_of(self, node: Any, types: dict[str, Any]) -> Cost:
        given = [self._shape(node, name, types) for name in node.input if name]
        cost = Cost(0, sum(map(math.prod, given)))
        for name in filter(None, node.output):
            count = math.prod(self._shape(node, name, types))
            cost = cost.plus(Cost(count * self._dtype(node, name, types).itemsize, count * _steps(node, given)))
        return cost

    def _shape(self, node: Any, name: str, types: dict[str, Any]) -> tuple[int, ...]:
        kind = types[name].tensor_type if name in types else None
        if kind is None or not kind.HasField("shape") or not all(d.HasField("dim_value") for d in kind.shape.dim):
            raise InputError(f"{self._path}: the size of {name!r} at {node.op_type} cannot be told before it is run")
        shape = tuple(d.dim_value for d in kind.shape.dim)
        if not all(
            0 <= size <= MOST_BYTES for size in shape
        ):  # of an empty array, too: what follows from it may overflow
            raise InputError(f"{self._path}: {name!r} at {node.op_type} has the impossible shape {list(shape)}")
        return shape

    def _dtype(self, node: Any, name: str, types: dict[str, Any]) -> np.dtype:
        dtype = self._onnx.helper.tensor_dtype_to_np_dtype(types[name].tensor_type.elem_type)
        if dtype.kind in "OSU":
            raise InputError(f"{self._path}: {node.op_type} has texts, no numbers")
        return dtype

    def _check_division(self, node: Any, types: dict[str, Any], known: dict[str, np.ndarray]) -> None:
        """The processor stops a program that divides the smallest whole number by -1, and onnxruntime lets it."""
        if node.op_type in ("Div", "Mod") and self._dtype(node, node.input[0], types).kind == "i":
            divisor = known.get(node.input[1])
            if divisor is None or (divisor < 1).any():
                raise InputError(
                    f"{self._path}: {node.op_type} of whole numbers is run for known divisors from 1 upwards only"
                )

    def _calculate(self, node: Any, types: dict[str, Any], known: dict[str, np.ndarray]) -> None:
        """Adds the output to what is known, where it follows from that."""
        arrays = {name: known.get(name) for name in node.input if name}
        if node.op_type in ("Shape", "Size"):  # of anything: only its shape counts
            arrays = {name: np.broadcast_to(np.int8(0), self._shape(node, name, types)) for name in arrays}
        if node.op_type not in CALCULATED or any(array is None for array in arrays.values()):
            return
        if math.prod(self._shape(node, node.output[0], types)) > MOST_KNOWN:
            return
        try:
            array = self._evaluated(node, arrays)
        except Exception as error:  # whatever numbers that do not fit raise
            raise damaged(self._path, error) from None
        if _is_known(array):
            known[node.output[0]] = array

    def _evaluated(self, node: Any, arrays: dict[str, Any]) -> np.ndarray:
        reference = importlib.import_module("onnx.reference")
        (array,) = reference.ReferenceEvaluator(node, opsets=self._opset).run(None, arrays)
        return np.asarray(array)


def inputs_of_graph(graph: Any) -> list[Any]:
    """ValueInfoProto of every input that is no constant."""
    constant = {tensor.name for tensor in graph.initializer}
    return [given for given in graph.input if given.name not in constant]


def _is_known(array: np.ndarray) -> bool:
    return array.size <= MOST_KNOWN and array.dtype.kind in "iub"


def _steps(node: Any, given: list[tuple[int, ...]]) -> int:
    """Steps for one number of the output, at most."""
    if node.op_type in ("MatMul", "Gemm"):
        turned = any(part.name == "transA" and part.i for part in node.attribute)
        return given[0][0 if turned else -1] if given[0] else 1
    if node.op_type == "Conv":
        return math.prod(given[1][1:])
    window = [math.prod(part.ints) for part in node.attribute if part.name == "kernel_shape"]
    return min([math.prod(given[0]), *window]) if window else 1


def _load_onnx(path: str | Path) -> Any:
    """The package onnx; InputError, with how to install it, where it is missing."""
    try:
        for part in ("defs", "shape_inference", "numpy_helper"):
            importlib.import_module(f"onnx.{part}")
        return importlib.import_module("onnx")
    except ImportError:
        raise InputError(
            f"{path} is an ONNX file: to check and run it needs the packages onnx and onnxruntime: {INSTALL}"
        ) from None


def damaged(path: str | Path, error: Exception) -> InputError:
    return InputError(f"{path} is no ONNX file that can be run, or a damaged one: {first_line(error)}")


def first_line(error: Exception) -> str:
    """The beginning of a library's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
