"""A game in another installed package works everywhere, and a broken one harms nobody.

The package is built and installed into a temporary folder as pip does it, and everything runs in processes of its own,
which see that folder.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from conftest import ROOT, python_state, random_game

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.fronts.front import first_state
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.envs.plain import plain_game, square_name
from deltaw.envs.record import read_json_lines
from deltaw.search.analysis.batch import read_position
from deltaw.search.doors import view

KAYLES = '''
"""Kayles: knock down one pin, or two that stand together; who takes the last one wins."""
from typing import NamedTuple
import numpy as np
from deltaw.envs.game import Baseline
from deltaw.envs.kernel import kernel
from deltaw.envs.plain import plain_game

class State(NamedTuple):
    pins: int
    seat: int

def make(name, number):
    @kernel
    def initial():
        return State(np.int64((1 << number) - 1), np.int64(0))

    @kernel
    def legal_moves(state, out):
        n = 0
        for pin in range(number):
            for both in range(2):
                knocked = (1 + 2 * both) << pin
                if state.pins & knocked == knocked:
                    out[n] = 2 * pin + both
                    n += 1
        return n

    @kernel
    def play(state, move):
        return State(state.pins & ~((1 + 2 * (move & 1)) << (move >> 1)), 1 - state.seat)

    @kernel
    def outcome(state):
        return state.pins == 0, np.int64(-1 if state.pins == 0 else 0)

    @kernel
    def odd(state):
        return 0.5 if state.pins & 1 else -0.5

    return plain_game(
        name, name.capitalize(), State, board=(1, number), masks=("pins",),
        text={"baselines": {"odd": Baseline("odd", "value", odd, "a guess")}},
        initial=initial, legal_moves=legal_moves, play=play, outcome=outcome, max_moves=2 * number,
    )

GAME = make("kayles", 7)
SHORT = make("short_kayles", 5)
'''
PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "tiny-games"
version = "1.2"
dependencies = ["deltaw"]
[project.entry-points."deltaw.games"]
kayles = "tiny_games.kayles:GAME"
short_kayles = "tiny_games.kayles:SHORT"
[tool.setuptools]
packages = ["tiny_games"]
[tool.setuptools.package-data]
tiny_games = ["conf/*/*.yaml"]
"""
PIN_GROUPS = [0, 1, 2, 3, 1, 4, 3, 2]
"""Kayles' nim-values of 0 to 7 pins in a row: Guy & Smith, The G-values of various games (1956)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder with an installed package of two games, and one of broken ones."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    package = source / "tiny_games"
    for folder in ("game", "experiment", "learner"):
        (package / "conf" / folder).mkdir(parents=True)
    (source / "pyproject.toml").write_text(PROJECT)
    (package / "__init__.py").touch()
    (package / "kayles.py").write_text(KAYLES)
    (package / "conf" / "game" / "short_kayles.yaml").write_text(
        "name: short_kayles\nfeatures: pieces\nopponents: [odd]\n"
    )
    (package / "conf" / "experiment" / "tiny.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /game: short_kayles\n  - override /evaluator: linear\ngames: 64\n"
    )
    (package / "conf" / "learner" / "careful.yaml").write_text("defaults:\n  - td_linear\nstep_size: 0.001\n")
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", *words, "--target", site, source], check=True)
    broken = site / "broken_games-3.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-games\nVersion: 3.0\n")
    (broken / "entry_points.txt").write_text("[deltaw.games]\nbroken = broken_games:GAME\n")
    (site / "broken_games.py").write_text("raise RuntimeError('no such board\\nsecond line')\n")
    return site


def run(site: Path, *words: str, folder: Path = ROOT, text: str = "") -> subprocess.CompletedProcess:
    """A command with the packages of `site` installed; errors are not hidden."""
    known = os.pathsep.join(filter(None, [str(site), str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, *words], env=os.environ | {"PYTHONPATH": known}, cwd=folder, input=text, capture_output=True,
        text=True,
    )  # fmt: skip


def good(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def ways(pins: int, moves: int) -> int:
    """Sequences of `moves` moves: plain Python."""
    if moves == 0:
        return 1
    after = [pins & ~(k << i) for i in range(7) for k in (1, 3) if pins & k << i == k << i]
    return sum(ways(left, moves - 1) for left in after)


def nim_value(pins: int) -> int:
    value = 0
    for group in f"{pins:b}".split("0"):
        value ^= PIN_GROUPS[len(group)]
    return value


# --- everywhere -------------------------------------------------------------------------------------------------------


def test_rules_and_solver(site):
    assert f"{ways(127, 4):,}" in good(run(site, "-m", "deltaw.envs.perft", "kayles", "4"))
    positions = list(range(1, 128, 5))
    lines = "".join(json.dumps({"position": f"{pins},0"}) + "\n" for pins in positions)
    answers = good(
        run(site, "-m", "deltaw.search.analyze", "kayles", "--solve", "--batch", "-", text=lines)
    ).splitlines()
    for pins, answer in zip(positions, answers, strict=True):
        assert json.loads(answer)["score"] == (1 if nim_value(pins) else -1)


FRONTS = """
import copy, pickle, gymnasium as gym, numpy as np, envs
from gymnasium.utils.env_checker import check_env
if __name__ == "__main__":
    for name in ("Kayles", "KaylesVersus", "ShortKayles"):
        env = gym.make(f"deltaw:deltaw/{name}-v0")
        check_env(env.unwrapped, skip_render_check=True)
        pickle.loads(pickle.dumps(env.unwrapped)).reset(seed=1)
    for kind in ("async", "vector_entry_point"):
        many = gym.make_vec("deltaw:deltaw/Kayles-v0", num_envs=2, vectorization_mode=kind)
        _, info = many.reset(seed=3)
        assert info["action_mask"].shape == (2, 14), info
        for _ in range(12):
            actions = [np.flatnonzero(m)[0] if m.any() else 0 for m in info["action_mask"]]
            _, reward, over, _, info = many.step(np.array(actions))
        many.close()
    from deltaw.envs import games
    assert "broken" in games.names() and "deltaw/Broken-v0" in gym.registry
    try:
        gym.make("deltaw:deltaw/Broken-v0")
    except ValueError as error:
        assert "broken-games 3.0" in str(error), error
    else:
        raise AssertionError
    assert [g.name for g in games.load_all()] == [n for n in games.names() if n != "broken"]
    try:
        import pettingzoo
    except ImportError:
        pass
    else:
        from deltaw.envs.fronts import aec
        agents = aec.env("kayles")
        agents.reset(seed=1)
        for agent in agents.agent_iter():
            observation, reward, over, truncated, info = agents.last()
            agents.step(None if over or truncated else int(np.flatnonzero(observation["action_mask"])[0]))
    print("played")
