"""ONNX files that tests share: those of the shipped evaluators, and a network that somebody else made."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from deltaw.envs import games
from deltaw.learn.exports.onnx_graph import onnx_bytes, target_of
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator
from deltaw.search.evaluators.named import shipped

onnx = pytest.importorskip("onnx")

SHIPPED = {f"{name}_{short}": path for name in games.names() for short, path in shipped(games.load(name)).items()}


@functools.cache
def evaluator(name: str) -> Evaluator:
    return load_evaluator(SHIPPED[name])


@functools.cache
def exported(name: str, head: str | None = None) -> bytes:
    return onnx_bytes(evaluator(name), target_of(evaluator(name).description, head))


def files_in(folder: Path) -> Callable[..., str]:
    """files(name, head=None) -> path of the ONNX file of a shipped evaluator, written on first use."""

    def path(name: str, head: str | None = None) -> str:
        file = folder / f"{name}_{head}.onnx"
        if not file.exists():
            file.write_bytes(exported(name, head))
        return str(file)

    return path


def foreign(
    folder: Path,
    *,
    width: int = 18,
    outputs: tuple[tuple[str, int], ...] = (("output", 1),),
    metadata: dict[str, str] | None = None,
    kind: str = "FLOAT",
    batch: str | int = "n",
    factor: float = 0.1,
    inputs: int = 1,
) -> str:
    """A small network that somebody else made: the outputs are sums of the inputs times 1, 2, 3 ... times `factor`."""
    helper, types = onnx.helper, onnx.TensorProto
    nodes, constants = [], []
    names = [f"in{i}" for i in range(inputs)]
    nodes.append(helper.make_node("Cast", [names[0]], ["x"], to=types.FLOAT))
    for name, columns in outputs:
        weight = factor * np.arange(1, width * columns + 1, dtype=np.float32).reshape(width, columns)
        constants.append(onnx.numpy_helper.from_array(weight, f"w_{name}"))
        nodes.append(helper.make_node("MatMul", ["x", f"w_{name}"], [f"s_{name}"]))
        nodes.append(helper.make_node("Softmax" if columns > 1 else "Tanh", [f"s_{name}"], [name]))
    given = [helper.make_tensor_value_info(name, getattr(types, kind), [batch, width]) for name in names]
    made = [helper.make_tensor_value_info(name, types.FLOAT, [batch, columns]) for name, columns in outputs]
    model = helper.make_model(
        helper.make_graph(nodes, "g", given, made, constants), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    ours = {"deltaw.game": "tic_tac_toe", "deltaw.features": "cells"} if metadata is None else metadata
    helper.set_model_props(model, ours)
    path = folder / "foreign.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)
