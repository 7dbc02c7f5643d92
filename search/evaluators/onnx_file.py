"""Evaluators in ONNX files, run by onnxruntime (extra `onnx`): files that `deltaw export` wrote, or any network with
the same few metadata keys.

The graph takes one input for n states: features float32 [n, F] of one of the game's feature sets, or entries
int32/int64 [n, P] of an n-tuple network (`search/evaluators/inputs.py`). Its outputs are found by name:

    value     [n] or [n, 1]   for the side to move, in outcome units
    chances   [n, K]          of each outcome class; the key `deltaw.classes` lists what each column is worth

One of the two is enough, and an only output may have any name. Metadata keys: `deltaw.game`, `deltaw.features`, for
n-tuples `deltaw.spec`, for chances `deltaw.classes`. docs/export.md has them all.

onnxruntime takes batches: such an evaluator plays at 1 and 2 plies (`search/players/batched.py`), and the compiled
searches refuse it. What a file may hold is checked before (`search/evaluators/onnx_limits.py`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.texts import read_json
from deltaw.search.evaluators.inputs import inputs_of, width_of
from deltaw.search.evaluators.onnx_limits import (
    INSTALL,
    MOST_BYTES,
    MOST_STEPS,
    Shapes,
    damaged,
    first_line,
    inputs_of_graph,
    read_model,
)

SUFFIX = ".onnx"
PREFIX = "deltaw."
"""of metadata keys"""
BATCH = 4096
"""states in one call of onnxruntime, a power of two; fewer where a graph takes too much for so many"""
QUIET = 4
"""onnxruntime's log: fatal errors only; the others come as exceptions"""
INPUT_TYPES = {1: np.float32, 6: np.int32, 7: np.int64}
"""by their numbers in ONNX"""


class Interface(NamedTuple):
    """Where a graph's numbers go in and come out."""

    input: str
    kind: type
    """dtype of the input"""
    value: str | None
    """name of the output of values; None: they follow from the chances"""
    chances: str | None
    classes: np.ndarray
    """float64 [K]: what the columns of chances are worth, in the graph's order"""


class Encoder(NamedTuple):
    """What makes a graph's inputs."""

    features: str
    """their name in the metadata"""
    width: int
    """inputs of one state"""
    encode: Callable[[np.ndarray], np.ndarray]
    """encode(rows int64 [n, W]) -> inputs [n, width]; those of finished games do not matter"""


