"""Learn evaluation weights for game search by self-play, and play with them at compiled speed.

    deltaw.envs           games, and their fronts for Gymnasium and PettingZoo
    deltaw.search         evaluators, searches, players, matches, and the doors for people and programs
    deltaw.learn          learners, training runs, exports
    deltaw.conf           the configuration of training runs (Hydra)
    deltaw.checkpoints    evaluators and tables that come with the package

`import deltaw` registers every game with Gymnasium: `gymnasium.make("deltaw:deltaw/Backgammon-v0")`.
"""

import sys
from pathlib import Path

# The command `deltaw` makes no environments, and importing Gymnasium would take longer than all of `deltaw --help`.
if not sys.argv or Path(sys.argv[0]).stem != "deltaw":
    import deltaw.envs.fronts  # noqa: F401
