"""The equivalences that hold TD(lambda) to its equations, each against an independent computation.

Games come from self-play of a small random network; everything is float64 unless it says otherwise.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from game_names import EVERY_GAME, mostly_slow
from torch import Tensor, nn

from deltaw.envs import games
from deltaw.learn import rule
from deltaw.learn.learners.td_backward import BackwardTD, TraceUpdate, flipped
from deltaw.learn.learners.td_backward import Options as BackwardOptions
from deltaw.learn.learners.td_sequential import Options as SequentialOptions
from deltaw.learn.learners.td_sequential import SequentialTD, gradient, learn, make_traces
from deltaw.learn.selfplay.lockstep import Settings, Slots, lambda_returns, new_slots, play_slots
from deltaw.learn.weights.networks import Network
from deltaw.learn.weights.population import stack
from deltaw.search.evaluators.evaluator import tensors_of
from deltaw.search.evaluators.leaf import Leaf
from deltaw.search.players.plies import make_bench

HEADS = ("identity", "tanh", "classes")


def learned(name: str) -> bool:
    """Two players, and more to learn than the worth of every node of a small tree."""
    return games.load(name).rules.num_players == 2 and not name.startswith("trees")


GAMES = mostly_slow(name for name in EVERY_GAME if learned(name))


@functools.cache
def network(game_name: str, head: str, hidden: tuple[int, ...] = (7,), activation: str = "sigmoid") -> Network:
    """A small float64 network with random weights."""
    game = games.load(game_name)
    net = Network(game, game.features(), list(hidden), head, activation)
    net.initialize(3)
    torch.manual_seed(5)
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.2 * torch.randn_like(p))
    return net.double()


def fresh(game_name: str, head: str, **shape) -> Network:
    """A copy of `network` that a test may train."""
    source = network(game_name, head, **shape)
    game = games.load(game_name)
    net = Network(
        game, game.features(), list(shape.get("hidden", (7,))), head, shape.get("activation", "sigmoid")
    ).double()
    net.load_state_dict(source.state_dict())
    return net


class Played:
    """One finished game: features x [T, F], seats [T], and the result for seat 0."""

    def __init__(self, rows: np.ndarray, result: int, net: Network) -> None:
        self.rows, self.result, self.net = rows, result, net
        game = net.game
        self.states = [game.unrow(row) for row in rows]
        self.seats = torch.tensor([int(game.rules.seat(s)) for s in self.states])
        self.x = torch.stack([torch.from_numpy(naive_features(net, s)) for s in self.states])

    def certain(self) -> Tensor:
        """The result as outputs [K] from White's side."""
        outcomes = self.net.game.rules.outcomes
        if self.net.head == "classes":
            return torch.tensor([float(o == self.result) for o in outcomes], dtype=torch.float64)
        return torch.tensor([float(self.result)], dtype=torch.float64)

    def white_outputs(self, net: Network) -> Tensor:
        """Outputs [T, K] of every position from White's side."""
        with torch.no_grad():
            outputs = net.outputs(self.x)
        return torch.where((self.seats == 1)[:, None], flipped(outputs, net.head), outputs)


def naive_features(net: Network, state) -> np.ndarray:
    dense = np.zeros(net.features.num_features)
    index, value = np.zeros(net.features.max_active + 4, np.int32), np.zeros(net.features.max_active + 4, np.float32)
    n = net.game.rules.features(state, np.array(net.features.spec), index, value)
    dense[index[:n]] = value[:n]
    return dense


