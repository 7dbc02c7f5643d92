"""Our players in other frameworks: as an opponent, or as the one who acts.

    from deltaw.search.doors.policy import Policy
    policy = Policy("backgammon", "network@plies=2")      any name that `deltaw arena` takes, or an Agent, or a Player

    gym.make("deltaw:deltaw/BackgammonVersus-v0", opponent=policy)    Gymnasium, single-agent learners
    gym.make("deltaw:deltaw/BackgammonVersus-v0",                     the same, as text
             opponent="deltaw.search.doors.policy:Policy:network@plies=2")
    env.step(policy.action(env))                          a Gymnasium or PettingZoo environment
                                                          (`envs/fronts/front.py`, `envs/fronts/aec.py`)

For OpenSpiel's games see `search/doors/openspiel.py`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.fronts.front import BoardGameEnv, actions_of
from deltaw.envs.fronts.versus import Opponent, find_opponent, random_mover
from deltaw.envs.game import Baseline, Game
from deltaw.envs.path import make_path, outcome
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.players.agent import Agent
from deltaw.search.players.find import find_player
from deltaw.search.players.players import RANDOM, Decisions, Player
from deltaw.search.players.spec import parse_player


class Policy:
    """A player that decides for one position after the other.

    Args:
        game: a game's name, or a `Game`.
        player: a text as `search/players/spec.py` explains it (`FILE.safetensors@depth=8`, `network@plies=2`,
            `pubeval`, `random` ...), an `Agent`, or a `Player`. With three players: `random`, a baseline that can
            compare moves, or a search with one (`shares@depth=2`).
        seed: of what the player itself draws (`random`, `ties=random`) in `action` and `move`.
        threads: of a player named by text; a single position needs no more than one.

    A policy of a text or an Agent can be pickled, to travel to the workers of a vector environment. One thread at a
    time. Raises InputError for a player that cannot be found, or is for another game.
    """

    def __init__(
        self, game: str | Game, player: str | Agent | Player, *, seed: int | None = 0, threads: int | None = 1
    ) -> None:
        self.game = games.load(game) if isinstance(game, str) else game
        self.player, self.threads = player, threads
        self._np_random = np.random.default_rng(seed)
        self._choose = _mover(self.game, player, threads)
        self._plan: tuple[Any, int, list[int]] | None = None

    def __call__(self, game: Game, state: Any, np_random: np.random.Generator, path: np.ndarray | None = None) -> int:
        """The code of the chosen move: what `VersusEnv` asks of an opponent. It takes one number from `np_random`,
        whoever plays, so that the dice of a seed do not depend on that."""
        if game.name != self.game.name:
            raise InputError(f"{self!r} does not play {game.name}")
        return int(self._choose(self.game, state, np.random.default_rng(np_random.integers(2**62)), path=path))

    def move(self, state: Any, path: np.ndarray | None = None) -> int:
        """The code of the chosen move of the decision `state`, to which the game has come by `path` (`envs/path.py`;
        None: it begins here). Raises InputError where there is nothing to decide."""
        known = make_path(self.game.rules) if path is None else path
        if outcome(self.game.rules, known, state)[0] or self.game.rules.num_chance(state) > 0:
            raise InputError(
                f"there is no move to choose in {self.game.format(state)!r}: finished, or dice to be rolled"
            )
        return self(self.game, state, self._np_random, path)

    def action(self, env: Any) -> int:
        """The action for the side to move in a Gymnasium or PettingZoo environment of this game, wrapped or not.

        A move of several actions is chosen once, at its first. Raises InputError for another environment, a finished
        game, and where somebody else has begun the move in a way that this player's choice does not; ResetNeeded before
        the first `reset`.
        """
        front = _front_of(env)
        if front.game.name != self.game.name:
            raise InputError(f"{self!r} does not play {front.game.name}")
        if front.state is None:
            raise ResetNeeded("call reset() first")
        state, word = front.state, front.word
        if self._plan is None or self._plan[:2] != (state, word):
            self._plan = (state, word, actions_of(self.game, state, self.move(state, front.path), word))
        action, *rest = self._plan[2]
        longer, complete = self.game.rules.spell(state, word, action)
        self._plan = None if complete else (state, int(longer), rest)
        return action

    def __repr__(self) -> str:
        player = self.player if isinstance(self.player, str | Agent) else self.player.name
        return f"Policy({self.game.name!r}, {player!r})"

    def __getstate__(self) -> dict[str, Any]:
        """What makes it again: kernels and scratch memory stay at home, and the move in progress with them."""
        player = _packed(self.player) if isinstance(self.player, Agent) else self.player
        known = self.game.name in games.names() and games.load(self.game.name) is self.game
        game = self.game.name if known else self.game
        return {"game": game, "player": player, "threads": self.threads, "np_random": self._np_random}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        game, player = fields["game"], fields["player"]
        self.game = games.load(game) if isinstance(game, str) else game
        self.player = _unpacked(self.game, player) if isinstance(player, dict) else player
        self.threads, self._np_random, self._plan = fields["threads"], fields["np_random"], None
        self._choose = _mover(self.game, self.player, self.threads)


def _front_of(env: Any) -> BoardGameEnv:
    inner = getattr(env, "unwrapped", env)
    front = getattr(inner, "front", inner)
    if not isinstance(front, BoardGameEnv):
        raise InputError(f"{env} is no environment of this project: a policy needs its state")
    return front


# --- who chooses ------------------------------------------------------------------------------------------------


def _mover(game: Game, player: str | Agent | Player, threads: int | None) -> Opponent:
    if isinstance(player, Agent):
        if player.game.name != game.name:
            raise InputError(f"the agent plays {player.game.name}, not {game.name}")
        return functools.partial(_by_agent, player)
    if not isinstance(player, str):
        return functools.partial(_by_player, player)
    if player == RANDOM:
        return random_mover
    if game.rules.num_players > 2 and not parse_player(player).how.searches:
        return _among_many(game, player)
    return functools.partial(_by_player, find_player(game, player, threads=threads))


def _by_agent(
    agent: Agent, game: Game, state: Any, np_random: np.random.Generator, path: np.ndarray | None = None
) -> int:
    return agent.choose(state, path)


def _by_player(
    player: Player, game: Game, state: Any, np_random: np.random.Generator, path: np.ndarray | None = None
) -> int:
    """Players draw by a seed and the number of the game: here a new seed every time."""
    decision = Decisions.of(game.row(state)[None], paths=None if path is None else path[None])
    return int(player.choose(decision, int(np_random.integers(2**62))).moves[0])


def _among_many(game: Game, text: str) -> Opponent:
    """Plies are for two players: with more, a baseline compares the moves."""
    if text not in game.baselines:
        known = ", ".join([RANDOM, *game.baselines])
        raise InputError(
            f"no player {text!r} for the {game.rules.num_players} players of {game.name}; {known}, or NAME@depth=2"
        )
    return find_opponent(game, text)


# --- an agent as plain data -------------------------------------------------------------------------------------


def _packed(agent: Agent) -> dict[str, Any]:
    """The arguments that make the agent again, without its kernels."""
    evaluator: Any = agent.evaluator
    if isinstance(evaluator, Baseline):
        evaluator = evaluator.name
    elif isinstance(evaluator, Evaluator):
        evaluator = (evaluator.description, evaluator.tensors)
    else:
        raise InputError(
            f"an agent with {type(evaluator).__name__} cannot be pickled: give the policy the name of its file instead"
        )
    return {"evaluator": evaluator, "databases": agent.databases, "endings": agent.endings, **agent.how._asdict()}


def _unpacked(game: Game, packed: dict[str, Any]) -> Agent:
    evaluator = packed.pop("evaluator")
    if isinstance(evaluator, str):
        evaluator = game.baselines[evaluator]
    elif isinstance(evaluator, tuple):
        evaluator = Evaluator(game, *evaluator)
    return Agent(game, evaluator, **packed)
