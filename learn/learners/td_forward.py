"""TD(lambda), forward view: whole games from lock-step self-play, lambda-returns, minibatches.

    dW = c sum_t (G_t - v_t) grad v_t,    G_t = (1 - lambda) v_{t+1} + lambda G_{t+1}

While the weights stand still this is the sum of the backward view's updates (`learn/learners/td_backward.py`; Sutton
1988, theorem 1). A head over outcome classes is trained with cross-entropy against the lambda-return of the whole
distribution, which drops the factor p (1 - p) from the gradient; a scalar head is trained with half the squared error,
whose gradient is the line above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn

from deltaw.learn.knobs import Count, NotNegative, OneOf, Positive, Share, SlotCount, check
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.selfplay.lockstep import Batch, SelfPlay, Settings, Slots, dense_features, new_slots, trimmed
from deltaw.learn.steps.schedule import Schedule, step_size
from deltaw.learn.weights.networks import Network, check_device, network_of
from deltaw.learn.weights.population import stack
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator


@dataclass
class Options:
    """Every knob of the forward view."""

    trace: Share = 0.6
    """lambda, 0 .. 1"""
    step_size: Positive = 1.5e-3
    step_size_end: NotNegative = 0.0
    schedule: Schedule = "linear"
    """constant, linear or cosine, over the budget of games"""
    optimizer: Annotated[str, OneOf(OPTIMIZERS)] = "adam"
    """adam or sgd"""
    slots: SlotCount = 256
    """games side by side"""
    plies: Count = 5
    """positions each slot moves on between two updates"""
    explore: Share = 0.0
    """chance of a random move; games with dice need none"""
    average: Share = 0.0
    """decay per update of the exponential average of the weights that is measured and exported; 0: the weights
    themselves"""
    device: str = "cpu"
    """where the update is computed; self-play always runs compiled on the CPU"""


OPTIMIZERS = ("adam", "sgd")


class ForwardTD:
    """A `Learner`."""

    def __init__(self, network: Network, options: Options, *, seed: int, budget: int, backend: Backend) -> None:
        self.network, self.options, self.seed, self.budget = network.to(options.device), options, seed, budget
        self.games = self.positions = self.updates = 0
        self.optimizer = _optimizer(network, options)
        start = network.evaluator().leaf
        self.leaf = start._replace(weights=stack([start.weights]))
        slots = new_slots(network.game, len(start.weights.outcomes), options.slots)
        assign = np.zeros((options.slots, network.game.rules.num_players), np.int64)
        self.play = SelfPlay(network.game, self.leaf, slots, assign, backend)
        self.averaged = {name: p.detach().clone() for name, p in network.named_parameters()} if options.average else {}
        self._spec = np.array(network.features.spec, np.int64)
        self._index = np.empty(network.features.max_active, np.int32)
        self._value = np.empty(network.features.max_active, np.float32)

    def step(self) -> Metrics:
        """Self-play until some games end, then one update from all their positions."""
        options = self.options
        batch = self.play.play(Settings(self.seed, options.trace, options.explore, options.plies))
        self.games += batch.games
        scalars: dict[str, float] = {}
        if len(batch.rows):
            scalars = self._update(batch)
            self.positions += len(batch.rows)
            self.network.write_weights(self.leaf.weights)
        return Metrics(self.games, self.positions, scalars)

    def _update(self, batch: Batch) -> dict[str, float]:
        rate = step_size(
            self.options.schedule, self.options.step_size, self.options.step_size_end, self.games / self.budget
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        x, targets = self._tensors(batch)
        loss = loss_of(self.network, x, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.get_total_norm([p.grad for p in self.network.parameters() if p.grad is not None])
        self.optimizer.step()
        self.updates += 1
        self._average()
        return self._scalars(batch, float(loss.detach()), float(norm), rate)

    def _tensors(self, batch: Batch) -> tuple[Tensor, Tensor]:
        dense = np.empty((len(batch.rows), self.network.features.num_features), np.float32)
        dense_features(self.network.game.rules, self._spec, batch.rows, self._index, self._value, dense)
        device = self.options.device
        return torch.from_numpy(dense).to(device), torch.from_numpy(batch.targets).to(device)

    def _average(self) -> None:
        """Exponential average; at first its decay is smaller, so that it forgets the first weights sooner."""
        if not self.options.average:
            return
        decay = min(self.options.average, self.updates / (self.updates + 10.0))
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                self.averaged[name].lerp_(parameter, 1.0 - decay)

    def _scalars(self, batch: Batch, loss: float, norm: float, rate: float) -> dict[str, float]:
        difference = batch.targets - batch.outputs
        values = batch.outputs @ self._outcomes() if batch.outputs.shape[1] > 1 else batch.outputs[:, 0]
        returns = batch.targets @ self._outcomes() if batch.targets.shape[1] > 1 else batch.targets[:, 0]
        lengths, results = batch.lengths.astype(float), np.abs(batch.results)
        return {
            "train/loss": loss,
            "train/td_error": float(np.mean(np.abs(returns - values))),
            "train/output_error": float(np.mean(np.square(difference))),
            "train/gradient_norm": norm,
            "train/step_size": rate,
            "play/game_length": float(lengths.mean()),
            "play/double_or_more": float(np.mean(results >= 2)),
        }

    def _outcomes(self) -> np.ndarray:
        return np.array(self.network.game.rules.outcomes, np.float32)

    def evaluator(self) -> Evaluator:
        """The averaged weights where an average is kept, else the current ones."""
        if not self.averaged:
            return self.network.evaluator(self.trained())
        current = {name: p.detach().clone() for name, p in self.network.named_parameters()}
        self._load_parameters(self.averaged)
        evaluator = self.network.evaluator(self.trained())
        self._load_parameters(current)
        return evaluator

    def finite(self) -> bool:
        return all(bool(torch.isfinite(p).all()) for p in self.network.parameters())

    def trained(self) -> dict[str, Any]:
        """How the evaluator was trained, for its file."""
        return {"method": "td-forward", "lambda": self.options.trace, "games": self.games, "seed": self.seed}

    def _load_parameters(self, values: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                parameter.copy_(values[name])

    def state(self) -> dict[str, Any]:
        return {
            "counts": [self.games, self.positions, self.updates],
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "averaged": self.averaged,
            "slots": {name: torch.from_numpy(a) for name, a in trimmed(self.play.slots)._asdict().items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.games, self.positions, self.updates = state["counts"]
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.averaged = state["averaged"]
        self.play.slots = Slots(**{name: tensor.numpy() for name, tensor in state["slots"].items()})
        self.network.write_weights(self.leaf.weights)


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> ForwardTD:
    """The learner of this module; see learn/run/config.py. Raises InputError."""
    check(options)
    check_game(start.game, "td_forward")
    check_device(options.device)
    return ForwardTD(network_of(start), options, seed=seed, budget=budget, backend=backend)


def loss_of(network: Network, x: Tensor, targets: Tensor) -> Tensor:
    """Mean over positions of the cross-entropy (class heads) or half the squared error (scalar heads)."""
    if network.head == "classes":
        return -(targets * torch.log_softmax(network(x), dim=-1)).sum(dim=-1).mean()
    return 0.5 * (network.outputs(x) - targets).square().sum(dim=-1).mean()


def _optimizer(network: Network, options: Options) -> torch.optim.Optimizer:
    if options.optimizer == "sgd":
        return torch.optim.SGD(network.parameters(), lr=options.step_size)
    return torch.optim.Adam(network.parameters(), lr=options.step_size, eps=1e-7, fused=options.device == "cpu")
