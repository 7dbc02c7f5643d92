"""Chess engines of others, which speak UCI: `uci:PROGRAM` or `uci:PROGRAM@OPTION=VALUE,...` names one.

    uci:stockfish                  as it comes
    uci:stockfish@elo=1400         UCI_LimitStrength and UCI_Elo
    uci:stockfish@skill=3,hash=64  any option of the engine; case and spaces in its name do not matter

PROGRAM is a name that the shell finds, a file, or a command line. It is started where it is needed, once a thread, and
is ended with the `UciProcess` that belongs to it, whatever happens. Nobody waits for an answer longer than the engine
may think and `PATIENCE` seconds.

Source: S. Meyer-Kahlen, "UCI protocol" (2006).
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shlex
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence
from typing import IO, NamedTuple

from deltaw.envs.errors import InputError, cut, short
from deltaw.envs.game import Game

PREFIX = "uci:"
PATIENCE = 30.0
"""seconds to wait for an answer that should come at once"""
STARTING = 120.0
"""seconds until a started engine is ready: some compile, or load large networks"""
LONGEST = 600.0
"""seconds of a search that is limited by depth or nodes alone"""
LONGEST_LINE = 1 << 16
READ_AHEAD = 1 << 12
"""lines; an engine that writes more waits"""
ALIASES = {"elo": "UCI_Elo", "skill": "Skill Level"}
"""short names of options that many engines have"""


class UciOption(NamedTuple):
    """An option that an engine has."""

    name: str
    kind: str
    least: int | None
    most: int | None
    choices: tuple[str, ...]


class Answer(NamedTuple):
    """What an engine answered about a position."""

    move: str
    infos: dict[str, list[str]]
    """number of the line (multipv) -> words of the last `info` about it"""


class UciEngine:
    """An engine as it was named, with its options; it does not run yet. Raises InputError for another game than chess
    and for settings that cannot be read."""

    def __init__(self, game: Game, text: str) -> None:
        if game.name != "chess":
            raise InputError(f"{text} plays chess, not {game.name}")
        self.game, self.name = game, text
        program, _, settings = text.removeprefix(PREFIX).partition("@")
        self.command = [program] if os.path.exists(program) else shlex.split(program)
        pairs = [setting.partition("=") for setting in settings.split(",") if setting]
        strange = next((name for name, equals, value in pairs if not (name and equals and value)), None)
        if strange is not None or not self.command:
            raise InputError(f"{text}: {PREFIX}PROGRAM or {PREFIX}PROGRAM@OPTION=VALUE,... is right")
        self.settings = {name: value for name, _, value in pairs}

    def start(self) -> UciProcess:
        """Raises InputError where the program cannot be started, or does not have the options."""
        process = UciProcess(self.name, self.command)
        if "elo" in self.settings:
            process.set("UCI_LimitStrength", "true")
        for name, value in self.settings.items():
            process.set(ALIASES.get(name, name), value)
        process.wait_until_ready(STARTING)
        return process


class UciProcess:
    """A running engine. One thread at a time. Every method raises InputError where the engine fails."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for us: we end the engine
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise InputError(f"{name}: cannot start {short(command[0])}: {reason}; is it installed?") from None
        assert self._process.stdout is not None
        self._lines: queue.Queue[str | None] = queue.Queue(READ_AHEAD)
        self.end = weakref.finalize(self, _end, self._process)
        threading.Thread(target=_listen, args=(self._process.stdout, self._lines), daemon=True).start()
        self.options = self._introduce()
        self._values: dict[str, str] = {}

    def _introduce(self) -> dict[str, UciOption]:
        self._send("uci")
        lines = self._receive("uciok", PATIENCE)
        options = [read_option(line) for line in lines if line.startswith("option ")]
        return {plain_name(option.name): option for option in options if option is not None}

    def has(self, name: str) -> bool:
        return plain_name(name) in self.options

    def set(self, name: str, value: str) -> None:
        """Sets an option, unless it has this value already. Raises InputError also for values that it cannot have."""
        option = self.options.get(plain_name(name))
        if option is None:
            known = ", ".join(option.name for option in self.options.values())
            raise InputError(f"{self.name}: the engine has no option {short(name)}; it has {known or 'none'}")
        if self._values.get(option.name) != value:
            check_value(self.name, option, value)
            self._send(f"setoption name {option.name} value {value}")
            self._values[option.name] = value

    def wait_until_ready(self, seconds: float) -> None:
        self._send("isready")
        self._receive("readyok", seconds)

    def ask(self, fen: str, limits: str, seconds: float) -> Answer:
        """The move that the engine chooses after `go LIMITS`, with nothing remembered; it may think so many seconds."""
        self._send("ucinewgame")
        self.wait_until_ready(PATIENCE)
        self._send(f"position fen {fen}")
        self._send(f"go {limits}")
        lines = self._receive("bestmove", seconds + PATIENCE)
        infos = [
            words for words in map(str.split, lines) if words[:1] == ["info"] and {"score", "pv"} < set(words[:-1])
        ]
        return Answer(
            after(lines[-1].split(), "bestmove", ""), {after(words, "multipv", "1"): words for words in infos}
        )

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._fail_dead()

    def _receive(self, first: str, seconds: float) -> list[str]:
        """Lines up to the one that begins with the word `first`."""
        lines: list[str] = []
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.0))
                if line is None:
                    self._fail_dead()
                    break
                lines.append(line)
                if line.split()[:1] == [first]:
                    return lines
        self.end()
        raise InputError(f"{self.name}: the engine has not answered {first} within {seconds:g} seconds")

    def _fail_dead(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        status = self._process.poll()
        self.end()
        raise InputError(f"{self.name}: the engine ended{'' if status is None else f' with status {status}'}")


def _listen(source: IO[bytes], lines: queue.Queue[str | None]) -> None:
    """In a thread of its own; it knows no `UciProcess`, so that one that nobody needs is collected."""
    with source, contextlib.suppress(OSError):
        while line := source.readline(LONGEST_LINE):
            lines.put(line.decode(errors="replace").strip())
    lines.put(None)


def _end(process: subprocess.Popen) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it has started, too: it leads a group of its own
    process.wait()
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()


# --- the words of UCI -------------------------------------------------------------------------------------------------


def after(words: Sequence[str], name: str, default: str) -> str:
    """The word that follows `name`."""
    return words[words.index(name) + 1] if name in words[:-1] else default


def plain_name(name: str) -> str:
    """An option's name without what may be written differently."""
    return re.sub("[ _-]", "", name).lower()


def read_option(line: str) -> UciOption | None:
    """The option of a line `option name NAME type KIND ...`; None where the line is none."""
    found = re.match(r"option\s+name\s+(.+?)\s+type\s+(\S+)(.*)", line)
    if found is None:
        return None
    limits = {word: int(number) for word, number in re.findall(r"\b(min|max)\s+(-?\d{1,18})\b", found[3])}
    choices = tuple(part.strip() for part in re.split(r"\bvar\b", found[3])[1:])
    return UciOption(found[1], found[2], limits.get("min"), limits.get("max"), choices)


def check_value(engine: str, option: UciOption, value: str) -> None:
    """InputError for a value that the option cannot have: most engines ignore it without a word."""
    right = ""
    if option.kind == "spin":
        number = int(value) if re.fullmatch(r"-?\d{1,18}", value) else None
        least, most = (number if limit is None else limit for limit in (option.least, option.most))
        if number is None or least is None or most is None or not least <= number <= most:
            right = f"a whole number from {option.least} to {option.most}"
    elif option.kind == "check" and value not in ("true", "false"):
        right = "true or false"
    elif option.kind == "combo" and value not in option.choices:
        right = f"one of {', '.join(option.choices)}"
    if right:
        raise InputError(f"{engine}: {option.name} is {cut(value)}; it must be {right}")