class OnnxEvaluator:
    """An evaluator in an ONNX file. `values` may be called from several threads at once."""

    def __init__(
        self, game: Game, encoder: Encoder, name: str, session: Any, interface: Interface, shapes: Shapes, batch: int
    ) -> None:
        """`batch`: the most states of one call, a power of two that the graph's `shapes` bear."""
        self.game, self.encoder, self.name = game, encoder, name
        self._session, self._interface, self._shapes, self._batch = session, interface, shapes, batch
        self._order = np.argsort(interface.classes)
        self._bearable = {batch}

    @property
    def gives_chances(self) -> bool:
        return self._interface.chances is not None

    def values(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value float64 [n] and outputs float32 [n, K] of states `rows` [n, W], each for its mover: chances of the
        outcome classes in ascending order, or the value [n, 1]. Exact where the game is over. Raises InputError for a
        graph that fails, or answers NaN."""
        classes = np.sort(self._interface.classes) if self.gives_chances else np.zeros(1)
        values, outputs = np.empty(len(rows)), np.empty((len(rows), len(classes)), np.float32)
        for first in range(0, len(rows), self._batch):
            part = slice(first, first + self._batch)
            values[part], outputs[part] = self._run(self.encoder.encode(rows[part]))
        settle_finished(self.game.rules, np.ascontiguousarray(rows), self.gives_chances, classes, values, outputs)
        if not (np.isfinite(values).all() and np.isfinite(outputs).all()):
            raise InputError(f"{self.name} answers NaN or infinity")
        return values, outputs

    def _run(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and outputs of at most `batch` states. They are filled up to a power of two, by some of themselves: so
        there are few numbers of states whose costs must be known."""
        graph, states = self._interface, len(inputs)
        n = 1 << (states - 1).bit_length()
        if n not in self._bearable:
            if not self._shapes.cost(n, inputs.shape[1]).bearable:
                raise InputError(f"{self.name} does not evaluate {n} states at once: that takes too much")
            self._bearable.add(n)
        given: np.ndarray = np.resize(inputs, (n, inputs.shape[1])).astype(graph.kind, copy=False)
        wanted = [name for name in (graph.value, graph.chances) if name is not None]
        try:
            found = self._session.run(wanted, {graph.input: given})
        except Exception as error:  # onnxruntime's own classes, which its versions move about
            raise InputError(f"{self.name} does not evaluate {n} states at once: {first_line(error)}") from None
        for name, output in zip(wanted, found, strict=True):
            fitting = [(n, len(graph.classes))] if name == graph.chances else [(n,), (n, 1)]
            if np.shape(output) not in fitting:
                raise InputError(
                    f"{self.name}: the output {name} of {n} states should be {fitting[0]}, not {np.shape(output)}"
                )
        named = {name: output[:states] for name, output in zip(wanted, found, strict=True)}
        chances = None if graph.chances is None else named[graph.chances]
        values = chances @ graph.classes if graph.value is None else named[graph.value].reshape(-1)
        return values, values[:, None] if chances is None else chances[:, self._order]


@kernel
def settle_finished(rules, rows, classes_given, classes, values, outputs):
    """Write the results of finished games into values [n] and outputs [n, K]; `classes` [K] ascending."""
    for i in range(len(rows)):
        over, result = rules.outcome(rules.load(rows[i]))
        if over:
            values[i] = result
            for k in range(len(classes)):
                outputs[i, k] = np.float32(classes[k] == result) if classes_given else np.float32(result)


# --- the file -----------------------------------------------------------------------------------------------------


def load_onnx(path: str | Path, game: Game | None = None, encoder: Encoder | None = None) -> OnnxEvaluator:
    """Read and check an ONNX evaluator; `game`: the one it must be for; `encoder`: what makes its inputs, where they
    are no feature set of the game. Raises InputError. The graph is run once, on the first position; a model that is
    kept in several files is refused."""
    from deltaw.envs import games

    model = read_model(path)
    metadata = {
        entry.key.removeprefix(PREFIX): entry.value for entry in model.metadata_props if entry.key.startswith(PREFIX)
    }
    missing = [PREFIX + key for key in ("game", "features") if key not in metadata]
    if missing:
        raise InputError(f"{path} does not say what it evaluates: its metadata lacks {' and '.join(missing)}")
    if game is not None and metadata["game"] != game.name:
        raise InputError(f"{path} evaluates {metadata['game']}, not {game.name}")
    game = game or games.load(metadata["game"])
    if encoder is None or encoder.features != metadata["features"]:
        features = _features(path, game, metadata)
        encoder = Encoder(features.name, width_of(features), functools.partial(inputs_of, game, features))
    interface = _interface(path, game, encoder, metadata, model.graph)
    shapes = Shapes(path, model)
    batch = most_states(path, shapes, encoder.width)
    session = _session(path, model.SerializeToString())
    evaluator = OnnxEvaluator(game, encoder, Path(path).name, session, interface, shapes, batch)
    evaluator.values(np.array([game.row(game.rules.initial())] * 2))
    return evaluator


def most_states(path: str | Path, shapes: Shapes, width: int) -> int:
    """The most states that are evaluated in one call."""
    batch = BATCH
    while not shapes.cost(batch, width).bearable:
        if batch == 1:
            raise InputError(
                f"{path} takes more than {MOST_BYTES:,} bytes or {MOST_STEPS:,} multiplications for one state"
            )
        batch //= 2
    return batch


def _session(path: str | Path, content: bytes) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise InputError(f"{path} is an ONNX file: to run it needs the package onnxruntime: {INSTALL}") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # players share out their batches themselves
    options.log_severity_level = QUIET
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own classes, which its versions move about
        raise damaged(path, error) from None


def _features(path: str | Path, game: Game, metadata: dict[str, str]) -> FeatureSet:
    name = metadata["features"]
    try:
        if "spec" not in metadata:
            return game.features(name)
        return game.described(name, _whole_numbers(path, "spec", metadata["spec"]))
    except InputError as error:
        raise InputError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None


def _interface(path: str | Path, game: Game, encoder: Encoder, metadata: dict[str, str], graph: Any) -> Interface:
    inputs, outputs = inputs_of_graph(graph), [output.name for output in graph.output]
    kinds = [given.type.tensor_type.elem_type for given in inputs]
    wanted = f"one input [batch, {encoder.width}]"
    if len(inputs) != 1 or kinds[0] not in INPUT_TYPES:
        shown = ", ".join(f"{x.name} of type {kind}" for x, kind in zip(inputs, kinds, strict=True))
        raise InputError(f"{path} should have {wanted} of float32, for n-tuples of int32 or int64; it has {shown}")
    shape = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in inputs[0].type.tensor_type.shape.dim]
    if len(shape) != 2 or (isinstance(shape[1], int) and shape[1] != encoder.width):
        raise InputError(f"{path} should have {wanted} for the feature set {encoder.features!r}; it has {shape}")
    classes = _whole_numbers(path, "classes", metadata["classes"]) if "classes" in metadata else ()
    if classes and sorted(classes) != list(game.rules.outcomes):
        raise InputError(f"{path} knows the outcomes {classes}; {game.name} has {game.rules.outcomes}")
    value = "value" if "value" in outputs else None
    chances = "chances" if "chances" in outputs else None
    if value is None and chances is None and len(outputs) == 1:
        value, chances = (None, outputs[0]) if classes else (outputs[0], None)
    if (value is None and chances is None) or (chances is not None and not classes):
        raise InputError(
            f"{path} has the outputs {', '.join(outputs)}: one must be called value, "
            f"or chances with {PREFIX}classes in the metadata"
        )
    return Interface(inputs[0].name, INPUT_TYPES[kinds[0]], value, chances, np.array(classes, np.float64))


def _whole_numbers(path: str | Path, key: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, read_json(text, MOST_BYTES)))
    except (ValueError, TypeError):
        raise InputError(
            f"{path}: {PREFIX}{key} is {text[:60]!r}, not a list of whole numbers such as [1, 2]"
        ) from None
