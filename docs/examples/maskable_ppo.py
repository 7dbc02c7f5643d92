"""MaskablePPO of sb3-contrib learns a game against an opponent. Needs the extra `sb3`: pip install "deltaw[sb3]"

    python docs/examples/maskable_ppo.py                20 seconds of one core: from -0.27 to +0.78 ± 0.05 points a game
    python docs/examples/maskable_ppo.py deltaw/ConnectFourVersus-v0 \\
        --opponent deltaw.search.doors.policy:Policy:linear --steps 500000

Any id that ends in `Versus-v0` will do. The environments have the method `action_masks`, which MaskablePPO looks for;
nothing is wrapped.
"""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from deltaw.envs.cli import Parser, guarded  # importing `envs` registers the ids
from deltaw.envs.errors import InputError


def score(model: MaskablePPO, env: gym.Env, games: int, seed: int) -> tuple[float, float]:
    """Mean reward of games with the best action every time, and half of its 95 % interval."""
    rewards = np.zeros(games)
    for number in range(games):
        observation, info = env.reset(seed=seed + number)
        over = truncated = False
        while not (over or truncated):
            action, _ = model.predict(observation, action_masks=info["action_mask"], deterministic=True)
            observation, reward, over, truncated, info = env.step(action)
        rewards[number] = reward
    return float(rewards.mean()), 1.96 * float(rewards.std(ddof=1)) / math.sqrt(games)


@guarded
def main(argv: list[str] | None = None) -> None:
    parser = Parser(description="MaskablePPO learns a game against an opponent.")
    parser.add_argument("id", nargs="?", default="deltaw/TicTacToeVersus-v0", help="default %(default)s")
    parser.add_argument("--opponent", default="random", help="see envs/fronts/versus.py (default %(default)s)")
    parser.add_argument("--steps", type=int, default=60_000, help="of training (default %(default)s)")
    parser.add_argument("--games", type=int, default=500, help="of each measurement (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    known = [name for name in gym.registry if name.startswith("deltaw/") and name.endswith("Versus-v0")]
    if options.id not in known:
        raise InputError(f"unknown id {options.id!r}; there are: {', '.join(known)}")
    for name, least in (("steps", 1), ("games", 2)):
        if getattr(options, name) < least:
            raise InputError(f"--{name} must be at least {least}, not {getattr(options, name)}")

    torch.set_num_threads(1)  # the network is small: more threads only wait for each other
    name = f"envs:{options.id}"  # so that another process, too, imports `envs` first, which registers the ids
    training = make_vec_env(name, n_envs=8, seed=options.seed, env_kwargs={"opponent": options.opponent})
    measuring = gym.make(name, opponent=options.opponent)
    model = MaskablePPO(
        "MlpPolicy",
        training,
        n_steps=256,
        batch_size=256,
        gamma=1.0,
        learning_rate=1e-3,
        seed=options.seed,
        device="cpu",
    )
    for when in ("before", "after"):
        mean, half = score(model, measuring, options.games, seed=1_000_000)
        print(
            f"{when} training: {mean:+.3f} ± {half:.3f} points a game against {options.opponent} "
            f"(95 %, {options.games} games)"
        )
        if when == "before":
            model.learn(options.steps)


if __name__ == "__main__":
    raise SystemExit(main())