"""


def test_gymnasium_in_one_process_and_in_several(site, tmp_path):
    (tmp_path / "fronts.py").write_text(FRONTS)
    done = run(site, str(tmp_path / "fronts.py"))
    assert good(done).endswith("played\n")
    assert "left out: game 'broken' of the package broken-games 3.0" in done.stderr


COMMANDS = """
import sys
from deltaw.search import analyze, arena, league, play, record
file, games = sys.argv[1:]
for main, words in (
    (arena.main, ["kayles", file, "odd", "--games", "20", "--json"]),
    (league.main, ["kayles", file, "odd", "--games", "4", "--json"]),
    (analyze.main, ["kayles", "--evaluator", file, "--depth", "2", "--json"]),
    (record.main, ["kayles", file, "random", "--games", "2", "--to", games]),
):
    print(main.__module__, flush=True)
    assert main(words) == 0, words
print("play", play.main(["kayles", "--evaluator", file, "--depth", "2", "--seed", "1"], lines=["hint", "quit"]))
"""


@pytest.mark.slow  # it compiles every kernel for a game of its own
def test_training_and_what_comes_after(site, tmp_path):
    """From the game's own defaults; then every command that takes an evaluator."""
    folder = tmp_path / "run"
    small = [
        "games=64",
        "learner.slots=16",
        "evaluator.hidden=[4]",
        "measure.games=4",
        "measure.final_games=4",
        "measure.past=0",
    ]
    words = ["game=kayles", *small, "workers=2", f"hydra.run.dir={folder}"]
    good(run(site, "-m", "deltaw.learn.train", *words))
    opponents = {json.loads(line)["opponent"] for line in (folder / "strength.jsonl").read_text().splitlines()}
    assert opponents == {"random", "odd"}
    file = tmp_path / "kayles.safetensors"
    good(run(site, "-m", "deltaw.learn.export", f"run={folder}", f"to={file}", "positions=50"))
    (tmp_path / "commands.py").write_text(COMMANDS)
    assert good(run(site, str(tmp_path / "commands.py"), str(file), str(tmp_path / "games.jsonl"))).endswith("play 0\n")
    question = json.dumps({"do": "choose", "game": "kayles", "depth": 2})
    answer = json.loads(
        good(run(site, "-m", "deltaw.search.lines", "kayles", "--player", str(file), text=question + "\n"))
    )
    assert answer["ok"]


