"""What tests of command lines share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