@functools.cache
def played(game_name: str, head: str, explore: float = 0.0) -> Played:
    """The first game that self-play finishes."""
    net = network(game_name, head)
    leaf = Network.evaluator(net).leaf
    population = Leaf(leaf.evaluate, stack([leaf.weights]))
    slots = new_slots(net.game, len(leaf.weights.outcomes), 1, capacity=4000)
    arrays = [
        np.empty((4000, width), kind)
        for width, kind in ((net.game.rules.width, np.int64), *2 * [(slots.outputs.shape[2], np.float32)])
    ]
    ended = np.zeros((2, 4000), np.int64)
    settings, n = Settings(9, 0.5, explore, 1), 0
    bench, assign = make_bench(leaf, net.game), np.zeros((1, 2), np.int64)
    while not n:
        rows = slots.rows[0, : slots.ply[0]].copy()
        n, _ = play_slots(net.game.rules, population, slots, assign, 1, settings, bench, *arrays, ended)
    return Played(rows if len(rows) else slots.rows[0, :1], int(ended[0, 0]), net)


def flat(net: nn.Module) -> Tensor:
    return torch.cat([p.detach().reshape(-1) for p in net.parameters()])


def put(net: nn.Module, vector: Tensor) -> None:
    """Set the weights; `torch.nn.utils.vector_to_parameters` would make them views of `vector`."""
    nn.utils.vector_to_parameters(vector.clone(), net.parameters())


def by_rule(game: Played, c: float, trace: float, *, frozen: bool = False) -> np.ndarray:
    """The weights of the game's network after it, in torch's order."""
    net = fresh(game.net.game.name, game.net.head, hidden=hidden_of(game))

    def value(weights: np.ndarray, t: int) -> np.ndarray:
        put(net, torch.from_numpy(weights))
        return white_of(net, game, t).numpy()

    def slope(weights: np.ndarray, t: int) -> np.ndarray:
        put(net, torch.from_numpy(weights))
        return white_jacobian(net, game.x[t], int(game.seats[t])).numpy()

    start, positions = flat(game.net).numpy(), range(len(game.x))
    return rule.learn(start, positions, game.certain().numpy(), value, slope, c=c, trace=trace, frozen=frozen)


def hidden_of(game: Played) -> tuple[int, ...]:
    return tuple(layer.out_features for layer in game.net.layers[:-1])


def naive_returns(game: Played, trace: float, outputs: Tensor) -> Tensor:
    """lambda-returns [T, K] from White's side, by the definition: a geometric mixture of n-step values."""
    rest = len(game.x)
    following = torch.cat([outputs[1:], game.certain()[None]])
    returns = []
    for t in range(rest):
        weights = [(1 - trace) * trace**n for n in range(rest - t - 1)]
        weights.append(1.0 - sum(weights))
        returns.append(sum(w * following[t + n] for n, w in enumerate(weights)))
    return torch.stack(returns)


