"""Where a run spends its time (`debug=profile`): the file profile.prof in its folder, for `python -m pstats`.

A compiled kernel is one function there, however many it calls.
"""

from __future__ import annotations

import cProfile
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import DictConfig


class Profile(Callback):
    """Hydra calls it around the run, or around each run of a sweep."""

    def on_job_start(self, config: DictConfig, **_: Any) -> None:
        self._profile = cProfile.Profile()
        self._profile.enable()

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        self._profile.disable()
        self._profile.dump_stats(Path(config.hydra.runtime.output_dir) / "profile.prof")
