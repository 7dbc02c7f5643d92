"""Read an evaluator file with NumPy alone, and evaluate positions from their features.

    python read_evaluator.py mine.safetensors mine.golden.json

The file is safetensors: 8 bytes with the length of a JSON header, the header, the numbers. Nothing of deltaw is
imported here: copy what you need. The features of a position are your program's own work; the golden vectors that every
export ships say whether it does it right.
"""

import json
import sys
from pathlib import Path

import numpy as np

ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh}


def read(path):
    """(description, tensors) of an evaluator file: what it is for, and weight0 [in, out], bias0 [out], weight1 ..."""
    data = Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, numbers = json.loads(data[8 : 8 + length]), data[8 + length :]
    description = json.loads(header.pop("__metadata__")["deltaw"])
    tensors = {
        name: np.frombuffer(numbers[slice(*t["data_offsets"])], "<f4").reshape(t["shape"]) for name, t in header.items()
    }
    return description, tensors


def evaluate(description, tensors, x):
    """Values [N] for the side to move, and chances [N, K] of description["outcomes"] or None. `x`: features float [N,
    F]; for an n-tuple network (features "tuples") the numbers of its active entries, int [N, P]."""
    layers = len(description["sizes"]) - 1
    for k in range(layers):
        weight, bias = tensors[f"weight{k}"].astype(float), tensors[f"bias{k}"].astype(float)
        x = (weight[x].sum(axis=1) if description["features"] == "tuples" else x @ weight) + bias
        if k < layers - 1:
            x = ACTIVATIONS[description["activation"]](x)
    if description["head"] == "classes":
        odds = np.exp(x - x.max(axis=1, keepdims=True))
        chances = odds / odds.sum(axis=1, keepdims=True)
        return chances @ description["outcomes"], chances
    return max(description["outcomes"]) * np.tanh(x[:, 0]) if description["head"] == "tanh" else x[:, 0], None


def main(evaluator, vectors):
    description, tensors = read(evaluator)
    golden = json.loads(Path(vectors).read_text())
    values, chances = evaluate(description, tensors, np.array(golden["inputs"]))
    difference = np.abs(values - golden["outputs"]["value"]).max()
    if chances is not None:
        difference = max(difference, np.abs(chances - golden["outputs"]["chances"]).max())
    print(f"{description['game']}: {len(values)} positions, largest difference {difference:.1e}")
    return difference <= golden["tolerance"]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(0 if main(*sys.argv[1:]) else 1)
