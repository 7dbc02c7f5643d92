"""The shipped evaluators are what their table says."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from deltaw.envs import games
from deltaw.search.evaluators.evaluator import load_evaluator
from deltaw.search.evaluators.named import shipped
from deltaw.search.matches.match import match
from deltaw.search.players.find import find_player

TABLE = (Path(__file__).parent.parent / "checkpoints" / "README.md").read_text()
SHIPPED = [(name, key, path) for name in games.names() for key, path in shipped(games.load(name)).items()]


def test_backgammon_ships_a_linear_and_a_network_evaluator():
    kinds = {load_evaluator(path).description.kind for name, _, path in SHIPPED if name == "backgammon"}
    assert kinds == {"linear", "mlp"}


@pytest.mark.parametrize(("game_name", "key", "path"), SHIPPED, ids=[path.name for *_, path in SHIPPED])
def test_the_table_has_its_checksum_and_how_it_was_made(game_name, key, path):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (line,) = [line for line in TABLE.splitlines() if line.startswith(f"| `{path.name}`")]
    assert digest[:16] in line
    trained = load_evaluator(path, games.load(game_name)).description.trained
    assert f"| {trained['games']:,} |" in line
    assert f"| {trained['seed']} |" in line
    assert trained["command"].split("train ", 1)[1] in line


@pytest.mark.parametrize(("game_name", "key", "path"), SHIPPED, ids=[path.name for *_, path in SHIPPED])
def test_it_is_as_strong_as_the_table_says(game_name, key, path):
    """600 games at 1 ply against the opponent of the table, four standard errors of room; other dice than those of the
    table."""
    game = games.load(game_name)
    (line,) = [line for line in TABLE.splitlines() if line.startswith(f"| `{path.name}`")]
    claimed = float(re.search(r"([+-]\d\.\d+) ± \d", line)[1])
    opponent, *options = re.search(r"`([a-z_0-9]+(?: --[a-z-]+ [\d.]+)*)` \|[^|]*± ", line)[1].split()
    settings = dict(zip(options[::2], options[1::2], strict=True))
    noise, plies = float(settings.get("--noise", 0)), settings.get("--opening-plies")
    players = (find_player(game, key), find_player(game, opponent))
    result = match(game, *players, 600, seed=77, noise=noise, opening_plies=int(plies) if plies else None)
    assert abs(result.mean - claimed) < 4 * result.standard_error


def test_the_network_knows_what_everybody_knows():
    """The opening 3-1 makes the 5-point; one checker on the 6-point each, on roll, wins 13/16 (exact)."""
    from deltaw.search.evaluators.named import find_evaluator
    from deltaw.search.players.agent import Agent

    game = games.load("backgammon")
    agent = Agent(game, find_evaluator(game, "network"), plies=2)
    start = game.rules.initial()
    state, _ = game.rules.chance(start, game.find_chance(start, "31"))
    assert agent.rank(state)[0].text == "8/5 6/5"
    from deltaw.envs.games.backgammon.notation import from_board

    side = [0] * 5 + [1] + [0] * 19 + [14]
    chances = agent.value(from_board(side, side)).chances
    assert np.sum(chances[3:]) == pytest.approx(0.8125, abs=0.05)
