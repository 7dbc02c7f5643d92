"""An exponential average of a vector of weights: steadier than the weights, which swing from update to update.

m <- d m + (1 - d) w      d = min(decay, u / (u + 10)) after update u: the short memory of a mean while it is young
"""

from __future__ import annotations

import numpy as np

EVERY = 32
"""updates between two visits of all weights: an n-tuple network has millions, and an update touches thousands"""


class Average:
    """Watches `source` [n]; `weight` is its average, or `source` itself with decay 0."""

    def __init__(self, source: np.ndarray, decay: float) -> None:
        self._source, self._decay, self.updates = source, decay, 0
        self.weight = source.copy() if decay else source

    def update(self) -> None:
        """Call once after every update of the source."""
        self.updates += 1
        if self._decay and self.updates % EVERY == 0:
            young = self.updates / (self.updates + 10.0 * EVERY)
            decay = np.float32(min(self._decay**EVERY, young))
            self.weight *= decay
            self.weight += (1 - decay) * self._source

    def arrays(self) -> dict[str, np.ndarray]:
        """What to keep besides `updates` to go on exactly."""
        return {"average": self.weight} if self._decay else {}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        if self._decay:
            self.weight[:] = arrays["average"]
