"""What our Hydra apps share: bad input is one line, found before anything is written."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_module
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from envs.errors import InputError


def one_line_errors(function: Callable[..., None]) -> Callable[..., None]:
    """InputError becomes `error: ...` on standard error and exit status 2."""

    @functools.wraps(function)
    def guarded(*args: Any) -> None:
        try:
            function(*args)
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)

    return guarded


@one_line_errors
def check_command_line(config_name: str, check: Callable[[DictConfig, Path], None] | None = None) -> None:
    """Compose the configuration once before Hydra does, to say in one line what Hydra says in many, and see that the run's folder
    can be written; then `check` it, before Hydra writes anything there. Sweeps and Hydra's own flags are left to Hydra."""
    words = sys.argv[1:]
    if any(word.startswith("-") for word in words):
        return
    try:
        with initialize_config_module("conf", version_base="1.3"):
            composed = compose(config_name, overrides=words, return_hydra_config=True)
            folder = Path(composed.hydra.run.dir)
    except (HydraException, OmegaConfBaseException) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        shown = [
            line
            for line in lines
            if not line.startswith(("To append", "full_key", "object_type", "Set the environment"))
        ]
        raise InputError("; ".join(shown[:3]) + " (see --help)") from None
    nearest = next(p for p in [folder.absolute(), *folder.absolute().parents] if p.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise InputError(f"cannot write to the run's folder {folder}: {nearest} is not a folder that can be written")
    if check is not None:
        check(OmegaConf.masked_copy(composed, [str(key) for key in composed if key != "hydra"]), folder)
