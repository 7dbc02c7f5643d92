"""Contract two: an evaluator is one file of weights plus a kernel.

The file is safetensors: no code can hide in it. One metadata key, `deltaw`, holds sorted JSON (`Description`); the
tensors are `weight0` [in, out], `bias0` [out], `weight1` ... in float32. A reader needs numpy and this page:

    n = int.from_bytes(data[:8], "little"); header = json.loads(data[8 : 8 + n])
    description = json.loads(header["__metadata__"]["deltaw"])
    def tensor(name):
        entry = header[name]
        return np.frombuffer(data[8 + n :][slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
    x = features of the position [F];  for k < layers - 1: x = activation(x @ weight_k + bias_k)
    outputs = x @ weight + bias of the last layer;  head "classes": softmax, value = chances . outcomes;
    head "tanh": value = scale tanh(output)

Values are in outcome units for the side to move; a head over classes flips to the other side by reversal.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import operator
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save as to_bytes

from deltaw.envs.errors import InputError
from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.tuples import NAME as TUPLES_NAME
from deltaw.search.evaluators.leaf import (
    CLASSES,
    IDENTITY,
    RELU,
    SIGMOID,
    TANH,
    Leaf,
    Weights,
    evaluate_linear,
    evaluate_network,
    forget,
)
from deltaw.search.evaluators.ntuple import evaluate_tuples, expect_children
from deltaw.search.evaluators.tensor_file import KEY, read_file
from deltaw.search.evaluators.work import make_work

VERSION = 1
ACTIVATIONS = {"relu": RELU, "sigmoid": SIGMOID, "tanh": TANH}
MOST_INPUT = 1000.0
"""features are far smaller"""
MOST_SUM = 1e37
"""float32 ends at 3e38; behind it are infinity and NaN, which no search can order"""
HEADS = {"classes": CLASSES, "tanh": TANH, "identity": IDENTITY}


@dataclass(frozen=True)
class Description:
    """The metadata of an evaluator file."""

    game: str
    features: str
    """name of the feature set"""
    spec: tuple[int, ...]
    sizes: tuple[int, ...]
    """inputs, hidden layers, outputs; a linear evaluator has no hidden layer"""
    head: str
    """classes, tanh or identity"""
    activation: str = "relu"
    outcomes: tuple[int, ...] = ()
    version: int = VERSION
    trained: dict[str, Any] = field(default_factory=dict)
    """how: method, games, seed, command ..."""

    @property
    def kind(self) -> str:
        """mlp, linear, or ntuple: linear over tables"""
        if len(self.sizes) > 2:
            return "mlp"
        return "ntuple" if self.features == TUPLES_NAME else "linear"


class Opinion(NamedTuple):
    """What an evaluator thinks of one state, for the side to move."""

    value: float
    chances: tuple[float, ...] | None
    """of each outcome class; None from a scalar head"""


@dataclass(frozen=True)
class Evaluator:
    """A learned evaluator: its description, its tensors, and the kernels' view of them."""

    game: Game
    description: Description
    tensors: dict[str, np.ndarray]

    @functools.cached_property
    def leaf(self) -> Leaf:
        weights = _weights(self.game, self.description, self.tensors)
        if self.description.kind == "ntuple":
            return Leaf(evaluate_tuples, weights, expect_children)
        linear = self.description.kind == "linear" and not self.gives_chances
        return Leaf(evaluate_linear if linear else evaluate_network, weights)

    @functools.cached_property
    def features(self) -> FeatureSet:
        return self.game.described(self.description.features, self.description.spec)

    @property
    def gives_chances(self) -> bool:
        return self.description.head == "classes"

    def values(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value [n] and outputs [n, K] of states `rows` [n, W], each for its mover."""
        values = np.empty(len(rows))
        outputs = np.empty((len(rows), len(self.leaf.weights.outcomes)), np.float32)
        evaluate_rows(
            self.game.rules, self.leaf, np.ascontiguousarray(rows), make_work(self.leaf, self.game), values, outputs
        )
        return values, outputs

    def opinion(self, state: Any) -> Opinion:
        values, outputs = self.values(self.game.row(state)[None])
        chances = tuple(float(p) for p in outputs[0]) if self.gives_chances else None
        return Opinion(float(values[0]), chances)


@kernel
def evaluate_rows(rules, leaf, rows, work, values, outputs):
    """Evaluate unrelated states one by one."""
    for i in range(len(rows)):
        forget(work)
        values[i] = leaf.evaluate(rules, leaf.weights, rules.load(rows[i]), work)
        outputs[i] = work.chances


def make_evaluator(
    game: Game,
    tensors: dict[str, np.ndarray],
    *,
    features: FeatureSet,
    head: str,
    activation: str = "relu",
    trained: dict[str, Any] | None = None,
) -> Evaluator:
    """An evaluator from its tensors (`weight0` [in, out], `bias0` [out], ...)."""
    layers = len(tensors) // 2
    sizes = (features.num_features, *(int(tensors[f"bias{k}"].shape[0]) for k in range(layers)))
    description = Description(
        game.name, features.name, features.spec, sizes, head, activation, game.rules.outcomes, VERSION, trained or {}
    )
    evaluator = Evaluator(game, description, {name: np.asarray(t, np.float32) for name, t in tensors.items()})
    _check_tensors("the evaluator", evaluator)
    return evaluator


def remade(evaluator: Evaluator, tensors: dict[str, np.ndarray], trained: dict[str, Any]) -> Evaluator:
    """An evaluator of the same kind, features and sizes with other weights. Raises InputError for numbers that are not
    finite."""
    description = dataclasses.replace(evaluator.description, trained=trained)
    other = Evaluator(evaluator.game, description, {name: np.asarray(t, np.float32) for name, t in tensors.items()})
    _check_tensors("the evaluator", other)
    return other


def _weights(game: Game, description: Description, tensors: dict[str, np.ndarray]) -> Weights:
    layers = len(description.sizes) - 1
    first = np.vstack([tensors["weight0"], tensors["bias0"][None]])
    dense = [np.vstack([tensors[f"weight{k}"], tensors[f"bias{k}"][None]]).T.ravel() for k in range(1, layers)]
    classes = description.head == "classes"
    return Weights(
        first=np.ascontiguousarray(first, np.float32),
        dense=np.concatenate([np.zeros(0, np.float32), *dense]).astype(np.float32),
        sizes=np.array(description.sizes[1:], np.int64),
        activation=ACTIVATIONS[description.activation],
        head=HEADS[description.head],
        scale=float(max(game.rules.outcomes)),
        outcomes=np.array(description.outcomes if classes else (0,), np.float32),
        spec=np.array(description.spec, np.int64),
    )


def tensors_of(weights: Any) -> dict[str, np.ndarray]:
    """The tensors of a file from the arrays of compiled weights: the inverse of `_weights`."""
    tensors = {"weight0": weights.first[:-1].copy(), "bias0": weights.first[-1].copy()}
    begin, inputs = 0, int(weights.sizes[0])
    for k, outputs in enumerate(int(n) for n in weights.sizes[1:]):
        matrix = weights.dense[begin : begin + outputs * (inputs + 1)].reshape(outputs, inputs + 1)
        tensors |= {f"weight{k + 1}": matrix[:, :-1].T.copy(), f"bias{k + 1}": matrix[:, -1].copy()}
        begin, inputs = begin + matrix.size, outputs
    return tensors


# --- the file -----------------------------------------------------------------------------------------------------


def save_evaluator(evaluator: Evaluator, path: str | Path) -> None:
    """Write the file whole or not at all; the same evaluator gives the same bytes."""
    text = json.dumps(dataclasses.asdict(evaluator.description), sort_keys=True)
    tensors = {name: np.ascontiguousarray(t, np.float32) for name, t in sorted(evaluator.tensors.items())}
    write_whole(path, to_bytes(tensors, metadata={KEY: text}))


def write_whole(path: str | Path, data: bytes) -> None:
    """Replace the file at `path` by `data` at once: a reader, or a crash, sees the old file or the new one."""
    path = Path(path)
    if not path.name:
        raise InputError(f"cannot write {path}: name a file")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def remove_drafts(folder: Path) -> None:
    """Delete what `write_whole` left half-written when its process was killed. Only where nobody is writing now."""
    for path in folder.glob(".*"):
        if re.fullmatch(r"\..+\.\d+", path.name):
            with contextlib.suppress(OSError):
                path.unlink()


def load_evaluator(path: str | Path, game: Game | None = None) -> Evaluator:
    """Read and check an evaluator file; `game`: the one it must be for. Raises InputError."""
    from deltaw.envs import games

    description, tensors = read_file(path, "evaluator file", VERSION, _description)
    if game is not None and description.game != game.name:
        raise InputError(f"{path} evaluates {description.game}, not {game.name}")
    evaluator = Evaluator(game or games.load(description.game), description, tensors)
    _check_features(path, evaluator)
    _check_tensors(path, evaluator)
    return evaluator


def _description(fields: dict[str, Any]) -> Description:
    """The metadata of the file; every field has the type it should have."""
    whole = {name: tuple(map(operator.index, fields[name])) for name in ("spec", "sizes", "outcomes")}
    texts = {name: "" + fields[name] for name in ("game", "features", "head", "activation")}
    if not isinstance(fields.get("trained", {}), dict):
        raise TypeError(f"trained must be an object, not {fields['trained']!r}")
    return Description(**(fields | whole | texts))


def _check_features(path: str | Path, evaluator: Evaluator) -> None:
    game, description = evaluator.game, evaluator.description
    try:
        features = evaluator.features
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if description.sizes[:1] != (features.num_features,):
        raise InputError(
            f"{path} has the sizes {description.sizes}; "
            f"its feature set {features.name!r} has {features.num_features} features"
        )
    if features.name == TUPLES_NAME and (description.kind != "ntuple" or description.head == "classes"):
        raise InputError(
            f"{path}: n-tuples make one sum with head tanh or identity, "
            f"not {description.sizes} with head {description.head!r}"
        )
    if description.outcomes != game.rules.outcomes:
        raise InputError(f"{path} knows the outcomes {description.outcomes}; {game.name} has {game.rules.outcomes}")


def _check_tensors(path: str | Path, evaluator: Evaluator) -> None:
    description, tensors = evaluator.description, evaluator.tensors
    if description.head not in HEADS or description.activation not in ACTIVATIONS:
        raise InputError(
            f"{path} has head {description.head!r} and activation {description.activation!r}, unknown here"
        )
    if len(description.sizes) < 2 or min(description.sizes) < 1:
        raise InputError(
            f"{path} has the sizes {description.sizes}; inputs, hidden layers and outputs are at least 1 each"
        )
    wanted: dict[str, tuple[int, ...]] = {}
    for k, (inputs, outputs) in enumerate(zip(description.sizes, description.sizes[1:], strict=False)):
        wanted |= {f"weight{k}": (inputs, outputs), f"bias{k}": (outputs,)}
    shapes = {name: tuple(t.shape) for name, t in tensors.items()}
    if shapes != wanted:
        raise InputError(f"{path} should hold {wanted}, but holds {shapes}")
    others = {name: t.dtype.name for name, t in tensors.items() if t.dtype != np.float32}
    if others:
        raise InputError(f"{path} holds {others}; weights are float32")
    outputs = len(description.outcomes) if description.head == "classes" else 1
    if description.sizes[-1] != outputs:
        raise InputError(f"{path} has {description.sizes[-1]} outputs; its head {description.head!r} needs {outputs}")
    broken = [name for name, t in tensors.items() if not np.isfinite(t).all()]
    if broken:
        raise InputError(f"{path} holds NaN or infinite weights in {', '.join(sorted(broken))}")
    most = MOST_INPUT
    for k in range(len(description.sizes) - 1):
        sums = np.abs(tensors[f"weight{k}"]).sum(axis=0, dtype=np.float64) * most + np.abs(tensors[f"bias{k}"])
        if sums.max() > MOST_SUM:
            raise InputError(
                f"{path} holds weights with which sums can reach {sums.max():.0e} in layer {k}; "
                f"at most {MOST_SUM:.0e} is safe"
            )
        most = sums.max() if description.activation == "relu" else 1.0
