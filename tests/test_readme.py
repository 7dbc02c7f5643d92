"""The README and the documents tell the truth: their Python runs, their commands are understood, those of the README
that take seconds run, links exist, and numbers are those of the committed results. (`docs/tutorial.md` is followed from
end to end by `tests/test_tutorial.py`.)"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from command_lines import call

from benchmarks.learned import read_results, table
from deltaw.__main__ import MODULES
from deltaw.envs.cli import Parser
from deltaw.learn.run.config import checked, learner_names
from deltaw.learn.run.hydra_app import composed, offer_configs

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
SEARCH = (ROOT / "docs" / "search.md").read_text()
LEARNING = (ROOT / "docs" / "learning.md").read_text()
HISTORY = (ROOT / "docs" / "history.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
DOCUMENTS = {
    path.name: path.read_text()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if path.name != "tutorial.md"
}
HYDRA = ("train", "export")
TOOLS = ("pytest", "pip", "build")
PLACEHOLDERS = {"experiment=NAME": "experiment=debug", "seed=S": "seed=1", "N": "4"}


def blocks(language: str, text: str = TEXT + SEARCH + LEARNING) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def commands(text: str) -> list[str]:
    """Every line of the text's shell blocks, and the commands that stand in a sentence; each once."""
    lines = [line for block in blocks("sh", text) for line in block.splitlines()]
    lines += re.findall(r"`(?:\.venv/bin/)?((?:deltaw|python -m) [a-z_.]+ [^` ]+ [^`]*[A-Za-z0-9])`", text)
    bare = (re.sub(r"\s+#.*", "", line).strip() for line in lines)
    return list(dict.fromkeys(line for line in bare if line and not line.startswith("#") and "..." not in line))


@pytest.mark.parametrize("block", blocks("python"))
def test_python_runs(block):
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("command", dict.fromkeys(c for text in DOCUMENTS.values() for c in commands(text)))
def test_commands_are_understood(command):
    """Its target, or its module and every option and setting of it, exist."""
    words = [PLACEHOLDERS.get(word, word) for word in shlex.split(command)]
    if words[0] == "make":
        assert all(re.search(rf"^{word}:", MAKEFILE, flags=re.MULTILINE) for word in words[1:] if "=" not in word)
    elif words[0].endswith("deltaw"):
        understand(words[1], words[2:])
    elif words[0] in ("pip", "source", "tensorboard"):
        pass
    elif words[1].endswith(".py"):
        assert (ROOT / words[1]).exists()
    else:
        assert words[0].endswith("python")
        assert words[1] == "-m"
        if words[2] in TOOLS:
            assert importlib.util.find_spec(words[2])
        else:
            parser_of(importlib.import_module(words[2])).parse_intermixed_args(words[3:])


def understand(name: str, arguments: list[str]) -> None:
    """The command `deltaw NAME` takes these arguments."""
    for word in arguments:
        if word in NEEDS:
            pytest.importorskip(NEEDS[word])
    if name in HYDRA:
        offer_configs()
        runs, _ = composed(name, [word for word in arguments if word != "-m"], "-m" in arguments)
        for raw in runs if name == "train" else ():
            checked(raw)
    else:
        parser_of(importlib.import_module(MODULES[name])).parse_intermixed_args(arguments)


def parser_of(module: ModuleType) -> Parser:
    """The command's own parser: from `parser()`, or caught where its `main` makes one."""
    if hasattr(module, "parser"):
        return module.parser()
    caught: list[Parser] = []

    class Caught(Exception):
        pass

    class Catching(Parser):
        def parse_args(self, *_, **__):
            caught.append(self)
            raise Caught

        parse_intermixed_args = parse_args

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Caught):
        patch.setattr(module, "Parser", Catching)
        module.main([])
    parser = caught[0]
    parser.__class__ = Parser
    return parser


# --- commands of the README that take seconds, and those that take minutes in miniature -------------------------------

SMALLER = {"--games": "4", "--seconds": "0.05", "--positions": "4", "--rollout": "4"}
"""settings that take long, and what they become here"""
TYPED = ["hint", "quit"]
FILE_NAMES = r"\.(png|html|svg|safetensors|mat|ggf|table)$"
SMALL_RUN = ("games=4", "measure.games=2", "measure.final_games=2", "measure.past=0", "workers=1")
NEEDS = {
    "gnubg": "gnubg_nn",
    "spiel": "pyspiel",
    "hydra/launcher=joblib": "hydra_plugins.hydra_joblib_launcher",
    "hparams_search=optuna": "hydra_plugins.hydra_optuna_sweeper",
}
"""words of commands that an extra brings"""


def smaller(words: list[str], run: Path) -> list[str]:
    """The same command with little to do; the run of whoever reads it is the one in `run`."""
    shrunk = [SMALLER.get(before, word) for before, word in zip(["", *words], words, strict=False)]
    replaced = [re.sub(r"outputs/\w+/RUN", str(run), word) for word in shrunk]
    return [re.sub(r"\bFILE(?=@|$)", "network", word) for word in replaced]


def quick_commands(text: str = TEXT) -> list[str]:
    found = (command for command in commands(text) if shlex.split(command)[0].endswith("deltaw"))
    return [command for command in found if shlex.split(command)[1] not in HYDRA]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    """What `make train` leaves behind, in miniature."""
    folder = tmp_path_factory.mktemp("run")
    assert "\t$(BIN)/deltaw train $(ARGS)\n" in MAKEFILE
    train([*SMALL_RUN, "learner.slots=4", "evaluator.hidden=[8]", f"hydra.run.dir={folder}"])
    return folder


