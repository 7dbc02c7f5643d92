"""An exponential average of weights: steadier than the weights, which swing from update to update.

m <- d m + (1 - d) w      d = min(decay, u / (u + 10)) after update u: the short memory of a mean while it is young

An n-tuple network has millions of weights, and an update touches thousands. Such an average is brought up to date after
every n-th update only: u then counts n updates at a time, and the decay is decay^n.
"""

from __future__ import annotations

import torch
from torch import Tensor

EVERY = 32
"""n for n-tuple networks and other linear evaluators"""


class Average:
    """Follows the tensors `source`; `weights` are their averages, or `source` itself with decay 0."""

    def __init__(self, source: dict[str, Tensor], decay: float, every: int = 1) -> None:
        self._source, self._decay, self._every, self.updates = source, decay, every, 0
        self.weights = {name: tensor.detach().clone() for name, tensor in source.items()} if decay else source

    @torch.no_grad()
    def update(self) -> None:
        """Call this once after every update of the source."""
        self.updates += 1
        if self._decay and self.updates % self._every == 0:
            young = self.updates / (self.updates + 10.0 * self._every)
            decay = min(self._decay**self._every, young)
            for name, average in self.weights.items():
                average.lerp_(self._source[name], 1.0 - decay)

    def state(self) -> dict[str, Tensor]:
        """What has to be kept besides `updates` to go on exactly."""
        return self.weights if self._decay else {}

    @torch.no_grad()
    def restore(self, state: dict[str, Tensor]) -> None:
        for name, average in self.state().items():
            average.copy_(state[name])
