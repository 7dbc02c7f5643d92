"""Evaluators in ONNX files, run by onnxruntime (extra `onnx`): files that `learn.export` wrote, or any network with the same few metadata keys.

The graph takes one input for n states: features float32 [n, F] of one of the game's feature sets, or entries int32/int64 [n, P] of an n-tuple network
(`search/inputs.py`). Its outputs are found by name:

    value     [n] or [n, 1]   for the side to move, in outcome units
    chances   [n, K]          of each outcome class; the key `deltaw.classes` lists what each column is worth

One of the two is enough, and an only output may have any name. Metadata keys: `deltaw.game`, `deltaw.features`, for n-tuples `deltaw.spec`, for chances
`deltaw.classes`. docs/export.md has them all.

onnxruntime takes batches: such an evaluator plays at 1 and 2 plies (`search/batched.py`), and the compiled searches refuse it.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envs.errors import InputError
from envs.game import FeatureSet, Game
from envs.kernel import kernel
from search.inputs import inputs_of, width_of

SUFFIX = ".onnx"
PREFIX = "deltaw."
"""of metadata keys"""
BATCH = 4096
"""states in one call of onnxruntime"""
INSTALL = 'pip install "deltaw[onnx]"'
QUIET = 4
"""onnxruntime's log: fatal errors only; the others come as exceptions"""
INPUT_TYPES = {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(int64)": np.int64}


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

    def __init__(self, game: Game, encoder: Encoder, name: str, session: Any, interface: Interface) -> None:
        self.game, self.encoder, self.name = game, encoder, name
        self._session, self._interface = session, interface
        self._order = np.argsort(interface.classes)

    @property
    def gives_chances(self) -> bool:
        return self._interface.chances is not None

    def values(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value float64 [n] and outputs float32 [n, K] of states `rows` [n, W], each for its mover: chances of the outcome classes in
        ascending order, or the value [n, 1]. Exact where the game is over. Raises InputError for a graph that fails, or answers NaN."""
        classes = np.sort(self._interface.classes) if self.gives_chances else np.zeros(1)
        values, outputs = np.empty(len(rows)), np.empty((len(rows), len(classes)), np.float32)
        for first in range(0, len(rows), BATCH):
            part = slice(first, first + BATCH)
            values[part], outputs[part] = self._run(self.encoder.encode(rows[part]))
        settle_finished(self.game.rules, np.ascontiguousarray(rows), self.gives_chances, classes, values, outputs)
        if not np.isfinite(values).all():
            raise InputError(f"{self.name} answers NaN or infinity")
        return values, outputs

    def _run(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        graph, n = self._interface, len(inputs)
        wanted = [name for name in (graph.value, graph.chances) if name is not None]
        try:
            found = self._session.run(wanted, {graph.input: inputs.astype(graph.kind, copy=False)})
        except Exception as error:  # onnxruntime's own classes, which its versions move about
            raise InputError(f"{self.name} does not evaluate {n} states at once: {_first_line(error)}") from None
        for name, output in zip(wanted, found, strict=True):
            fitting = [(n, len(graph.classes))] if name == graph.chances else [(n,), (n, 1)]
            if np.shape(output) not in fitting:
                raise InputError(
                    f"{self.name}: the output {name} of {n} states should be {fitting[0]}, not {np.shape(output)}"
                )
        named = dict(zip(wanted, found, strict=True))
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
    """Read and check an ONNX evaluator; `game`: the one it must be for; `encoder`: what makes its inputs, where they are no feature set of
    the game. Raises InputError. The graph is run once, on the first position; weights that it keeps in other files are not read."""
    from envs import games

    session = _session(Path(path))
    metadata = {
        key.removeprefix(PREFIX): text
        for key, text in session.get_modelmeta().custom_metadata_map.items()
        if key.startswith(PREFIX)
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
    interface = _interface(path, game, encoder, metadata, session)
    evaluator = OnnxEvaluator(game, encoder, Path(path).name, session, interface)
    evaluator.values(np.array([game.row(game.rules.initial())] * 2))
    return evaluator


def _session(path: Path) -> Any:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no evaluator file {path}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    try:
        import onnxruntime
    except ImportError:
        raise InputError(f"{path} is an ONNX file: to run it needs the package onnxruntime: {INSTALL}") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # players share out their batches themselves
    options.log_severity_level = QUIET
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own classes, which its versions move about
        raise InputError(f"{path} is no ONNX file that can be run, or a damaged one: {_first_line(error)}") from None


def _features(path: str | Path, game: Game, metadata: dict[str, str]) -> FeatureSet:
    name = metadata["features"]
    try:
        if "spec" not in metadata:
            return game.features(name)
        return game.described(name, _whole_numbers(path, "spec", metadata["spec"]))
    except InputError as error:
        raise InputError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None


def _interface(path: str | Path, game: Game, encoder: Encoder, metadata: dict[str, str], session: Any) -> Interface:
    inputs, outputs = session.get_inputs(), [output.name for output in session.get_outputs()]
    wanted = f"one input [batch, {encoder.width}]"
    if len(inputs) != 1 or inputs[0].type not in INPUT_TYPES:
        shown = ", ".join(f"{x.name} {x.type}" for x in inputs)
        raise InputError(f"{path} should have {wanted} of float32, for n-tuples of int32 or int64; it has {shown}")
    shape = inputs[0].shape
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
            f"{path} has the outputs {', '.join(outputs)}: one must be called value, or chances with {PREFIX}classes in the metadata"
        )
    return Interface(inputs[0].name, INPUT_TYPES[inputs[0].type], value, chances, np.array(classes, np.float64))


def _whole_numbers(path: str | Path, key: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, json.loads(text)))
    except (ValueError, TypeError, RecursionError):
        raise InputError(
            f"{path}: {PREFIX}{key} is {text[:60]!r}, not a list of whole numbers such as [1, 2]"
        ) from None


def _first_line(error: Exception) -> str:
    """The beginning of an onnxruntime message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