def train(words: list[str]) -> None:
    words = [sys.executable, "-m", "deltaw", "train", *words]
    done = subprocess.run(words, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command", [*quick_commands(), *(pytest.param(c, marks=pytest.mark.slow) for c in quick_commands(HISTORY))]
)
def test_commands_run(command, run_folder, tmp_path, monkeypatch, capsys):
    """Of the README and of docs/history.md, from another folder; where it writes, nothing else changes."""
    monkeypatch.chdir(tmp_path)
    _, name, *words = shlex.split(command)
    for word in [name, *words]:
        if word in NEEDS:
            pytest.importorskip(NEEDS[word])
        if word.startswith("uci:"):
            pytest.skip("test_uci_player.py plays against engines")
    module = importlib.import_module(MODULES[name])
    main = (lambda argv: module.main(argv, lines=TYPED)) if name == "play" else module.main
    if "--match" in words:  # of a file that the command before it has written
        run_before(words[words.index("--match") + 1])
    with asking(monkeypatch, tmp_path / "requests") if name == "lines" else contextlib.nullcontext():
        status, out, err = call(main, smaller(words, run_folder), capsys)
    assert status == 0, err
    assert out.strip()
    written, named = set(os.listdir(tmp_path)), {word for word in words if re.search(FILE_NAMES, word)}
    assert written == named or (
        name == "play" and not written
    )  # who begins is drawn; a game without a move is not kept


def run_before(written: str) -> None:
    """The command that ends in `--to FILE`."""
    before = next(c for c in quick_commands() if c.endswith(f"--to {written}"))
    _, name, *words = shlex.split(before)
    assert importlib.import_module(MODULES[name]).main(smaller(words, Path())) in (0, None)


@contextlib.contextmanager
def asking(monkeypatch, file: Path) -> Iterator[None]:
    """Standard input is a file with one request."""
    file.write_text('{"do": "info"}\n')
    with file.open() as requests:
        monkeypatch.setattr(sys, "stdin", requests)
        file.unlink()
        yield


@pytest.mark.parametrize("command", [c for c in commands(TEXT) if "deltaw export " in c])
def test_exports_run(command, run_folder, tmp_path):
    words = [*smaller(shlex.split(command)[1:], run_folder), "positions=20"]
    done = subprocess.run([sys.executable, "-m", "deltaw", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in commands(TEXT + HISTORY) if "deltaw train " in c])
def test_training_runs(command, tmp_path):
    """A few games each; whether all settings exist is tested above."""
    words = [PLACEHOLDERS.get(w, w) for w in shlex.split(command)[2:] if not re.match("games=|minutes=", w)]
    train([*words, *SMALL_RUN, f"hydra.run.dir={tmp_path}"])
    assert (tmp_path / "evaluator.safetensors").exists()


def test_play_is_what_make_play_plays():
    assert re.search(r"^play:.*\n\t\$\(BIN\)/deltaw play \$\(or \$\(ARGS\),backgammon\)$", MAKEFILE, re.MULTILINE)


def test_the_analysis_that_is_shown_is_the_one_that_comes(capsys):
    """Python's comment `8/5 6/5 and about +0.16`, by the command line."""
    from deltaw.search import analyze

    stated = re.search(r"# (8/5 6/5) and about \+(0\.\d+)", TEXT)
    words = "backgammon 4HPwATDgc/ABMA --dice 31 --plies 2 --candidates 8 --evaluator network --json"
    status, out, _ = call(analyze.main, words.split(), capsys)
    best = json.loads(out)["moves"][0]
    assert status == 0
    assert best["move"] == stated[1]
    assert best["equity"] == pytest.approx(float(stated[2]), abs=0.01)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_links_exist(target):
    assert (ROOT / target).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", SEARCH + LEARNING + HISTORY))))
def test_links_of_the_documents_exist(target):
    assert (ROOT / "docs" / target).exists()


def test_speeds_are_those_of_the_committed_run():
    """Each row of the speed table whose first cell is a row of docs/bench.json shows its value, to three digits."""
    values: dict[str, list[float]] = {}
    for row in json.loads((ROOT / "docs" / "bench.json").read_text())["rows"]:
        values.setdefault(row["name"], []).append(row["value"])
    shown = re.findall(r"^\| ([^|]+?) \| ([\d,.]+) ", TEXT + SEARCH, flags=re.MULTILINE)
    named = [(name, float(value.replace(",", ""))) for name, value in shown if name in values]
    assert len(named) >= 15
    for name, value in named:
        assert any(value == pytest.approx(measured, rel=0.006) for measured in values[name]), name


def test_strengths_of_shipped_evaluators_are_those_of_their_table():
    """What the runs printed at their end, in checkpoints/README.md, and the measurement with other dice in the README
    agree."""
    text = (ROOT / "checkpoints" / "README.md").read_text()
    shipped = [r for r in read_results() if r.row.endswith(" (shipped)") and r.what.startswith("pubeval")]
    assert len(shipped) >= 2
    for result in shipped:
        stated = re.search(
            rf"^\|.*experiment={result.row.split()[0]}`.*\| ([+-][\d.]+) ± ([\d.]+) \|", text, re.MULTILINE
        )
        assert abs(float(stated[1]) - result.value) < 3 * math.hypot(float(stated[2]), result.error)


def test_what_was_learned_is_that_of_the_committed_runs():
    """The tables are what the command that measured them prints, seed by seed."""
    against_peers, all_rows = table(read_results(), peers_only=True), table(read_results())
    assert 8 < against_peers.count("\n") < all_rows.count("\n")
    assert against_peers in TEXT
    assert all_rows in LEARNING


def test_every_learner_is_explained():
    for name in learner_names():
        assert f"`{name}`" in LEARNING, name


def test_at_most_200_lines():
    assert len(TEXT.splitlines()) <= 200
