"""What our Hydra apps share: bad input is one line, found before anything is written."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hydra import compose, initialize_config_module
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from deltaw.envs.errors import InputError
from deltaw.envs.kernel import cache_folder
from deltaw.learn.run.game_settings import offer_games

Result = TypeVar("Result")


def one_line_errors(function: Callable[..., Result]) -> Callable[..., Result]:
    """InputError, or memory that runs out, becomes `error: ...` on standard error and exit status 2."""

    @functools.wraps(function)
    def guarded(*args: Any) -> Result:
        try:
            cache_folder()  # refused now rather than by the first kernel, when something has been written
            return function(*args)
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)
        except MemoryError as error:
            print(f"error: there is not enough memory: {error or 'none is left'}", file=sys.stderr)
            sys.exit(2)

    return guarded


@one_line_errors
def check_command_line(config_name: str, check: Callable[[DictConfig, Path], None] | None = None) -> Path | None:
    """Composes the configuration once before Hydra does, so that an error is one line instead of many. Then it makes
    sure that the run's folder can be written, and calls `check`, before Hydra writes anything there. Of a sweep, every
    value is checked at once. Returns the folder, or None if the command line has flags of Hydra, which Hydra handles.
    """
    offer_games()
    words, flags = ([w for w in sys.argv[1:] if w.startswith("-") == flag] for flag in (False, True))
    if not set(flags) <= {"-m", "--multirun"} or any("glob(" in word for word in words):
        return None
    try:
        with initialize_config_module("deltaw.conf", version_base="1.3"):
            runs = [
                compose(config_name, overrides=overrides, return_hydra_config=True)
                for overrides in (_each_value(words) if flags else [words])
            ]
        folders = [Path(run.hydra.sweep.dir if flags else run.hydra.run.dir) for run in runs]
    except (HydraException, OmegaConfBaseException, OSError) as error:  # OSError: a name too long for a file
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        shown = [
            line
            for line in lines
            if not line.startswith(("To append", "full_key", "object_type", "Set the environment"))
        ]
        raise InputError("; ".join(shown[:3]) + " (see --help)") from None
    for run, folder in zip(runs, folders, strict=True):
        nearest = next(p for p in [folder.absolute(), *folder.absolute().parents] if p.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            raise InputError(
                f"cannot write to the run's folder {folder}: {nearest} is not a folder that can be written"
            )
        if check is not None:
            check(OmegaConf.masked_copy(run, [str(key) for key in run if key != "hydra"]), folder)
    return folders[0]


def _each_value(words: list[str]) -> list[list[str]]:
    """Overrides of single runs in which every value of a sweep occurs, beside the first values of the other sweeps."""
    values = [
        [f"{o.get_key_element()}={value}" for value in o.sweep_string_iterator()] if o.is_sweep_override() else [word]
        for word, o in zip(words, OverridesParser.create().parse_overrides(words), strict=True)
    ]
    firsts = [choices[0] for choices in values]
    others = [[*firsts[:k], other, *firsts[k + 1 :]] for k, choices in enumerate(values) for other in choices[1:]]
    return [firsts, *others]
