"""What tests of command lines share."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

from conftest import ROOT

LONGEST = 600.0
"""seconds that a process of a test may take, kernels to be compiled included"""


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen]:
    """A process that ends with the test that started it, and is killed when it takes too long: nobody waits for
    ever."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        end = threading.Timer(LONGEST, process.kill)
        end.start()
        try:
            yield process
        finally:
            end.cancel()
            process.kill()


def call(main: Callable[[list[str]], int], argv: list[str], capsys: Any) -> tuple[int, str, str]:
    """(status, stdout, stderr) of a command; lines about compiling do not count."""
    try:
        status = main(argv)
    except SystemExit as stop:
        status = int(stop.code or 0)
    out, err = capsys.readouterr()
    return status, out, "".join(line for line in err.splitlines(True) if not line.startswith("compiling"))


def assert_one_line(main: Callable[[list[str]], int], text: str, message: str, capsys: Any) -> None:
    """The arguments `text` are answered by exit status 2 and one line on stderr that holds `message`."""
    status, out, err = call(main, text.split(), capsys)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
