"""What the tests of training share: small configurations, runs in processes of their own, and how their results are
compared."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from command_lines import running
from conftest import ROOT
from hydra import compose, initialize_config_module

from deltaw.envs import games
from deltaw.learn.run.config import RunConfig, checked, learner_names
from deltaw.learn.run.hydra_app import offer_configs
from deltaw.learn.weights.networks import Network
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator

CONF = ROOT / "conf"
PRESETS = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))
LEARNERS = learner_names()
SMALL = ("game=tic_tac_toe", "evaluator.hidden=[8]", "workers=1", "measure.games=20", "measure.final_games=20")

LINEAR = ("evaluator=linear", "evaluator.hidden=[]", "evaluator.head=tanh")
SEARCHED = (*LINEAR, "learner.depth=2", "learner.searches=4", "learner.batch=16")
TEAM = (*LINEAR, "game.features=cells", "learner.teams=4")
NEEDS: dict[str, tuple[str, ...]] = {
    "automata_continuous": TEAM,
    "automata_discrete": (*TEAM, "learner.algorithm=lri", "learner.step_size=0.5"),
    "dynamic": (*LINEAR, "learner.pairs=2"),
    "evolution": (*LINEAR, "learner.population=6", "learner.elites=2", "learner.rounds=[4]"),
    "root_strap": SEARCHED,
    "sparring": (
        *LINEAR,
        "learner.population=6",
        "learner.elites=2",
        "learner.rounds=[4]",
        "learner.partners=2",
        "learner.partner_games=10",
        "learner.partner.population=6",
        "learner.partner.elites=2",
        "learner.partner.rounds=[4]",
    ),
    "td_leaf": SEARCHED,
    "td_linear": (*LINEAR, "learner.slots=16"),
    "tree_strap": SEARCHED,
    "true_online": (*LINEAR, "evaluator.head=identity", "learner.plies=11"),
}
"""what a learner needs to be tried on tic-tac-toe with a small step: an evaluator that it can train, and little work;
the others train any"""


def config(*overrides: str) -> RunConfig:
    offer_configs()
    with initialize_config_module("deltaw.conf", version_base="1.3"):
        return checked(compose("train", overrides=list(overrides)))


def small(*overrides: str) -> RunConfig:
    return config(*SMALL, *overrides)


def final(folder: Path) -> dict[str, np.ndarray]:
    return load_evaluator(folder / "evaluator.safetensors").tensors


def equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    """To the bit."""
    return a.keys() == b.keys() and all(np.array_equal(t, b[name]) for name, t in a.items())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def curve(folder: Path) -> list[dict]:
    """The strength curve without its clock."""
    return [json.loads(line) | {"seconds": 0} for line in (folder / "strength.jsonl").read_text().splitlines()]


def start(folder: Path, *overrides: str) -> contextlib.AbstractContextManager[subprocess.Popen]:
    return running([sys.executable, "-m", "deltaw.learn.train", *overrides, f"hydra.run.dir={folder}"])


def assert_one_error(err: str, named: str) -> None:
    lines = [line for line in err.splitlines() if not re.match(r" *[\d,]+ games", line)]  # measurements
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    assert named in lines[0]


def tic_tac_toe_network(hidden: tuple[int, ...] = (5,), head: str = "tanh") -> Evaluator:
    game = games.load("tic_tac_toe")
    network = Network(game, game.features("cells"), list(hidden), head, "sigmoid")
    network.initialize(9)
    return network.evaluator({"method": "none"})
