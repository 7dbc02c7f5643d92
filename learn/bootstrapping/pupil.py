"""What a search-bootstrapped learner trains: the evaluator in the form that searches take, whose weights it moves in
place.

    LinearPupil    one vector of weights, an n-tuple network's too; compiled kernels move it, by a step rule
    NetworkPupil   a torch module and its optimizer; an update writes the weights to where the search reads them

Letters: F features, N positions of an update, W integers a state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from deltaw.envs.errors import InputError
from deltaw.learn.selfplay.lockstep import dense_features
from deltaw.learn.steps.step_rules import make_rule
from deltaw.learn.weights.average import Average
from deltaw.learn.weights.linear import linear_weights, with_weights
from deltaw.learn.weights.networks import network_of
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.tree.deep import deep


class LinearPupil:
    """A linear evaluator or n-tuple network."""

    def __init__(self, start: Evaluator, learner: str, step_rule: str, average: float) -> None:
        self.start = start
        self.weight = linear_weights(start, learner)
        self.rule = make_rule(step_rule, len(self.weight))
        view = deep(start.game, start)
        self.leaf = view.leaf._replace(weights=view.leaf.weights._replace(weight=self.weight))  # type: ignore[call-arg]
        self.work = view.work
        self.average = Average(self.weight, average)

    @property
    def max_active(self) -> int:
        """Room that lists of active features need."""
        return len(self.work.active)

    def follow(self) -> None:
        """The average follows the weights."""
        self.average.update()

    def evaluator(self, trained: dict[str, Any]) -> Evaluator:
        """The average where one is kept, else the weights."""
        return with_weights(self.start, self.average.weight, trained)

    def finite(self) -> bool:
        return bool(np.isfinite(self.weight).all())

    def state(self) -> dict[str, Any]:
        arrays = {"weight": self.weight, "memory": self.rule.memory, **self.average.arrays()}
        kept: dict[str, Any] = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        return kept | {"updates": self.average.updates}

    def restore(self, state: dict[str, Any]) -> None:
        self.weight[:], self.rule.memory[:] = state["weight"].numpy(), state["memory"].numpy()
        self.average.updates = state["updates"]
        self.average.restore({name: state[name].numpy() for name in self.average.arrays()})


class NetworkPupil:
    """A network with one output."""

    def __init__(self, start: Evaluator, optimizer: str, rate: float, average: float) -> None:
        self.game, self.decay, self.updates = start.game, average, 0
        self.network = network_of(start)
        view = deep(start.game, self.network.evaluator())
        self.leaf, self.work = view.leaf, view.work
        self.optimizer = _optimizer(optimizer, list(self.network.parameters()), rate)
        self.averaged = {name: p.detach().clone() for name, p in self.network.named_parameters()} if average else {}
        features = self.network.features
        self._spec = np.array(features.spec, np.int64)
        self._lists = np.empty(features.max_active, np.int32), np.empty(features.max_active, np.float32)

    @property
    def max_active(self) -> int:
        """Room that lists of active features need."""
        return self.network.features.max_active

    def learn(self, rows: np.ndarray, bounds: np.ndarray, rate: float, batch: int, seed: int) -> int:
        """Draws the values of positions rows [N, W] into bounds [N, 2], in minibatches of random order; returns how
        many were outside.

        The loss of a minibatch is the mean of half the squared distance, whose gradient is - error grad H.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        order, outside = np.random.default_rng(seed).permutation(len(rows)), 0
        for begin in range(0, len(order), batch):
            chosen = order[begin : begin + batch]
            errors = self._errors(rows[chosen], bounds[chosen])
            self.optimizer.zero_grad(set_to_none=True)
            (0.5 * errors.square().mean()).backward()
            self.optimizer.step()
            outside += int(torch.count_nonzero(errors))
        self.network.write_weights(self.leaf.weights)
        return outside

    def _errors(self, rows: np.ndarray, bounds: np.ndarray) -> Tensor:
        dense = np.empty((len(rows), self.network.features.num_features), np.float32)
        dense_features(self.game.rules, self._spec, np.ascontiguousarray(rows), *self._lists, dense)
        values = self.network.values(torch.from_numpy(dense))
        lower, upper = torch.from_numpy(bounds).to(values.dtype).unbind(1)
        return torch.relu(lower - values) - torch.relu(values - upper)

    def follow(self) -> None:
        """The average follows the weights; while it is young it is a mean."""
        self.updates += 1
        decay = min(self.decay, self.updates / (self.updates + 10.0))
        with torch.no_grad():
            for name, average in self.averaged.items():
                average.lerp_(self.network.get_parameter(name), 1.0 - decay)

    def evaluator(self, trained: dict[str, Any]) -> Evaluator:
        """The average where one is kept, else the weights."""
        if not self.averaged:
            return self.network.evaluator(trained)
        current = {name: p.detach().clone() for name, p in self.network.named_parameters()}
        self._load(self.averaged)
        evaluator = self.network.evaluator(trained)
        self._load(current)
        return evaluator

    def _load(self, values: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                parameter.copy_(values[name])

    def finite(self) -> bool:
        return all(bool(torch.isfinite(p).all()) for p in self.network.parameters())

    def state(self) -> dict[str, Any]:
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "averaged": self.averaged,
            "updates": self.updates,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.averaged, self.updates = state["averaged"], state["updates"]
        self.network.write_weights(self.leaf.weights)


Pupil = LinearPupil | NetworkPupil


def make_pupil(start: Evaluator, learner: str, options: Any) -> Pupil:
    """The evaluator `start`, ready to be trained. Raises InputError for one that gives chances instead of one value."""
    if start.gives_chances:
        raise InputError(
            f"learner {learner} trains one value, not chances: evaluator.head must be tanh or identity, not classes"
        )
    if start.description.kind == "mlp":
        return NetworkPupil(start, options.optimizer, options.step_size, options.average)
    return LinearPupil(start, learner, options.step_rule, options.average)


def _optimizer(name: str, parameters: list[Tensor], rate: float) -> torch.optim.Optimizer:
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=rate)
    return torch.optim.Adam(parameters, lr=rate, eps=1e-7, fused=True)
