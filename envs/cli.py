"""What every command line here does alike: bad input is one line on stderr and exit status 2, never a traceback."""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from deltaw.envs.errors import BAD_INPUT, InputError, one_line
from deltaw.envs.kernel import cache_folder
from deltaw.envs.texts import whole

INTERRUPTED = 130
"""128 + SIGINT, as shells report it"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints fit on one line, and whose whole numbers fit into 64 bits."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.register("type", int, _whole)

    def error(self, message: str) -> NoReturn:
        print(f"error: {one_line(message)} (try --help)", file=sys.stderr)
        raise SystemExit(BAD_INPUT)


def shell_name(script: str) -> str:
    """What a person types to run a script of this environment, such as `deltaw`: its name where the shell finds it,
    else its path."""
    path = Path(sys.executable).parent / script
    found = shutil.which(script)
    if not path.exists() or (found is not None and Path(found) == path):
        return script
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _accept_any_bytes() -> None:
    """Bytes on the standard input that are no text become a bad answer, not a traceback."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        with contextlib.suppress(io.UnsupportedOperation):  # somebody has read from it already
            sys.stdin.reconfigure(errors="replace")


def _whole(text: str) -> int:
    try:
        return whole(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def guarded(function: Callable[..., int | None]) -> Callable[..., int]:
    """A `main` whose return value is the exit status, whatever goes wrong on the user's side."""

    @functools.wraps(function)
    def run(*args: object, **options: object) -> int:
        _accept_any_bytes()
        try:
            cache_folder()  # refused now rather than by the first kernel, in the middle of the work
            status = function(*args, **options) or 0
            sys.stdout.flush()
        except InputError as error:
            print(f"error: {error}", file=sys.stderr)
            return BAD_INPUT
        except KeyboardInterrupt:
            return INTERRUPTED
        except (
            BrokenPipeError
        ):  # the reader (head, less) has seen enough; nothing may be flushed into the closed pipe at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return status

    return run
