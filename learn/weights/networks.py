"""Evaluators as torch modules, and the two-way bridge to the compiled form.

A network is `Linear -> activation -> ... -> Linear`; a linear evaluator is its last layer alone. The heads:

    classes   softmax over the game's outcome classes; value = expected outcome
    tanh      value = (largest outcome) x tanh(output)
    identity  value = output
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deltaw.envs.errors import InputError
from deltaw.envs.game import FeatureSet, Game
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator
from deltaw.search.evaluators.leaf import Weights

ACTIVATIONS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh}
HEADS = ("classes", "tanh", "identity")


class Network(nn.Module):
    """An evaluator to be trained. Input: dense features [N, F]; output of `forward`: raw logits [N, K]."""

    outcomes: Tensor

    def __init__(
        self, game: Game, features: FeatureSet, hidden: list[int], head: str, activation: str = "relu"
    ) -> None:
        super().__init__()
        if head not in HEADS or activation not in ACTIVATIONS:
            raise InputError(
                f"no head {head!r} with activation {activation!r}; heads: {', '.join(HEADS)}; "
                f"activations: {', '.join(ACTIVATIONS)}"
            )
        outcomes = game.rules.outcomes
        sizes = [features.num_features, *hidden, len(outcomes) if head == "classes" else 1]
        self.head, self.activation, self.features, self.game = head, activation, features, game
        self.stack = nn.ModuleList(nn.Linear(i, o) for i, o in pairwise(sizes))
        self.act = ACTIVATIONS[activation]()
        self.register_buffer("outcomes", torch.tensor(outcomes, dtype=torch.float32))
        self.scale = float(max(outcomes))

    @property
    def layers(self) -> list[nn.Linear]:
        return [layer for layer in self.stack if isinstance(layer, nn.Linear)]

    def initialize(self, seed: int) -> None:
        """Small random weights from `seed`; the last layer starts at zero, so that every game starts as an even one."""
        generator = torch.Generator().manual_seed(seed)
        for layer in self.layers[:-1]:
            # About a tenth to a fifth of the inputs is active at a time; He's variance counts those only.
            spread = math.sqrt(2.0 / max(1.0, layer.in_features / 6.0))
            with torch.no_grad():
                layer.weight.copy_(torch.randn(layer.weight.shape, generator=generator) * spread * 0.5)
                layer.bias.zero_()
        with torch.no_grad():
            last = self.layers[-1]
            last.weight.copy_(torch.randn(last.weight.shape, generator=generator) * 0.1 / math.sqrt(last.in_features))
            last.bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        *hidden, last = self.layers
        for layer in hidden:
            x = self.act(layer(x))
        return last(x)

    def outputs(self, x: Tensor) -> Tensor:
        """What the compiled evaluator calls outputs: chances [N, classes], or values [N, 1]."""
        logits = self.forward(x)
        if self.head == "classes":
            return torch.softmax(logits, dim=-1)
        return self.scale * torch.tanh(logits) if self.head == "tanh" else logits

    def values(self, x: Tensor) -> Tensor:
        """Values [N] for the mover, in outcome units."""
        outputs = self.outputs(x)
        return outputs @ self.outcomes if self.head == "classes" else outputs[:, 0]

    def tensors(self, parameters: Mapping[str, Tensor] | None = None) -> dict[str, np.ndarray]:
        """Weights as the evaluator file names them: weight0 [in, out], bias0 [out], ...; `parameters`: others than the
        module's own, by the names that it gives them."""
        parameters = parameters or dict(self.named_parameters())
        named: dict[str, np.ndarray] = {}
        for k in range(len(self.stack)):
            named[f"weight{k}"] = parameters[f"stack.{k}.weight"].detach().cpu().float().numpy().T.copy()
            named[f"bias{k}"] = parameters[f"stack.{k}.bias"].detach().cpu().float().numpy().copy()
        return named

    def evaluator(
        self, trained: dict[str, Any] | None = None, parameters: Mapping[str, Tensor] | None = None
    ) -> Evaluator:
        """This network as an evaluator; `parameters` as in `tensors`."""
        return make_evaluator(
            self.game,
            self.tensors(parameters),
            features=self.features,
            head=self.head,
            activation=self.activation,
            trained=trained,
        )

    def write_weights(self, weights: Weights) -> None:
        """Copy the current weights into compiled arrays of the same shapes, in place."""
        tensors = self.tensors()
        weights.first[..., :-1, :] = tensors["weight0"]
        weights.first[..., -1, :] = tensors["bias0"]
        dense = [np.vstack([tensors[f"weight{k}"], tensors[f"bias{k}"]]).T.ravel() for k in range(1, len(self.layers))]
        if dense:
            weights.dense[...] = np.concatenate(dense)


def check_device(device: str) -> None:
    """Raise InputError where torch cannot compute on `device`."""
    try:
        torch.zeros(1, device=device).tolist()  # the device "meta" has shapes and no numbers
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"learner.device={device}: {str(error).splitlines()[0]}; use cpu") from None


def not_for_tuples(evaluator: Evaluator, learner: str) -> None:
    """Raise InputError for an n-tuple network: its millions of inputs are looked up, never written out."""
    if evaluator.description.kind == "ntuple":
        raise InputError(f"learner {learner} trains evaluators over feature sets, not n-tuples; try learner=td_linear")


def network_of(evaluator: Evaluator) -> Network:
    """The torch module of an evaluator, to train it. Raises InputError for n-tuples."""
    not_for_tuples(evaluator, "of torch modules")
    description = evaluator.description
    network = Network(
        evaluator.game, evaluator.features, list(description.sizes[1:-1]), description.head, description.activation
    )
    with torch.no_grad():
        for k, layer in enumerate(network.layers):
            layer.weight.copy_(torch.from_numpy(evaluator.tensors[f"weight{k}"].T.copy()))
            layer.bias.copy_(torch.from_numpy(evaluator.tensors[f"bias{k}"].copy()))
    return network
