"""The pupils of learners that search: the evaluator in the form that searches take, which sees every move of the
weights.

Letters: F features, N positions of an update, W integers a state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from deltaw.envs.errors import InputError
from deltaw.learn.selfplay.lockstep import dense
from deltaw.learn.weights.networks import network_of
from deltaw.learn.weights.pupil import LinearPupil, NetworkPupil
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.tree.deep import deep


class SearchedLinear(LinearPupil):
    """Compiled kernels move the weights that the search reads."""

    def __init__(self, start: Evaluator, learner: str, step_rule: str, average: float) -> None:
        super().__init__(start, learner, step_rule, average)
        view = deep(start.game, start)
        self.leaf = view.leaf._replace(weights=view.leaf.weights._replace(weight=self.weight))  # type: ignore[call-arg]
        self.work = view.work

    @property
    def max_active(self) -> int:
        """Room that lists of active features need."""
        return len(self.work.active)


class SearchedNetwork(NetworkPupil):
    """A network with one output; an update writes the weights to where the search reads them."""

    def __init__(self, start: Evaluator, optimizer: str, average: float) -> None:
        super().__init__(network_of(start), optimizer, average)
        view = deep(start.game, self.network.evaluator())
        self.leaf, self.work = view.leaf, view.work

    @property
    def max_active(self) -> int:
        """Room that lists of active features need."""
        return self.network.features.max_active

    def learn(self, rows: np.ndarray, bounds: np.ndarray, rate: float, batch: int, seed: int) -> int:
        """Draws the values of positions rows [N, W] into bounds [N, 2], in minibatches of random order; returns how
        many were outside.

        The loss of a minibatch is the mean of half the squared distance, whose gradient is - error grad H.
        """
        order, outside = np.random.default_rng(seed).permutation(len(rows)), 0
        for begin in range(0, len(order), batch):
            chosen = order[begin : begin + batch]
            errors = self._errors(rows[chosen], bounds[chosen])
            self.descend(0.5 * errors.square().mean(), rate)
            outside += int(torch.count_nonzero(errors))
        self.network.write_weights(self.leaf.weights)
        return outside

    def _errors(self, rows: np.ndarray, bounds: np.ndarray) -> Tensor:
        values = self.network.values(torch.from_numpy(dense(self.network.game, self.network.features, rows)))
        lower, upper = torch.from_numpy(bounds).to(values.dtype).unbind(1)
        return torch.relu(lower - values) - torch.relu(values - upper)

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.network.write_weights(self.leaf.weights)


Pupil = SearchedLinear | SearchedNetwork


def make_pupil(start: Evaluator, learner: str, options: Any) -> Pupil:
    """The evaluator `start`, ready to be trained. Raises InputError for one that gives chances instead of one value."""
    if start.gives_chances:
        raise InputError(
            f"learner {learner} trains one value, not chances: evaluator.head must be tanh or identity, not classes"
        )
    if start.description.kind == "mlp":
        return SearchedNetwork(start, options.optimizer, options.average)
    return SearchedLinear(start, learner, options.step_rule, options.average)
