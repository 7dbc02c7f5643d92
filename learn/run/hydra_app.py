"""What our Hydra apps share: bad input is one line, found before anything is written."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from hydra import compose, initialize_config_module
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.errors import CompactHydraException, HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from deltaw.envs.errors import BAD_INPUT, InputError, cut
from deltaw.envs.kernel import cache_folder
from deltaw.learn.run.config import explained, store_defaults
from deltaw.learn.run.game_settings import offer_games

Result = TypeVar("Result")


class FailedJob(CompactHydraException):
    """A job of a sweep has failed: Hydra runs the others, and at the end says this without a traceback, with exit
    status 1. Optuna counts the job as a failed trial."""


def one_line_errors(function: Callable[..., Result]) -> Callable[..., Result]:
    """InputError, or memory that runs out, becomes `error: ...` on standard error and exit status 2; in a sweep it is
    the end of this job alone."""

    @functools.wraps(function)
    def guarded(*args: Any) -> Result:
        try:
            cache_folder()  # refused now rather than by the first kernel, when something has been written
            return function(*args)
        except InputError as error:
            said = str(error)
        except MemoryError as error:
            said = f"there is not enough memory: {error or 'none is left'}"
        if HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN:
            print(f"error: job {HydraConfig.get().job.num} failed: {said}", file=sys.stderr)
            raise FailedJob(said)
        print(f"error: {said}", file=sys.stderr)
        sys.exit(BAD_INPUT)

    return guarded


def offer_configs() -> None:
    """Make all that is no file of `conf/` known to Hydra: defaults, learners and games. May be called again."""
    store_defaults()
    offer_games()


@one_line_errors
def check_command_line(config_name: str, check: Callable[[DictConfig, Path], None] | None = None) -> Path | None:
    """Composes the configuration once before Hydra does, so that an error is one line instead of many. Then it makes
    sure that the run's folder can be written, and calls `check`, before Hydra writes anything there. Of a sweep, every
    value is checked at once. Returns the folder, or None if the command line has flags of Hydra, which Hydra handles.
    """
    offer_configs()
    words, flags = ([w for w in sys.argv[1:] if w.startswith("-") == flag] for flag in (False, True))
    if not set(flags) <= {"-m", "--multirun"} or any("glob(" in word for word in words):
        return None
    try:
        runs, sweeping = composed(config_name, words, bool(flags))
        folders = [Path(run.hydra.sweep.dir if sweeping else run.hydra.run.dir) for run in runs]
    except AssertionError:  # of OmegaConf, where a key leads into nothing
        raise InputError("evaluator.tuples is null: its settings need evaluator=ntuple") from None
    except (HydraException, OmegaConfBaseException, ValueError, OSError) as error:  # OSError: too long for a file
        raise InputError(_said(error)) from None
    for run, folder in zip(runs, folders, strict=True):
        nearest = next(p for p in [folder.absolute(), *folder.absolute().parents] if p.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            raise InputError(
                f"cannot write to the run's folder {folder}: {nearest} is not a folder that can be written"
            )
        if check is not None:
            check(run, folder)
    return folders[0]


def composed(config_name: str, words: list[str], sweeping: bool) -> tuple[list[DictConfig], bool]:
    """The run that is asked for, or runs with every value of a sweep; and whether it is a sweep, which a preset may
    say as well. What such a preset sweeps over is in `hydra.sweeper.params`."""
    with initialize_config_module("deltaw.conf", version_base="1.3"):
        one = functools.partial(compose, config_name, return_hydra_config=True)
        each = _each_value(words)
        first = one(overrides=each[0])
        if not sweeping and first.hydra.mode != RunMode.MULTIRUN:
            return [first if each == [words] else one(overrides=words)], False
        params = [f"{key}={values}" for key, values in (first.hydra.sweeper.get("params") or {}).items()]
        return [one(overrides=overrides) for overrides in _each_value([*params, *words])], True


def _said(error: Exception) -> str:
    """What Hydra says in many lines, in one."""
    if isinstance(error, MissingConfigException) and error.options:
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        extra = ' (more with pip install "deltaw[sweep]")' if group.startswith("hydra/") else ""
        return f"there is no {group}={cut(name)}; there are: {', '.join(error.options)}{extra}"
    if isinstance(error.__context__, OmegaConfBaseException):
        file = re.match("In '.*?': ", str(error))
        return f"{file[0] if file else ''}{explained(error.__context__)}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(lines[:3]) + " (see --help)"


def _each_value(words: list[str]) -> list[list[str]]:
    """Overrides of single runs in which every value of a sweep occurs, beside the first values of the other sweeps; of
    an interval both ends."""
    values = [
        [f"{o.get_key_element()}={value}" for value in _values(o)] if o.is_sweep_override() else [word]
        for word, o in zip(words, OverridesParser.create().parse_overrides(words), strict=True)
    ]
    firsts = [choices[0] for choices in values]
    others = [[*firsts[:k], other, *firsts[k + 1 :]] for k, choices in enumerate(values) for other in choices[1:]]
    return [firsts, *others]


def _values(sweep: Override) -> Iterable[Any]:
    values = sweep.value()
    return (values.start, values.end) if isinstance(values, IntervalSweep) else sweep.sweep_string_iterator()
