"""Genomes: all weights of an evaluator as one flat vector, and back.

The order is that of `Weights` of `search/evaluators/leaf.py`: the first layer [F + 1, H] row by row, then the later
layers, each [out, in + 1]; biases last. A *group* is what a crossover should hand on whole: in a network a neuron, that
is a unit with its incoming weights and its bias; in a linear evaluator a feature with its weights for all outputs.

Letters: n weights of an evaluator, R genomes, F features, H units of the first layer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.learn.weights.population import stack
from deltaw.search.evaluators.evaluator import Evaluator, remade, tensors_of
from deltaw.search.evaluators.leaf import Leaf, Weights


class Genome:
    """How the weights of evaluators like `start` are laid out in a vector."""

    def __init__(self, start: Evaluator) -> None:
        self.start = start
        weights = start.leaf.weights
        self.size = weights.first.size + weights.dense.size
        """n"""

    def vector(self, evaluator: Evaluator) -> np.ndarray:
        """float32 [n]: the weights of an evaluator of this kind."""
        weights = evaluator.leaf.weights
        return np.concatenate([weights.first.ravel(), weights.dense])

    def leaf(self, genomes: np.ndarray) -> Leaf:
        """The evaluators with the weights `genomes` [R, n], stacked: R is the leading axis of their arrays."""
        leaf = self.start.leaf
        first, dense = self._split(np.asarray(genomes, np.float32))
        return leaf._replace(weights=stack([leaf.weights])._replace(first=first, dense=dense))

    def evaluator(self, genome: np.ndarray, trained: dict[str, Any]) -> Evaluator:
        """The evaluator with the weights `genome` [n]."""
        first, dense = self._split(np.asarray(genome, np.float32)[None])
        weights: Weights = self.start.leaf.weights._replace(first=first[0], dense=dense[0])
        return remade(self.start, tensors_of(weights), trained)

    def groups(self) -> np.ndarray:
        """int64 [n]: the number, from 0, of the group that each weight belongs to."""
        weights = self.start.leaf.weights
        inputs, units = weights.first.shape
        if len(weights.sizes) == 1:
            return np.repeat(np.arange(inputs), units)
        parts, begin = [np.tile(np.arange(units), inputs)], units
        for before, outputs in zip(weights.sizes[:-1], weights.sizes[1:], strict=True):
            parts.append(np.repeat(np.arange(begin, begin + outputs), before + 1))
            begin += outputs
        return np.concatenate(parts)

    def _split(self, genomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shape = self.start.leaf.weights.first.shape
        cut = shape[0] * shape[1]
        return np.ascontiguousarray(genomes[:, :cut]).reshape(-1, *shape), np.ascontiguousarray(genomes[:, cut:])
