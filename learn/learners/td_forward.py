"""TD(lambda), forward view, for networks: whole games from lock-step self-play, lambda-returns, minibatches.

The loop is that of `learn/selfplay/forward.py`. While the weights stand still its sum is that of the backward view's
updates (`learn/learners/td_backward.py`; Sutton 1988, theorem 1). A head over outcome classes is trained with
cross-entropy against the lambda-return of the whole distribution, which drops the factor p (1 - p) from the gradient; a
scalar head is trained with half the squared error, whose gradient is that sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from deltaw.learn.knobs import OneOf, check
from deltaw.learn.learner import check_game
from deltaw.learn.selfplay.forward import ForwardOptions, ForwardTD
from deltaw.learn.selfplay.lockstep import Batch, dense
from deltaw.learn.weights.networks import Network, check_device, network_of
from deltaw.learn.weights.population import stack
from deltaw.learn.weights.pupil import OPTIMIZERS, NetworkPupil
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator


@dataclass
class Options(ForwardOptions):
    """The knobs of `ForwardOptions` (learn/selfplay/forward.py), and those of torch."""

    optimizer: Annotated[str, OneOf(OPTIMIZERS)] = "adam"
    """adam or sgd"""
    device: str = "cpu"
    """where the update is computed; self-play always runs compiled on the CPU"""


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> ForwardTD:
    """The learner of this module; see learn/run/config.py. Raises InputError."""
    check(options)
    check_game(start.game, "td_forward")
    check_device(options.device)
    updater = NetworkUpdater(network_of(start).to(options.device), options.optimizer, options.average)
    return ForwardTD(start, updater, "td-forward", options, seed=seed, budget=budget, backend=backend)


class NetworkUpdater(NetworkPupil):
    """An `Updater`: one step of the optimizer from all positions together."""

    def __init__(self, network: Network, optimizer: str, average: float) -> None:
        super().__init__(network, optimizer, average)
        leaf = network.evaluator().leaf
        self.leaf = leaf._replace(weights=stack([leaf.weights]))

    def learn(self, batch: Batch, rate: float) -> dict[str, float]:
        network, targets = self.network, torch.from_numpy(batch.targets)
        x, device = torch.from_numpy(dense(network.game, network.features, batch.rows)), network.outcomes.device
        loss = loss_of(network, x.to(device), targets.to(device))
        self.descend(loss, rate)
        network.write_weights(self.leaf.weights)
        return {
            "train/loss": float(loss.detach()),
            "train/output_error": float(np.mean(np.square(batch.targets - batch.outputs))),
            "train/gradient_norm": self.gradient_norm(),
        }

    def packed(self, slots: dict[str, Tensor]) -> dict[str, Any]:
        return {**self.state(), "slots": slots}

    def unpack(self, state: dict[str, Any]) -> dict[str, Tensor]:
        self.restore(state)
        self.network.write_weights(self.leaf.weights)
        return state["slots"]


def loss_of(network: Network, x: Tensor, targets: Tensor) -> Tensor:
    """Mean over positions of the cross-entropy (class heads) or half the squared error (scalar heads)."""
    if network.head == "classes":
        return -(targets * torch.log_softmax(network(x), dim=-1)).sum(dim=-1).mean()
    return 0.5 * (network.outputs(x) - targets).square().sum(dim=-1).mean()
