"""The run's configuration: what every knob is, and the check that catches typos.

The values live in `conf/*.yaml`; the types live here and in each learner's `Options`. A key that no dataclass has, or a
value of the wrong type, is one line of error before anything is written.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import re
from dataclasses import dataclass, field
from typing import Annotated, Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.learn.knobs import Count, CountOrZero, NotNegative, OneOf, Positive, Range, Seed, Share, check
from deltaw.learn.run.game_settings import default_opponents
from deltaw.learn.workers.backend import BACKENDS
from deltaw.search.players.spec import parse_search


@dataclass
class GameConfig:
    name: str = "???"
    """a file in envs/games/, or a game of another package"""
    features: str | None = None
    """one of the game's feature sets; null: its default"""
    opponents: list[str] | None = None
    """players that measure strength: random, a baseline, a shipped evaluator, a file; null: random and the game's first
    baseline"""


@dataclass
class TuplesConfig:
    """An n-tuple network (envs/tuples.py) with all tuples that walks, lines and cells describe."""

    walks: CountOrZero = 0
    """how many random walks over the board"""
    length: Annotated[int, Range(1, 64)] = 8
    """cells of each walk"""
    lines: list[int] = field(default_factory=list)
    """lengths of straight lines, of which all are taken"""
    cells: list[list[int]] = field(default_factory=list)
    """tuples by the numbers of their cells"""
    symmetric: bool = True
    """images of a tuple under the board's symmetries share its weights"""
    per_seat: bool = False
    """each side to move has weights of its own"""
    seed: Seed = 1
    """of the walks, so that runs with other seeds can have the same tuples"""


@dataclass
class EvaluatorConfig:
    hidden: list[Annotated[int, Range(1, 65_536)]] = field(default_factory=list)
    """units of each hidden layer; none: a linear evaluator"""
    activation: str = "relu"
    """relu, sigmoid or tanh"""
    head: str = "classes"
    """classes (chances of every outcome), tanh or identity (one value)"""
    tuples: TuplesConfig | None = None
    """an n-tuple network in place of the game's features"""


@dataclass
class MeasureConfig:
    every: Annotated[int, Range(0)] = 50_000
    """games of training between two measurements; 0: only at the end"""
    games: int = 1_000
    """games against each opponent, in pairs with the same dice"""
    final_games: int = 5_000
    """the same for the measurement that ends the run"""
    noise: Share = 0.0
    """chance of a random move, for both players: for games that are decided by the opening otherwise"""
    first_only: bool = False
    """the evaluator begins every game: for games that the first player should win, against opponents that punish every
    mistake"""
    searches: list[str] = field(default_factory=list)
    """searches with which the evaluator plays the same games too, as behind the @ of a player: depth=8,ties=random. The
    best evaluator of a run is then the strongest on the average of 1 ply and all searches"""
    past: CountOrZero = 2
    """how many past selves to keep as opponents: evaluators of this run at a half, a quarter ... of the games so far"""


@dataclass
class RunConfig:
    game: GameConfig = field(default_factory=GameConfig)
    evaluator: EvaluatorConfig = field(default_factory=EvaluatorConfig)
    learner: Any = None
    """name of a module in learn/, and its Options"""
    games: Annotated[int, Range(1)] = 1_000_000
    """the budget: schedules run over it"""
    minutes: Positive | None = None
    """stop earlier than the budget, if it takes longer than this"""
    seed: Seed = 1
    backend: Annotated[str, OneOf(BACKENDS)] = "threads"
    """where self-play and fitness run: threads, or serial (one job after the other); it changes no result"""
    workers: Annotated[int, Range(0, 1024)] = 0
    """threads of self-play and measurement (updates run in one); 0: one for every core"""
    start_from: str | None = None
    """an evaluator file, or the name of a shipped one, whose weights to start from; it brings its own features and
    shape"""
    measure: MeasureConfig = field(default_factory=MeasureConfig)
    log_every: Count = 50
    """updates between two points of the training curves"""
    checkpoint_minutes: NotNegative = 1.0
    """minutes between two checkpoints"""


def checked(raw: DictConfig) -> RunConfig:
    """The configuration as objects; raises InputError naming the key."""
    run = _merge(RunConfig, {str(k): v for k, v in raw.items() if k not in ("learner", "experiment")}, "")
    if not isinstance(raw.get("learner"), DictConfig):
        raise InputError("the configuration names no learner; try learner=td_forward")
    options = dict(raw.learner)
    name = str(options.pop("name", ""))
    run.learner = (name, _merge(learner_module(name).Options, options, "learner."))
    _check_ranges(run)
    _complete(run.game)
    return run


def settings_of(run: RunConfig) -> dict[str, Any]:
    """The configuration as plain values, as checkpoints keep it."""
    name, options = run.learner
    return dataclasses.asdict(run) | {"learner": {"name": name, **dataclasses.asdict(options)}}


def completed(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that an earlier version kept, with the defaults of the knobs that it did not have yet: they do what it
    did. As they are, where they do not fit any more."""
    try:
        return settings_of(checked(OmegaConf.create(settings)))
    except InputError:
        return settings


def learner_module(name: str) -> Any:
    """The module `learn.NAME`, if it is a learner: it has `Options` and `make`. Nothing else is ever imported by
    name."""
    if re.fullmatch(r"[a-z_]+", name) and importlib.util.find_spec(f"deltaw.learn.learners.{name}"):
        module = importlib.import_module(f"deltaw.learn.learners.{name}")
        if hasattr(module, "Options") and hasattr(module, "make"):
            return module
    raise InputError(f"learner.name={name!r} is no learner: it names a module of learn/ such as td_forward")


def _merge(schema: type, values: dict[str, Any], prefix: str) -> Any:
    try:
        merged = OmegaConf.merge(OmegaConf.structured(schema), OmegaConf.create(values))
        return OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        key = f"{prefix}{error.full_key}" if error.full_key else "the configuration"
        raise InputError(f"{key}: {str(error.msg or error).splitlines()[0]}") from None


def _complete(chosen: GameConfig) -> None:
    """What the settings leave to the game, so that a checkpoint tells all."""
    if chosen.features is None or chosen.opponents is None:
        game = games.load(chosen.name)
        chosen.features = chosen.features or game.default_features
        chosen.opponents = default_opponents(game) if chosen.opponents is None else chosen.opponents


def _check_ranges(run: RunConfig) -> None:
    check(run, prefix="")  # the learner checks its own when it is made
    for name, wanted in (("measure.games", run.measure.games), ("measure.final_games", run.measure.final_games)):
        if wanted < 2 or wanted % 2:
            raise InputError(f"{name}={wanted} must be even and at least 2: games come in pairs with seats swapped")
    for text in run.measure.searches:
        parse_search(text)
