"""Export a run, or any evaluator, to a file that others read: `deltaw export`.

    deltaw export run=outputs/backgammon/RUN to=my.safetensors
    deltaw export from=network to=backgammon.onnx

The ending of the name says what is written: the evaluator file of this project, or ONNX. docs/export.md explains both.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

from deltaw.envs.cli import INTERRUPTED
from deltaw.envs.errors import InputError
from deltaw.learn.exports.export import (
    WANTED,
    check,
    evaluator_named,
    evaluator_of_run,
    file_bytes,
    refuse_difference,
    report,
    without_folders,
)
from deltaw.learn.exports.golden import golden_path, golden_text
from deltaw.learn.exports.onnx_graph import target_of
from deltaw.learn.run.hydra_app import check_command_line, one_line_errors
from deltaw.search.evaluators.evaluator import write_whole
from deltaw.search.evaluators.named import FILES
from deltaw.search.evaluators.onnx_file import SUFFIX as ONNX


def main() -> None:
    """Entry point of `deltaw export`."""
    check_command_line("export")
    try:
        _app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


@hydra.main(version_base="1.3", config_path="pkg://deltaw.conf", config_name="export")
@one_line_errors
def _app(raw: DictConfig) -> None:
    check_options(raw)
    evaluator = evaluator_of_run(Path(str(raw.run))) if raw.run else evaluator_named(str(raw["from"]))
    note = OmegaConf.to_container(raw.note)
    assert isinstance(note, dict)
    trained = without_folders(evaluator.description.trained) | {str(name): value for name, value in note.items()}
    evaluator = dataclasses.replace(evaluator, description=dataclasses.replace(evaluator.description, trained=trained))
    path, target = Path(str(raw.to)), target_of(evaluator.description, raw.head)
    data = file_bytes(evaluator, path.suffix, target)
    found = check(evaluator, target, data, path.suffix, raw.positions)
    refuse_difference(path, found, raw.tolerance)
    write_whole(path, data)
    if raw.golden:
        write_whole(golden_path(path), golden_text(evaluator, target, raw.golden).encode())
    report(path, evaluator, found, raw.golden)


def check_options(raw: DictConfig) -> None:
    """Raises InputError for settings that do not say what to export."""
    if not raw.to or bool(raw.run) == bool(raw["from"]):
        raise InputError(f"say what to export and where to: {WANTED}")
    suffix = Path(str(raw.to)).suffix
    if suffix not in FILES:
        raise InputError(f"to={raw.to} must end in {' or '.join(FILES)}: the ending says what is written")
    if raw.head is not None and suffix != ONNX:
        raise InputError(f"head={raw.head} is for ONNX files; an evaluator file has the head that was trained")
    if not isinstance(raw.positions, int) or raw.positions < 1:
        raise InputError(f"positions={raw.positions} must be a number of positions, at least 1")
    if not isinstance(raw.golden, int) or raw.golden < 0:
        raise InputError(f"golden={raw.golden} must be a number of positions, 0 for no golden vectors")
    if not isinstance(raw.tolerance, int | float) or not raw.tolerance > 0.0:
        raise InputError(f"tolerance={raw.tolerance} must be a number above 0, such as 1e-6")
    if not isinstance(raw.note, DictConfig):
        raise InputError(f"note={raw.note} must have names: +note.minutes=12")


if __name__ == "__main__":
    main()