def compiled_returns(
    game: Played, trace: float, explored: np.ndarray | None = None, draw: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and lambda-returns, each for its mover, by the self-play engine's kernel in float64."""
    net, length = game.net, len(game.x)
    with torch.no_grad():
        outputs = net.outputs(game.x).numpy()
    marks = np.zeros((1, length), np.int8) if explored is None else explored[None].astype(np.int8)
    slots = Slots(np.zeros(1, np.int64), np.array([length]), game.rows[None], outputs[None], marks)
    rows, targets, said = np.zeros_like(game.rows), np.zeros_like(outputs), np.zeros_like(outputs)
    weights = Network.evaluator(net).leaf.weights
    settings = Settings(0, trace, 0.0, 1, draw)
    n = lambda_returns(net.game.rules, weights, slots, 0, game.result, settings, 0, rows, targets, said)
    return rows[:n], targets[:n]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("game_name", GAMES)
def test_lambda_returns_are_the_mixture_of_their_definition(game_name, head):
    game = played(game_name, head)
    _, targets = compiled_returns(game, 0.7)
    naive = naive_returns(game, 0.7, game.white_outputs(game.net))
    naive = torch.where((game.seats == 1)[:, None], flipped(naive, head), naive)
    np.testing.assert_allclose(targets[::-1], naive.numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("game_name", GAMES)
def test_lambda_one_is_monte_carlo(game_name):
    game = played(game_name, "identity")
    rows, targets = compiled_returns(game, 1.0)
    seats = [int(game.net.game.rules.seat(game.net.game.unrow(row))) for row in rows]
    np.testing.assert_allclose(targets[:, 0], [game.result * (1 - 2 * seat) for seat in seats], atol=1e-15)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("result", [-1, 0, 1])
def test_a_draw_counts_what_the_settings_say_for_the_first_mover_and_no_other_result_does(head, result):
    some = played("tic_tac_toe", head)
    game = Played(some.rows, result, some.net)
    plain, counted = (compiled_returns(game, 1.0, draw=draw)[1] for draw in (0.0, -0.75))
    if head == "classes" or result != 0:
        np.testing.assert_array_equal(counted, plain)
    else:
        assert not plain.any()
        np.testing.assert_array_equal(counted[::-1, 0], np.where(game.seats == 0, -0.75, 0.75))


@pytest.mark.parametrize("game_name", GAMES)
def test_exploratory_moves_cut_the_return(game_name):
    """Nothing is learned in the state of a random move; the state before it aims at that state's own value."""
    game = played(game_name, "identity")
    explored = np.zeros(len(game.x), bool)
    cut = len(game.x) // 2
    explored[cut] = True
    rows, targets = compiled_returns(game, 0.7, explored)
    assert len(rows) == len(game.x) - 1
    assert not (rows == game.rows[cut]).all(axis=1).any()
    sign = 1.0 if game.seats[cut] == game.seats[cut - 1] else -1.0
    before = targets[len(game.x) - 1 - cut, 0]  # newest first, the explored one left out
    assert before == pytest.approx(sign * float(game.net.values(game.x[cut : cut + 1])[0].detach()), abs=1e-12)
    explored[:] = False
    explored[-1] = True  # a random move that ends the game is a result like any other
    assert len(compiled_returns(game, 0.7, explored)[0]) == len(game.x)


@pytest.mark.parametrize("game_name", GAMES)
def test_negamax_form_equals_whites_view(game_name):
    """delta' = -u_{t+1} - u_t, e <- -lambda e + grad u, for a scalar head where the seat alternates."""
    game, trace, rate = played(game_name, "tanh"), 0.7, 0.05
    net, mover = fresh(game_name, "tanh"), fresh(game_name, "tanh")
    update = TraceUpdate(net, 1)
    eligibility = torch.zeros_like(flat(net))
    assert (game.seats[1:] != game.seats[:-1]).all()
    for t in range(len(game.x)):
        u = mover.values(game.x[t : t + 1])[0]
        slope = torch.cat([s.reshape(-1) for s in torch.autograd.grad(u, list(mover.parameters()))])
        last = t + 1 == len(game.x)
        result = game.result * (1.0 if game.seats[t] == 1 else -1.0)  # for the player who would be next
        following = torch.tensor(result) if last else mover.values(game.x[t + 1 : t + 2])[0].detach()
        eligibility = -trace * eligibility + slope
        put(mover, flat(mover) + rate * (-following - u.detach()) * eligibility)
        white = game.certain() if last else white_of(net, game, t + 1)
        update.update(
            game.x[t : t + 1], game.seats[t : t + 1], white[None], torch.zeros(1, dtype=torch.bool), trace, rate
        )
    torch.testing.assert_close(flat(net), flat(mover), rtol=0, atol=1e-12)


def white_of(net: Network, game: Played, t: int) -> Tensor:
    """Outputs [K] of position t from White's side, of this position alone: in a batch, last bits may differ."""
    with torch.no_grad():
        outputs = net.outputs(game.x[t : t + 1])
    return (flipped(outputs, net.head) if game.seats[t] == 1 else outputs)[0]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("game_name", GAMES)
def test_a_game_and_its_colour_swapped_mirror_give_the_same_weights(game_name, head):
    game = played(game_name, head)
    ends = []
    for swap in (False, True):
        net = fresh(game_name, head)
        update = TraceUpdate(net, 1)
        seats = 1 - game.seats if swap else game.seats
        turn = (lambda o: flipped(o[None], head)[0]) if swap else (lambda o: o)
        for t in range(len(game.x)):
            following = turn(white_of(net, game, t + 1)) if t + 1 < len(game.x) else turn(game.certain())
            update.update(
                game.x[t : t + 1], seats[t : t + 1], following[None], torch.zeros(1, dtype=torch.bool), 0.7, 0.05
            )
        ends.append(flat(net))
    torch.testing.assert_close(ends[0], ends[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh"])
@pytest.mark.parametrize("hidden", [(), (7,), (6, 5)])
@pytest.mark.parametrize("head", HEADS)
def test_hand_gradient_is_autograd_is_central_differences(head, hidden, activation):
    """The compiled gradient of every learned output, from White's side, of a position with either seat on move."""
    game = games.load("tic_tac_toe")
    net = fresh("tic_tac_toe", head, hidden=hidden, activation=activation)
    weights = double_weights(net)
    for row in played("tic_tac_toe", head).rows[2:4]:
        state = game.unrow(row)
        traces = make_traces(weights, net.features.max_active)
        gradient(game.rules, weights, state, traces)
        traces.errors[:] = 0.0
        learn(weights, int(game.rules.seat(state)), traces, 0.0, 0.0)
        hand = np.stack(
            [np.concatenate([traces.first.value[:, k].ravel(), traces.dense[k]]) for k in range(len(traces.errors))]
        )
        x = torch.from_numpy(naive_features(net, state))
        seat = int(game.rules.seat(state))
        np.testing.assert_allclose(hand, in_compiled_order(white_jacobian(net, x, seat), net), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            white_jacobian(net, x, seat).numpy(), differences(net, x, seat), rtol=1e-6, atol=1e-7
        )


def double_weights(net: Network):
    weights = Network.evaluator(net).leaf.weights
    double = weights._replace(first=weights.first.astype(float), dense=weights.dense.astype(float))
    layers = net.layers
    double.first[:-1], double.first[-1] = layers[0].weight.detach().numpy().T, layers[0].bias.detach().numpy()
    dense = [np.vstack([m.weight.detach().numpy().T, m.bias.detach().numpy()]).T.ravel() for m in layers[1:]]
    if dense:
        double.dense[:] = np.concatenate(dense)
    return double


def learned(net: Network, x: Tensor, seat: int) -> Tensor:
    """What TD moves, from White's side: logits of classes, the value of a scalar head [K]."""
    out = net.forward(x[None]) if net.head == "classes" else net.outputs(x[None])
    return (flipped(out, net.head) if seat == 1 else out)[0]


def white_jacobian(net: Network, x: Tensor, seat: int) -> Tensor:
    rows = []
    for k in range(len(learned(net, x, seat))):
        slopes = torch.autograd.grad(learned(net, x, seat)[k], list(net.parameters()))
        rows.append(torch.cat([s.reshape(-1) for s in slopes]))
    return torch.stack(rows)


def differences(net: Network, x: Tensor, seat: int, h: float = 1e-6) -> np.ndarray:
    start, columns = flat(net), []
    with torch.no_grad():
        for i in range(len(start)):
            ends = []
            for sign in (1, -1):
                moved = start.clone()
                moved[i] += sign * h
                put(net, moved)
                ends.append(learned(net, x, seat).clone())
            columns.append((ends[0] - ends[1]).numpy() / (2 * h))
    put(net, start)
    return np.stack(columns, axis=1)


def in_compiled_order(jacobian: Tensor, net: Network) -> np.ndarray:
    """Columns from torch's order to that of `Weights`: first layer by feature, then [out, in + 1] of the others."""
    parts, begin = [], 0
    for number, layer in enumerate(net.layers):
        size, outputs = layer.weight.numel(), layer.out_features
        weight = jacobian[:, begin : begin + size].reshape(-1, outputs, layer.in_features)
        bias = jacobian[:, begin + size : begin + size + outputs]
        begin += size + outputs
        if number == 0:
            parts.append(torch.cat([weight.transpose(1, 2).flatten(1), bias], dim=1))
        else:
            parts.append(torch.cat([weight, bias[:, :, None]], dim=2).flatten(1))
    return torch.cat(parts, dim=1).numpy()


class Table(nn.Module):
    """A value for each state of a Markov chain: any torch module will do for the backward view."""

    head, scale = "identity", 1.0

    def __init__(self, states: int) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(states, dtype=torch.float64))
        self.outcomes = torch.tensor([-1.0, 1.0])

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.value).sum(dim=1, keepdim=True)

    outputs = forward


def test_tabular_td_solves_a_markov_chain():
    """The random walk of Sutton (1988) with results -1 and 1, by expected sweeps: v(s) = s / 3 - 1 for s = 1 .. 5."""
    table, states = Table(5), 5
    update = TraceUpdate(table, 2 * states)
    x = torch.eye(states, dtype=torch.float64).repeat_interleave(2, dim=0)
    none, seats = torch.zeros(2 * states, dtype=torch.bool), torch.zeros(2 * states, dtype=torch.int64)
    for _ in range(4000):
        v = torch.cat([torch.tensor([-1.0]), table.value.detach(), torch.tensor([1.0])]).double()
        following = torch.stack([v[s + 1 + side] for s in range(states) for side in (-1, 1)])[:, None]
        update.update(x, seats, following, none, 0.0, 1.0)
    np.testing.assert_allclose(table.value.detach().numpy(), [s / 3 - 1 for s in range(1, 6)], atol=1e-9)


@pytest.mark.parametrize("head", ["tanh", "classes"])
@pytest.mark.parametrize("game_name", GAMES)
def test_one_game_at_a_time_is_the_same_in_both_back_ends(game_name, head):
    """td_backward (torch, one slot) and td_sequential (compiled) replay the same games to the same weights, in
    float32."""
    shape = {"hidden": (7,)}
    plies = 60
    torch_net = Network(games.load(game_name), games.load(game_name).features(), [7], head)
    torch_net.load_state_dict({k: v.float() for k, v in network(game_name, head, **shape).state_dict().items()})
    start = torch_net.tensors()
    options = {"trace": 0.7, "step_size": 0.02, "schedule": "constant", "plies": plies}
    by_hand = SequentialTD(torch_net.evaluator(), SequentialOptions(**options), seed=4, budget=100)
    by_torch = BackwardTD(torch_net, BackwardOptions(slots=1, **options), seed=4, budget=100)
    by_hand.step()
    by_torch.step()
    assert by_hand.games == by_torch.games
    np.testing.assert_array_equal(by_hand.position.row, by_torch.rows[0])
    mine = tensors_of(by_hand.leaf.weights)
    for name, tensor in torch_net.tensors().items():
        np.testing.assert_allclose(mine[name], tensor, rtol=1e-4, atol=1e-5)
        assert np.abs(tensor - start[name]).max() > 1e-4


def test_a_batch_takes_the_mean_of_its_games():
    game = played("backgammon", "tanh")
    together, rate = fresh("backgammon", "tanh"), 0.05
    start, none = flat(together), torch.zeros(3, dtype=torch.bool)
    following = game.white_outputs(together)[1:4]
    alone = torch.zeros_like(start)
    for b in range(3):
        single = fresh("backgammon", "tanh")
        TraceUpdate(single, 1).update(
            game.x[b : b + 1], game.seats[b : b + 1], following[b : b + 1], none[:1], 0.7, rate
        )
        alone += (flat(single) - start) / 3
    TraceUpdate(together, 3).update(game.x[:3], game.seats[:3], following, none, 0.7, rate)
    torch.testing.assert_close(flat(together) - start, alone, rtol=0, atol=1e-12)
