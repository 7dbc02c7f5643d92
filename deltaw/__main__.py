"""The command `deltaw NAME ...`: it loads the module of that name and nothing else, and hands it the other words."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

from deltaw.envs.errors import BAD_INPUT, one_line

COMMANDS = {
    "deltaw.learn": ("train", "export", "report", "plot", "adapt"),
    "deltaw.search": (
        "play", "serve", "analyze", "arena", "league", "record", "build",
        "oracle", "exhaustive", "equilibrium", "theory", "picture", "lines", "spiel", "uci",
    ),
    "deltaw.envs": ("perft",),
}  # fmt: skip
"""package -> those of its modules that are commands"""
MODULES = {name: f"{package}.{name}" for package, names in COMMANDS.items() for name in names}


def main() -> int | None:
    words = sys.argv[1:]
    if words in (["-h"], ["--help"]):
        print(usage())
        return 0
    if words == ["--version"]:
        print(f"deltaw {importlib.metadata.version('deltaw')}")
        return 0
    if not words or words[0] not in MODULES:
        given = one_line(f"unknown command {words[0]!r}", 100) if words else "no command was given"
        print(f"error: {given}; there are: {', '.join(MODULES)} (try deltaw --help)", file=sys.stderr)
        return BAD_INPUT
    sys.argv = [f"deltaw {words[0]}", *words[1:]]
    return importlib.import_module(MODULES[words[0]]).main()


def usage() -> str:
    """Every command with the first sentence of its module."""
    lines = [f"  {name:<12}{about(module)}" for name, module in MODULES.items()]
    return "\n".join(["usage: deltaw COMMAND ...", "", *lines, "", "deltaw COMMAND --help explains a command."])


def about(module: str) -> str:
    """The first line of a module's docstring, up to the command that it names; the module is not imported."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    with Path(spec.origin).open() as file:
        return file.readline().strip().strip('"').split(": `")[0].rstrip(".")


if __name__ == "__main__":
    raise SystemExit(main())