def test_settings_of_the_package(site, tmp_path):
    """Its own conf/ is found: a game's YAML, an experiment, and settings of a learner; another game's features can be
    chosen without a YAML."""
    words = ("experiment=tiny", "learner=careful", "--cfg", "job")
    done = run(site, "-m", "deltaw.learn.train", *words, folder=tmp_path)
    settings = yaml.safe_load(good(done))
    assert settings["game"] == {"name": "short_kayles", "features": "pieces", "opponents": ["odd"]}
    assert settings["learner"]["name"] == "td_linear"
    assert settings["learner"]["step_size"] == 0.001
    done = run(site, "-m", "deltaw.learn.train", "experiment=wrong", folder=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch("error: there is no experiment=wrong; there are: backgammon_.*, tiny\n", done.stderr)
    done = run(site, "-m", "deltaw.learn.train", "game=kayles", "game.features=wrong", folder=tmp_path)
    assert done.returncode == 2
    assert "kayles has no feature set 'wrong'; it has: pieces" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_conformance_tests_and_the_benchmarks_find_it(site):
    words = ("-q", "-n", "0", "-p", "no:cacheprovider", "tests/envs/test_games.py", "-k", "kayles and not short")
    assert good(run(site, "-m", "pytest", *words)).count(".") >= 25
    code = (
        "from benchmarks import bench_rules as b; from benchmarks.measure import Settings; import inspect\n"
        "from envs import games\n"
        "print([g.name for g in games.load_all()], 'load_all' in inspect.getsource(b.bench_expand))"
    )
    out = good(run(site, "-c", code))
    assert "'kayles'" in out
    assert out.endswith("True\n")


# --- broken ones ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("deltaw.envs.perft", "broken", "1"), ("deltaw.learn.train", "game=broken")])
def test_a_broken_package_is_one_line(site, tmp_path, command):
    done = run(site, "-m", *command, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "error: game 'broken' of the package broken-games 3.0 cannot be loaded: RuntimeError: no such board\n"
    )
    assert list(tmp_path.iterdir()) == []


def offer(monkeypatch, *points: tuple[str, str]) -> None:
    found = tuple(importlib.metadata.EntryPoint(name, value, games.GROUP) for name, value in points)
    monkeypatch.setattr(games, "plugins", lambda: found)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("other", "deltaw.envs.games.tic_tac_toe:GAME", "calls itself 'tic_tac_toe'"),
        ("other", "deltaw.envs.games.tic_tac_toe:FULL", "is no Game but of type int"),
        ("other", "no_such_module_at_all:GAME", "ModuleNotFoundError"),
        ("other", "deltaw.envs.games.tic_tac_toe:NONE", "AttributeError"),
    ],
)
def test_what_is_offered_must_be_the_game(monkeypatch, name, value, said):
    offer(monkeypatch, (name, value))
    with pytest.raises(InputError, match=said):
        games.load(name)


