"""Tables of games in files: Gambit's `.nfg`, and CSV for two players.

CSV: the first line names the strategies of the second player, and each other line begins with one of the first
player's; a cell holds both payoffs, the first player's first. Numbers may be fractions, `1/3`.

    ,cooperate,defect
    cooperate,3 3,0 5
    defect,5 0,1 1

`.nfg` is described at https://gambitproject.readthedocs.io/en/stable/formats.nfg.html: it has payoffs one after the
other, the first player's strategy changing fastest, or a list of outcomes and their numbers.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np

from deltaw.envs.errors import InputError, short
from deltaw.search.equilibria.normal_form import NormalForm

ENDINGS = (".nfg", ".csv")
MOST_BYTES = 1 << 24
TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([{}])|,|([^\s{},"]+))')
NUMBER = re.compile(r"([-+]?(?:\d{1,20}\.?\d{0,20}|\.\d{1,20})(?:[eE][-+]?\d{1,3})?)(?:/(\d{1,20}))?", re.ASCII)


def read_normal_form(path: str | Path) -> NormalForm:
    """Raises InputError that names the file and what is wrong in it."""
    path = Path(path)
    _check_ending(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{path} is longer than {MOST_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
        return _read_nfg(text) if path.suffix == ".nfg" else _read_csv(text, path.stem)
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def normal_form_text(game: NormalForm, path: str | Path) -> str:
    """What a file of this name holds. Raises InputError for another ending, and for CSV of more than two players."""
    path = Path(path)
    _check_ending(path)
    if path.suffix == ".csv" and len(game.players) != 2:
        raise InputError(f"{path}: CSV holds games of 2 players, not {len(game.players)}; .nfg holds all")
    return _nfg_text(game) if path.suffix == ".nfg" else _csv_text(game)


def _check_ending(path: Path) -> None:
    if path.suffix not in ENDINGS:
        raise InputError(f"{path}: games in normal form are files that end in {' or '.join(ENDINGS)}")


def _number(text: str) -> float:
    found = NUMBER.fullmatch(text)
    if not found or float(found[2] or 1) == 0:
        raise InputError(f"{short(text)} is no payoff: a number such as 3, -0.5 or 1/3")
    return float(found[1]) / float(found[2] or 1)


def _number_text(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(float(number))


# --- CSV --------------------------------------------------------------------------------------------------------------


def _read_csv(text: str, title: str) -> NormalForm:
    try:
        rows = [row for row in csv.reader(io.StringIO(text), strict=True) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"no CSV: {error}") from None
    if len(rows) < 2 or len(rows[0]) < 2:
        raise InputError("a first line with the second player's strategies and a line for each of the first's")
    columns, names = [cell.strip() for cell in rows[0][1:]], [row[0].strip() for row in rows[1:]]
    payoffs = np.empty((2, len(names), len(columns)))
    for i, row in enumerate(rows[1:]):
        if len(row) != len(rows[0]):
            raise InputError(f"line {short(names[i])} has {len(row) - 1} cells, the first line {len(columns)}")
        for j, cell in enumerate(row[1:]):
            words = cell.split()
            if len(words) != 2:
                raise InputError(f"{short(cell)} are not two payoffs, such as 3 3 (line {short(names[i])})")
            payoffs[:, i, j] = [_number(word) for word in words]
    return NormalForm(title, ("first player", "second player"), (tuple(names), tuple(columns)), payoffs)


def _csv_text(game: NormalForm) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["", *game.strategies[1]])
    for i, name in enumerate(game.strategies[0]):
        cells = (game.at((i, j)) for j in range(game.shape[1]))
        writer.writerow([name, *(" ".join(map(_number_text, cell)) for cell in cells)])
    return out.getvalue()


# --- .nfg -------------------------------------------------------------------------------------------------------------


class _Tokens:
    """The words of a `.nfg` file: texts in quotes, braces, and others."""

    def __init__(self, text: str) -> None:
        self.words: list[tuple[str, bool]] = []
        """(word, whether it stood in quotes)"""
        at, text = 0, text.strip()
        while at < len(text):
            found = TOKEN.match(text, at)
            if found is None:
                raise InputError(f"{short(text[at : at + 40])} cannot be read")
            if found[1] is not None:
                self.words.append((re.sub(r"\\(.)", r"\1", found[1]), True))
            elif found[2] or found[3]:
                self.words.append((found[2] or found[3], False))
            at = found.end()
        self.at = 0

    def next(self) -> tuple[str, bool]:
        if self.at == len(self.words):
            raise InputError("the file ends too early")
        self.at += 1
        return self.words[self.at - 1]

    def is_next(self, word: str) -> bool:
        return self.at < len(self.words) and self.words[self.at] == (word, False)

    def is_text(self) -> bool:
        return self.at < len(self.words) and self.words[self.at][1]

    def expect(self, *words: str) -> None:
        for word in words:
            found = self.next()
            if found != (word, False):
                raise InputError(f"{word} is missing before {short(found[0])}")

    def block(self) -> list[str]:
        """The words of `{ ... }`, in which there is no other one."""
        self.expect("{")
        words = []
        while not self.is_next("}"):
            words.append(self.next()[0])
        self.expect("}")
        return words

    def blocks(self) -> list[list[str]]:
        """Those of `{ { ... } { ... } }`."""
        self.expect("{")
        found = []
        while not self.is_next("}"):
            found.append(self.block())
        self.expect("}")
        return found


def _read_nfg(text: str) -> NormalForm:
    tokens = _Tokens(text)
    tokens.expect("NFG", "1")
    tokens.next()  # R or D, how numbers were once kept
    title = tokens.next()[0]
    players = tuple(tokens.block())
    if tokens.at + 1 < len(tokens.words) and tokens.words[tokens.at + 1] == ("{", False):
        strategies = tuple(tuple(block) for block in tokens.blocks())
    else:
        sizes = [_count(word) for word in tokens.block()]
        strategies = tuple(tuple(str(i + 1) for i in range(size)) for size in sizes)
    if len(strategies) != len(players):
        raise InputError(f"{len(players)} players have names and {len(strategies)} have strategies")
    if tokens.is_text():  # a comment
        tokens.next()
    shape = tuple(map(len, strategies))
    outcomes = tokens.blocks() if tokens.is_next("{") else None
    numbers = [word for word, _ in tokens.words[tokens.at :]]
    worth = _payoffs(numbers, len(players)) if outcomes is None else _outcomes(numbers, outcomes, len(players))
    if len(worth) != np.prod(shape):
        raise InputError(f"payoffs for {len(worth)} combinations of strategies; there are {int(np.prod(shape))}")
    return NormalForm(title, players, strategies, worth.T.reshape(len(players), *shape[::-1]).transpose(
        0, *range(len(players), 0, -1)
    ))  # fmt: skip


def _count(word: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", word) or int(word) == 0:
        raise InputError(f"{short(word)} is no number of strategies")
    return int(word)


def _payoffs(numbers: list[str], players: int) -> np.ndarray:
    """float64 [combinations, P]."""
    if len(numbers) % players:
        raise InputError(f"{len(numbers)} payoffs are not {players} for each combination of strategies")
    return np.array([_number(word) for word in numbers]).reshape(-1, players)


def _outcomes(numbers: list[str], outcomes: list[list[str]], players: int) -> np.ndarray:
    """The same from a list of outcomes, a name and payoffs each; outcome 0 is worth nothing to anybody."""
    worth = [np.zeros(players)]
    for name, *payoffs in outcomes:
        if len(payoffs) != players:
            raise InputError(f"outcome {short(name)} has {len(payoffs)} payoffs for {players} players")
        worth.append(np.array([_number(word) for word in payoffs]))
    for word in numbers:
        if not re.fullmatch("[0-9]{1,6}", word) or int(word) >= len(worth):
            raise InputError(f"there is no outcome {short(word)}: they have the numbers 0 to {len(worth) - 1}")
    return np.array([worth[int(word)] for word in numbers])


def _nfg_text(game: NormalForm) -> str:
    players = " ".join(map(_quoted, game.players))
    strategies = " ".join(f"{{ {' '.join(map(_quoted, names))} }}" for names in game.strategies)
    rows = game.payoffs.transpose(*range(len(game.players), -1, -1)).reshape(-1, len(game.players))
    payoffs = " ".join(_number_text(number) for row in rows for number in row)
    return f'NFG 1 R {_quoted(game.title)} {{ {players} }}\n\n{{ {strategies} }}\n""\n\n{payoffs}\n'


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
