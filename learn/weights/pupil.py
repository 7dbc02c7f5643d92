"""What a learner trains: an evaluator with what moves its weights, and the average that follows them.

A `LinearPupil` is one vector of weights, an n-tuple network's too, which compiled kernels move by a step rule; a
`NetworkPupil` is a torch module and its optimizer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deltaw.learn.steps.step_rules import make_rule
from deltaw.learn.weights.average import EVERY, Average
from deltaw.learn.weights.linear import linear_weights, with_weights
from deltaw.learn.weights.networks import Network
from deltaw.search.evaluators.evaluator import Evaluator

OPTIMIZERS = ("adam", "sgd")


class LinearPupil:
    """A linear evaluator or n-tuple network. Raises InputError for others."""

    def __init__(self, start: Evaluator, learner: str, step_rule: str, average: float) -> None:
        self.start = start
        self.weight = linear_weights(start, learner)
        self.rule = make_rule(step_rule, len(self.weight))
        self.average = Average({"average": torch.from_numpy(self.weight)}, average, EVERY)

    def forget(self) -> None:
        """The step rule begins anew with these weights."""
        self.rule.memory[:] = 0

    def evaluator(self, trained: dict[str, Any]) -> Evaluator:
        """The average where one is kept, else the weights."""
        return with_weights(self.start, self.average.weights["average"].numpy(), trained)

    def finite(self) -> bool:
        return bool(np.isfinite(self.weight).all())

    def state(self) -> dict[str, Tensor]:
        """All but the number of updates."""
        arrays = {"weight": self.weight, "memory": self.rule.memory}
        return {name: torch.from_numpy(array) for name, array in arrays.items()} | self.average.state()

    def restore(self, state: dict[str, Tensor]) -> None:
        self.weight[:], self.rule.memory[:] = state["weight"].numpy(), state["memory"].numpy()
        self.average.restore(state)


class NetworkPupil:
    """A torch module."""

    def __init__(self, network: Network, optimizer: str, average: float) -> None:
        self.network = network
        self.optimizer = _optimizer(optimizer, list(network.parameters()))
        self.average = Average(dict(network.named_parameters()), average)

    def descend(self, loss: Tensor, rate: float) -> None:
        """One step of the optimizer."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def gradient_norm(self) -> float:
        """Of the last step."""
        return float(nn.utils.get_total_norm([p.grad for p in self.network.parameters() if p.grad is not None]))

    def forget(self) -> None:
        """The optimizer begins anew with these weights."""
        self.optimizer.state.clear()

    def evaluator(self, trained: dict[str, Any]) -> Evaluator:
        """The average where one is kept, else the weights."""
        return self.network.evaluator(trained, self.average.weights)

    def finite(self) -> bool:
        return all(bool(torch.isfinite(p).all()) for p in self.network.parameters())

    def state(self) -> dict[str, Any]:
        """All but the number of updates."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "averaged": self.average.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.average.restore(state["averaged"])


def _optimizer(name: str, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """The step size is set at every step."""
    if name == "sgd":
        return torch.optim.SGD(parameters)
    return torch.optim.Adam(parameters, eps=1e-7, fused=parameters[0].device.type == "cpu")