def test_two_packages_may_not_offer_the_same(monkeypatch):
    offer(monkeypatch, ("other", "a:GAME"), ("other", "b:GAME"))
    with pytest.raises(InputError, match="offered by a:GAME and by b:GAME"):
        games.load("other")


def test_names_that_would_be_no_ids_are_not_listed(monkeypatch):
    offer(monkeypatch, ("My Game", "a:GAME"), ("fine_2", "b:GAME"))
    assert "fine_2" in games.names()
    assert "My Game" not in games.names()


def test_ours_come_first(monkeypatch):
    point = importlib.metadata.EntryPoint("tic_tac_toe", "wrong:GAME", games.GROUP)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point])
    assert games.plugins.__wrapped__() == ()


# --- games without their own notation ---------------------------------------------------------------------------------


def test_a_plain_game_agrees_with_the_written_out_one():
    """Tic-tac-toe from its rules alone: the board, the features and the moves are those of the game's own file."""
    own = games.load("tic_tac_toe")
    rules = {name: getattr(own.rules, name) for name in ("initial", "seat", "legal_moves", "play", "outcome")}
    plain = plain_game(
        "plain",
        "Plain",
        own.state,
        board=(3, 3),
        max_moves=9,
        masks=("me", "opponent"),
        **rules | {"outcomes": (-1, 0, 1)},
    )
    for number in range(5):
        for state in random_game(own, 3, number):
            lines = plain.ansi(state).splitlines()
            shown = "".join(line[2:].replace(" ", "") for line in lines[:3]).replace(".", "-")
            assert shown == own.format(state)
            assert lines[-1] == f"{'XO'[own.rules.seat(state)]} to move"
            assert active(plain, plain.features(), state) == active(own, own.features("cells"), state)
            assert python_state(plain, plain.parse(plain.format(state))) == state
            if not own.rules.outcome(state)[0]:
                for move in own.moves(state):
                    assert plain.move_text(state, move) == square_name((3, 3), move)
                    assert plain.find_move(state, plain.move_text(state, move)) == move


def active(game, features, state) -> list[int]:
    index, value = np.empty(20, np.int32), np.empty(20, np.float32)
    n = game.rules.features(state, np.array(features.spec, np.int64), index, value)
    assert set(value[:n]) <= {1.0}
    return list(index[:n])


class Creep(NamedTuple):
    """Pieces that step to the right on a single row, and nothing else."""

    me: int
    opponent: int
    last: int
    seat: int


@kernel
def creep_start():
    return Creep(np.int64(1), np.int64(1 << 62), np.int64(-1), np.int64(0))


@kernel
def steps(state, out):
    n = 0
    for square in range(62):
        if state.me >> square & 1 and not (state.me | state.opponent) >> (square + 1) & 1:
            out[n] = square
            n += 1
    return n


@kernel
def step(state, square):
    return Creep(state.opponent, state.me ^ (3 << square), square, 1 - state.seat)


@kernel
def arrived(state):
    over = state.opponent >> 61 & 1 != 0
    return over, np.int64(-1 if over else 0)


def creep(**changes: Any) -> Game:
    given = {"board": (1, 63), "max_moves": 3, "ranges": {"last": range(-1, 63)}, **changes}
    return plain_game(
        "creep", "Creep", Creep, initial=creep_start, legal_moves=steps, play=step, outcome=arrived, **given
    )


