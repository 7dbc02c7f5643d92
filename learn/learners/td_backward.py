"""TD(lambda), backward view: online, with eligibility traces, for any torch module.

    e <- lambda e + grad v_t;   W <- W + c (v_{t+1} - v_t) e;   e = 0 at each game's start

With one game and one output this is the rule of `learn/rule.py` to the bit; with lambda = 0 that is dW_t = c (v_{t+1} -
v_t) grad v_t. (Sutton 1988, equations 3 and 4; Tesauro 1992.) Several outputs are treated one by one, a trace each; B
games side by side take the mean of their updates.

Everything is kept from White's side (seat 0): a state seen from seat 1 has its outputs flipped, and so have their
gradients. A head over classes takes the gradient of its logits, as cross-entropy does, while its error is the
difference of chances. So the backward view equals the forward view (`learn/learners/td_forward.py`) while the weights
stand still.

Letters: B games, K outputs, P weights, F features, S successors of all B decisions together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call, jacrev, vmap

from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.path import expand, make_path, make_paths, outcome, reach, step_back
from deltaw.envs.turn import end, explore, roll, value_for
from deltaw.learn.knobs import Count, Range, check
from deltaw.learn.learner import Metrics, check_game
from deltaw.learn.selfplay.lockstep import dense
from deltaw.learn.selfplay.online import OnlineOptions
from deltaw.learn.weights.networks import Network, check_device, network_of
from deltaw.learn.workers.backend import Backend
from deltaw.search.evaluators.evaluator import Evaluator


@dataclass
class Options(OnlineOptions):
    """The knobs of `OnlineOptions` (learn/selfplay/online.py), and those of games side by side."""

    slots: Annotated[int, Range(1, 4096)] = 16
    """B, games side by side, each with a trace for every weight and output; 1 is the algorithm of the books"""
    plies: Count = 50
    """positions each game moves on in one step of the learner"""
    device: str = "cpu"


def make(options: Options, start: Evaluator, *, seed: int, budget: int, backend: Backend) -> BackwardTD:
    """The learner of this module; raises InputError."""
    check(options)
    check_game(start.game, "td_backward")
    check_device(options.device)
    return BackwardTD(network_of(start), options, seed=seed, budget=budget)


class Moves(NamedTuple):
    """The successors of B decisions, one decision after the other."""

    rows: np.ndarray
    """int64 [S, W]"""
    features: np.ndarray
    """float32 [S, F]"""
    over: np.ndarray
    """int8 [S]: the game ends there"""
    results: np.ndarray
    """int64 [S]: for seat 0, where it does"""
    seats: np.ndarray
    """int64 [S]: seat of the successor's mover"""
    begins: np.ndarray
    """int64 [B + 1]: decision b has the successors begins[b] .. begins[b + 1]"""