CREEP = creep()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no position: write me, opponent, last, seat as numbers with commas between them"),
        ("1,2,0", "write me, opponent, last, seat"),
        ("1,2,0,1,0", "write me, opponent, last, seat"),
        ("a,2,0,0", "write me, opponent, last, seat"),
        ("1.5,2,0,0", "write me, opponent, last, seat"),
        (f"{'9' * 5000},2,0,0", "write me, opponent, last, seat"),
        (f"{1 << 63},2,0,0", "write me, opponent, last, seat"),
        ("1,-2,0,0", "opponent is -2, it must be from 0 to 9223372036854775807"),
        ("1,2,63,0", "last is 63, it must be from -1 to 62"),
        ("1,2,-2,0", "last is -2, it must be from -1 to 62"),
        ("1,2,0,2", "seat is 2, it must be from 0 to 1"),
        ("1,2,0,-1", "seat is -1, it must be from 0 to 1"),
        ("12,24,0,0", "me and opponent both have a piece on d1"),
    ],
)
def test_every_field_of_a_plain_position_is_checked(text, message):
    with pytest.raises(InputError) as error:
        CREEP.parse(text)
    assert message in str(error.value)


def test_a_plain_position_may_hold_what_its_fields_can():
    assert CREEP.parse(" 1, 2 ,-1,1") == (1, 2, -1, 1)
    assert CREEP.parse(f"{(1 << 62) - 1},{1 << 62},62,0") == ((1 << 62) - 1, 1 << 62, 62, 0)
    signed = creep(board=(8, 8)).parse(f"{-1 << 63},1,0,0")
    assert signed == (-1 << 63, 1, 0, 0)
    with pytest.raises(InputError, match="both have a piece on h1"):
        creep(board=(8, 8)).parse(f"{-1 << 63},-1,0,0")


def test_a_plain_game_says_what_its_fields_hold():
    with pytest.raises(
        InputError, match=r"creep: what can the field last hold\? Give plain_game ranges=\{'last': range\(...\)\}"
    ):
        creep(ranges={})
    with pytest.raises(InputError, match="a board of 65 squares does not fit into a mask"):
        creep(board=(5, 13))


STUCK, CROWDED = f"{1 << 62},1,0,0", "85,256,0,0"
RECORD = {"game": "creep", "players": ["a", "b"], "steps": []}


@pytest.mark.parametrize(
    "read",
    [
        CREEP.read_position,
        lambda text: read_position(CREEP, text, None),
        lambda text: view.read(CREEP, text),
        lambda text: first_state(CREEP, {"position": text}, ("position",)),
        lambda text: read_json_lines(CREEP, json.dumps(RECORD | {"start": text}))[0].start,
    ],
    ids=["game", "analyze", "protocol", "fronts", "records"],
)
def test_positions_without_a_move_or_with_too_many_are_refused_at_every_door(read):
    for text, moves in (STUCK, 0), (CROWDED, 4):
        with pytest.raises(InputError, match=f"it is not over, and has {moves} moves; 1 to 3 are possible"):
            read(text)
    found = read("21,256,0,0")
    assert getattr(found, "state", found) == (21, 256, 0, 0)


def test_a_finished_position_needs_no_move():
    over = f"{1 << 62},{1 << 61},0,1"
    assert CREEP.format(CREEP.read_position(over)) == over


def test_what_comes_after_the_dice_is_looked_at_too():
    """Behind one outcome of the dice nobody can move."""
    rules = games.load("trees_chance").rules
    state = games.load("trees_chance").parse("mixed/1")
    assert rules.num_chance(state) == 2
    second = int(rules.chance(state, 1)[0].node)

    @kernel
    def legal_moves(state, out):
        return 0 if state.node == second else 1

    game = replace(games.load("trees_chance"), rules=rules._replace(legal_moves=legal_moves))
    with pytest.raises(InputError, match="mixed/1 is no position of trees_chance: it is not over, and has 0 moves"):
        game.read_position("mixed/1")