class BackwardTD:
    """A `Learner`."""

    def __init__(self, network: Network, options: Options, *, seed: int, budget: int) -> None:
        self.network, self.options, self.seed, self.budget = network.to(options.device), options, seed, budget
        self.game: Game = network.game
        self.games = self.positions = 0
        self.trace = TraceUpdate(network, options.slots)
        self.number = np.arange(options.slots, dtype=np.int64)  # of the game in each slot
        self.ply = np.zeros(options.slots, np.int64)
        start = self.game.row(self.game.rules.initial())
        self.rows = np.repeat(start[None], options.slots, axis=0)
        self.paths = make_paths(self.game.rules, options.slots)
        self._expander = Expander(self.game, network.features)

    def step(self) -> Metrics:
        errors, rate = [], 0.0
        for _ in range(self.options.plies):
            rate = self.options.rate(self.games / self.budget)
            errors.append(self._ply(rate))
        squared = torch.stack(errors).square().mean()
        norm = float(self.trace.eligibility.square().sum(dim=(1, 2)).sqrt().mean())
        scalars = {"train/td_error": float(squared.sqrt()), "train/trace_norm": norm, "train/step_size": rate}
        return Metrics(self.games, self.positions, scalars)

    def _ply(self, rate: float) -> Tensor:
        """One move in every slot, and one update; returns the errors [B, K]."""
        moves = self._expander.expand(self.rows, self.paths, self.seed, self.number, self.ply)
        outputs, values = self._judge(moves)
        before, seats = self._expander.features(self.rows)
        chosen, explored = self._choose(moves, values, seats)
        reach_all(self.game.rules, self.paths, self.rows)
        over, results = self._expander.ends(moves.rows[chosen], self.paths, self.ply + 1)
        following = torch.where(over[:, None], certain(results, self.network), outputs[chosen])
        errors = self.trace.update(
            self._tensor(before),
            torch.from_numpy(seats),
            following,
            torch.from_numpy(explored) & ~over,
            self.options.trace,
            rate,
        )
        self._advance(moves.rows[chosen], over.numpy())
        return errors

    def _judge(self, moves: Moves) -> tuple[Tensor, Tensor]:
        """Outputs [S, K] and values [S] of all successors from White's side; exact where the game is over."""
        with torch.no_grad():
            outputs = self.network.outputs(self._tensor(moves.features)).cpu()
        seats = torch.from_numpy(moves.seats)
        outputs = torch.where((seats == 1)[:, None], flipped(outputs, self.network.head), outputs)
        over = torch.from_numpy(moves.over.astype(bool))
        outputs = torch.where(over[:, None], certain(torch.from_numpy(moves.results), self.network), outputs)
        values = outputs @ self.network.outcomes.cpu() if self.network.head == "classes" else outputs[:, 0]
        return outputs, values

    def _choose(self, moves: Moves, values: Tensor, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Index [B] of the best successor of every decision for its mover, of seats [B] (now and then a random one),
        and which were random."""
        chosen = np.empty(self.options.slots, np.int64)
        explored = np.zeros(self.options.slots, bool)
        for b in range(self.options.slots):
            begin, stop = moves.begins[b], moves.begins[b + 1]
            sign = 1.0 if seats[b] == 0 else -1.0
            best = int(torch.argmax(sign * values[begin:stop]))
            keyed = (self.seed, self.number[b], self.ply[b], float(self.options.explore))
            best, explored[b] = explore(*keyed, stop - begin, best)
            chosen[b] = begin + best
        return chosen, explored

    def _advance(self, rows: np.ndarray, over: np.ndarray) -> None:
        """The games go on to the positions rows [B, W]; games that are over start again."""
        self.positions += len(rows)
        self.games += int(over.sum())
        self.rows = np.where(over[:, None], self.game.row(self.game.rules.initial()), rows)
        self.paths[over] = make_path(self.game.rules)
        self.ply = np.where(over, 0, self.ply + 1)
        self.number = np.where(over, self.number + self.options.slots, self.number)
        self.trace.end_games(torch.from_numpy(over))

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.options.device, next(self.network.parameters()).dtype)

    def evaluator(self) -> Evaluator:
        trained = {"method": "td-backward", "lambda": self.options.trace, "games": self.games, "seed": self.seed}
        return self.network.evaluator(trained)

    def finite(self) -> bool:
        return all(bool(torch.isfinite(p).all()) for p in self.network.parameters())

    def state(self) -> dict[str, Any]:
        arrays = {"rows": self.rows, "ply": self.ply, "number": self.number}
        if self.game.rules.repetition:
            arrays["paths"] = self.paths
        return {
            "counts": [self.games, self.positions],
            "network": self.network.state_dict(),
            "eligibility": self.trace.eligibility,
            "slots": {name: torch.from_numpy(a) for name, a in arrays.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.games, self.positions = state["counts"]
        self.network.load_state_dict(state["network"])
        self.trace.eligibility = state["eligibility"].to(self.options.device)
        slots = {name: tensor.numpy() for name, tensor in state["slots"].items()}
        self.rows, self.ply, self.number = slots["rows"], slots["ply"], slots["number"]
        self.paths = slots.get("paths", self.paths)


class TraceUpdate:
    """The equations of this module's head, for B games and any module with `outputs`, `forward` and `head`."""

    def __init__(self, network: Network, slots: int) -> None:
        self.network = network
        self._parameters = dict(network.named_parameters())
        size = sum(p.numel() for p in self._parameters.values())
        outputs = len(network.outcomes) if network.head == "classes" else 1
        some = next(network.parameters())
        self.eligibility = torch.zeros((slots, outputs, size), dtype=some.dtype, device=some.device)

    def update(
        self, x: Tensor, seats: Tensor, following: Tensor, explored: Tensor, trace: float, rate: float
    ) -> Tensor:
        """One step for B games; returns the errors [B, K].

        x: features [B, F] of the states s_t; seats [B]: their movers; following: outputs [B, K] of s_{t+1} from White's
        side (the result where the game is over); explored [B]: the move was random, so s_t learns nothing and the trace
        restarts.
        """
        device = self.eligibility.device
        gradient, outputs = self._gradient(x)
        black = (seats == 1).to(device)
        head = self.network.head
        gradient = torch.where(black[:, None, None], flipped(gradient, head), gradient)
        outputs = torch.where(black[:, None], flipped(outputs, head), outputs)
        self.eligibility = trace * self.eligibility + gradient
        errors = following.to(outputs) - outputs
        errors = torch.where(explored.to(device)[:, None], torch.zeros_like(errors), errors)
        step = torch.einsum("bk,bkp->p", (rate / len(x)) * errors, self.eligibility)
        with torch.no_grad():
            begin = 0
            for parameter in self._parameters.values():
                parameter.add_(step[begin : begin + parameter.numel()].view_as(parameter))
                begin += parameter.numel()
        self.end_games(explored)
        return errors.cpu()

    def end_games(self, over: Tensor) -> None:
        """Forget the traces of these games."""
        self.eligibility[over.to(self.eligibility.device)] = 0.0

    def _gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Per game and output the gradient [B, K, P] of what is learned, and the outputs [B, K]."""

        def learned(parameters: dict[str, Tensor], row: Tensor) -> Tensor:
            logits = functional_call(self.network, parameters, (row[None],))[0]
            return self.network.scale * torch.tanh(logits) if self.network.head == "tanh" else logits

        detached = {name: p.detach() for name, p in self._parameters.items()}
        jacobian = vmap(jacrev(learned), in_dims=(None, 0))(detached, x)
        with torch.no_grad():
            outputs = self.network.outputs(x)
        return torch.cat([j.flatten(2) for j in jacobian.values()], dim=2), outputs


def flipped(outputs: Tensor, head: str) -> Tensor:
    """Outputs, or their gradients, [B, K, ...] from the other side."""
    return outputs.flip(1) if head == "classes" else -outputs


def certain(results: Tensor, network: Network) -> Tensor:
    """Outputs [B, K] of finished games with these results."""
    if network.head == "classes":
        return (results[:, None] == network.outcomes.cpu()[None]).to(next(network.parameters()).dtype)
    return results[:, None].to(next(network.parameters()).dtype)


# --- kernels ------------------------------------------------------------------------------------------------------


class Expander:
    """Expands B decisions at once into dense features, for evaluators that live outside compiled code."""

    def __init__(self, game: Game, features: FeatureSet) -> None:
        self.game, self._features = game, features
        lists = np.empty(features.max_active, np.int32), np.empty(features.max_active, np.float32)
        self._work = (np.array(features.spec, np.int64), *lists, *game.buffers())

    def expand(self, rows: np.ndarray, paths: np.ndarray, seed: int, number: np.ndarray, ply: np.ndarray) -> Moves:
        """Roll the dice of B states [B, W], the games having come by `paths` [B, P], and list all successors."""
        size = 64 * len(rows)
        while True:
            moves = Moves(
                np.empty((size, rows.shape[1]), np.int64),
                np.zeros((size, self._features.num_features), np.float32),
                np.zeros(size, np.int8),
                np.zeros(size, np.int64),
                np.zeros(size, np.int64),
                np.zeros(len(rows) + 1, np.int64),
            )
            n = expand_all(self.game.rules, rows, paths, seed, number, ply, self._work, moves)
            if n <= size:
                return Moves(
                    moves.rows[:n], moves.features[:n], moves.over[:n], moves.results[:n], moves.seats[:n], moves.begins
                )
            size = n

    def ends(self, rows: np.ndarray, paths: np.ndarray, plies: np.ndarray) -> tuple[Tensor, Tensor]:
        """Which of the games that have come to rows [B, W] in so many moves are over [B], and their results for seat 0
        [B]."""
        over, results = np.empty(len(rows), bool), np.empty(len(rows), np.int64)
        find_ends(self.game.rules, rows, paths, plies, over, results)
        return torch.from_numpy(over), torch.from_numpy(results)

    def features(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dense features [B, F] of states, and their seats [B]."""
        seats = np.array([self.game.rules.seat(self.game.unrow(row)) for row in rows], np.int64)
        return dense(self.game, self._features, rows), seats


@kernel
def expand_all(rules, rows, paths, seed, number, ply, work, out):
    """Fill `out`; returns how many successors there are, and writes none beyond its size."""
    spec, index, value, moves, results = work
    n = 0
    for b in range(len(rows)):
        state = roll(rules, rules.load(rows[b]), seed, number[b], ply[b])
        k = expand(rules, paths[b], state, moves, results)
        reach(rules, paths[b], state)
        for i in range(k):
            if n < len(out.rows):
                child = rules.load(results[i])
                out.rows[n] = results[i]
                out.seats[n] = rules.seat(child)
                over, result = outcome(rules, paths[b], child)
                out.over[n] = over
                out.results[n] = value_for(rules, child, result, 0)
                for j in range(rules.features(child, spec, index, value)):
                    out.features[n, index[j]] = value[j]
            n += 1
        step_back(rules, paths[b])
        out.begins[b + 1] = n
    return n


@kernel
def reach_all(rules, paths, rows):
    for b in range(len(rows)):
        reach(rules, paths[b], rules.load(rows[b]))


@kernel
def find_ends(rules, rows, paths, plies, over, results):
    for b in range(len(rows)):
        state = rules.load(rows[b])
        over[b], value = end(rules, paths[b], state, plies[b])
        results[b] = value_for(rules, state, value, 0)
