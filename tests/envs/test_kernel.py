"""The compiled-kernel cache: it must hit in a new process, and must never answer with old rules."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import ROOT

NOTICE = "compiling for this machine"


class Project:
    """A folder of small modules, run again and again in fresh processes with one cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "modules"
        self.folder.mkdir()
        self.cache = folder / "cache"

    def write(self, name: str, text: str) -> None:
        (self.folder / f"{name}.py").write_text(textwrap.dedent(text))

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.folder / f"{name}.py").read_text()
        assert old in text
        (self.folder / f"{name}.py").write_text(text.replace(old, new))

    def run(self, code: str, cache: Path | None = None, **variables: str) -> tuple[str, bool]:
        """(what `code` printed, whether anything was compiled)."""
        environment = os.environ | {
            "NUMBA_CACHE_DIR": str(cache or self.cache),
            "PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), NOTICE in done.stderr

    def entries(self) -> set[str]:
        return {path.name for path in self.cache.rglob("*.kernel")}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


RULES = """
    from typing import NamedTuple
    import numpy as np
    from deltaw.envs.kernel import kernel
    import arithmetic

    BONUS = 3
    TABLE = np.array([1, 2, 3])

    class Rules(NamedTuple):
        step: object
        other: object

    @kernel
    def step(x):
        return arithmetic.twice(x) + BONUS + TABLE[1]

    @kernel
    def other(x):
        return x

    RULES = Rules(step, other)
"""
ARITHMETIC = """
    from deltaw.envs.kernel import kernel

    @kernel
    def twice(x):
        return 2 * x
"""
SEARCH = """
    from deltaw.envs.kernel import kernel

    @kernel
    def search(rules, x, depth):
        total = 0
        for _ in range(depth):
            total += rules.step(x)
        return total
"""
RUN = "import numpy as np, rules, generic; print(generic.search(rules.RULES, np.int64(10), np.int64(2)))"


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory):
    """Rules with a callee in another module, and a search that takes them as an argument."""
    project = Project(tmp_path_factory.mktemp("compiled"))
    project.write("rules", RULES)
    project.write("arithmetic", ARITHMETIC)
    project.write("generic", SEARCH)
    assert project.run(RUN) == ("50", True)
    return project


@pytest.fixture
def compiled(compiled_once, project):
    """A copy to edit. That its kernels are found there too is part of every test."""
    for name in ("modules", "cache"):
        shutil.copytree(compiled_once.folder.parent / name, project.folder.parent / name, dirs_exist_ok=True)
    return project


def test_a_second_process_compiles_nothing_though_kernels_are_arguments(compiled):
    before = compiled.entries()
    assert before
    assert compiled.run(RUN) == ("50", False)
    assert compiled.entries() == before


@pytest.mark.parametrize(
    ("module", "old", "new", "answer"),
    [
        ("rules", "+ BONUS", "- BONUS", "38"),
        ("rules", "BONUS = 3", "BONUS = 4", "52"),
        ("rules", "[1, 2, 3]", "[1, 7, 3]", "60"),
        ("arithmetic", "2 * x", "3 * x", "70"),
    ],
    ids=["code", "constant", "array", "callee in another module"],
)
def test_an_edit_is_noticed(compiled, module, old, new, answer):
    compiled.edit(module, old, new)
    assert compiled.run(RUN) == (answer, True)
    compiled.edit(module, new, old)
    assert compiled.run(RUN) == ("50", False)  # the first entries are still there


def test_an_edit_of_a_comment_compiles_nothing(compiled):
    compiled.edit("rules", "def step(x):", "def step(x):  # one step")
    compiled.edit("arithmetic", "@kernel", "# a line more\n@kernel")
    assert compiled.run(RUN) == ("50", False)


def test_an_edit_of_a_docstring_compiles_nothing(project):
    """It is the first constant of a function, which other functions may load."""
    project.write(
        "words",
        """
        from deltaw.envs.kernel import kernel

        @kernel
        def told(x):
            '''Adds one.'''
            return x + 1

        @kernel
        def quiet(x):
            return x == "a"
        """,
    )
    code = "import numpy as np, words; print(words.told(np.int64(1)), words.quiet('a'))"
    assert project.run(code) == ("2 True", True)
    project.edit("words", "Adds one.", "One more than x.")
    assert project.run(code) == ("2 True", False)
    project.edit("words", 'x == "a"', 'x == "b"')
    assert project.run(code) == ("2 False", True)


def test_an_edit_of_another_kernel_keeps_unrelated_entries(compiled):
    """`other` belongs to the same Rules, so searches over them compile again; `step` alone does not."""
    alone = "import numpy as np, rules; print(rules.step(np.int64(1)))"
    assert compiled.run(alone)[0] == "7"
    compiled.edit("rules", "return x", "return x + 1")
    assert compiled.run(alone) == ("7", False)


OTHER_GLOBALS = """
    import enum
    import numpy as np
    import package.constants
    from deltaw.envs.kernel import kernel

    class Kind(enum.IntEnum):
        FIRST = 1

    PAIR = (5, 6)

    @kernel
    def total(x, y=2):
        return x + y + PAIR[1] + Kind.FIRST + package.constants.TEN + package.constants.same(x)
"""


def test_an_edit_of_any_global_is_noticed(project):
    """An enum, a tuple, a default, a constant and a callee two modules away: one edit after the other."""
    (project.folder / "package").mkdir()
    project.write("package/__init__", "")
    project.write(
        "package/constants", "from deltaw.envs.kernel import kernel\nTEN = 10\n@kernel\ndef same(x):\n    return x\n"
    )
    project.write("globals_of", OTHER_GLOBALS)
    run = "import numpy as np, globals_of; print(globals_of.total(np.int64(0)) + 1)"
    assert project.run(run) == ("20", True)
    edits = (
        ("globals_of", "FIRST = 1", "FIRST = 2"),
        ("globals_of", "(5, 6)", "(5, 7)"),
        ("globals_of", "y=2", "y=3"),
        ("package/constants", "TEN = 10", "TEN = 11"),
        ("package/constants", "return x", "return x + 1"),
    )
    for answer, edit in enumerate(edits, 21):
        project.edit(*edit)
        assert project.run(run) == (str(answer), True), edit


def test_bounds_checks_are_not_answered_from_unchecked_code(project):
    project.write("reader", "from deltaw.envs.kernel import kernel\n@kernel\ndef read(a, i):\n    return a[i] * 0\n")
    run = """
        import numpy as np, reader
        try:
            print(reader.read(np.zeros(4), np.int64(5)))
        except IndexError:
            print("out of range")
    """
    assert project.run(run)[1]
    assert project.run(run, NUMBA_BOUNDSCHECK="1") == ("out of range", True)


FACTORY = """
    from deltaw.envs.kernel import kernel

    def adder(amount):
        @kernel
        def add(x):
            return x + amount
        return add

    add_one, add_two = adder(1), adder(2)

    @kernel
    def apply(function, x):
        return function(x)
"""


def test_kernels_from_one_factory_share_no_entry(project):
    project.write("factory", FACTORY)
    show = "import numpy as np, factory as f; x = np.int64(10); print({})"
    one, two = "f.apply(f.add_one, x), f.add_one(x)", "f.apply(f.add_two, x), f.add_two(x)"
    assert project.run(show.format(one)) == ("11 11", True)
    assert project.run(show.format(two)) == ("12 12", True)
    assert project.run(show.format(f"{two}, {one}")) == ("12 12 11 11", False)
    assert project.run(show.format(f"{one}, {two}")) == ("11 11 12 12", False)


RECURSION = """
    import numpy as np
    from deltaw.envs.kernel import kernel

    @kernel
    def even(n):
        return np.int64(1) if n == 0 else odd(n - 1)

    @kernel
    def odd(n):
        return np.int64(0) if n == 0 else even(n - 1)

    @kernel
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    @kernel
    def negamax(rules, n, depth):
        if depth == 0:
            return rules(n)
        return max(-negamax(rules, 2 * n, depth - 1), -negamax(rules, 2 * n + 1, depth - 1))

    @kernel
    def leaf(n):
        return n % 7
"""


def test_recursive_kernels_survive_a_second_process(project):
    """Numba issue 6061: a cached recursive kernel could crash the next process."""
    project.write("recursion", RECURSION)
    run = """
        import numpy as np, recursion as r
        i = np.int64
        print(r.fibonacci(i(20)), r.negamax(r.leaf, i(1), i(6)))
    """
    first, compiled = project.run(run)
    assert (first.split()[0], compiled) == ("6765", True)
    assert project.run(run) == (first, False)
    assert project.run(run, NUMBA_DISABLE_JIT="1")[0] == first


def test_backgammon_entry_points_survive_a_second_process(project):
    """The recursive action mask, and `expand` on a double."""
    run = """
        import numpy as np
        from deltaw.envs import games
        game = games.load("backgammon")
        state = game.parse("start")._replace(roll=21)
        mask = np.zeros(game.rules.num_actions, np.int8)
        game.rules.action_mask(state, np.int64(0), mask)
        print(len(game.moves(state)), mask.sum())
    """
    first, compiled = project.run(run)
    assert compiled
    assert project.run(run) == (first, False)


def with_digest(entry: object) -> bytes:
    body = pickle.dumps(entry)
    return hashlib.sha256(body).digest() + body


@pytest.mark.parametrize("damage", [b"", b"\0" * 4096, with_digest((1, 2)), with_digest(("x",) * 9)])
def test_a_damaged_entry_is_compiled_again(compiled, damage):
    for path in compiled.cache.rglob("*.kernel"):
        path.write_bytes(damage)
    assert compiled.run(RUN) == ("50", True)
    assert compiled.run(RUN) == ("50", False)


def test_a_cut_entry_is_compiled_again(compiled):
    for path in compiled.cache.rglob("*.kernel"):
        path.write_bytes(path.read_bytes()[:-7])
    assert compiled.run(RUN) == ("50", True)


def test_a_folder_that_cannot_be_written_costs_only_time(compiled):
    file = compiled.cache / "a_file"
    file.write_text("")
    assert compiled.run(RUN, cache=file / "below") == ("50", True)


# --- whose folder it is -------------------------------------------------------------------------------------------


def perft(cache: Path, umask: int = 0o022) -> subprocess.CompletedProcess:
    """A command that compiles a little."""
    return subprocess.run(
        [sys.executable, "-m", "deltaw.envs.perft", "nim", "1"],
        cwd=ROOT,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        umask=umask,
    )


POSIX = pytest.mark.skipif(os.name != "posix", reason="modes and owners of folders")


@POSIX
@pytest.mark.parametrize(
    ("part", "mode"), [("mine/deltaw", 0o1777), ("mine/deltaw", 0o720), ("mine", 0o702), (".", 0o777)]
)
def test_a_folder_that_others_may_write_to_is_refused(tmp_path, part, mode):
    """A stranger's entry would be run; the sticky bit does not keep him from adding one."""
    (tmp_path / "mine" / "deltaw").mkdir(parents=True, mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    refused = (tmp_path / part).resolve()
    refused.chmod(mode)
    done = perft(tmp_path / "link")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: compiled kernels are not kept in {refused}: others may write to it")
    assert "NUMBA_CACHE_DIR" in line
    assert not list((tmp_path / "mine" / "deltaw").iterdir())


@POSIX
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_refused(tmp_path):
    (tmp_path / "his").mkdir(mode=0o755)
    os.chown(tmp_path / "his", 12345, -1)
    done = perft(tmp_path / "his")
    assert done.returncode == 2
    assert f"not kept in {tmp_path / 'his'}: it belongs to another user (number 12345)" in done.stderr


@POSIX
def test_the_cache_is_created_for_its_user_alone_even_in_a_folder_for_all(tmp_path):
    tmp_path.chmod(0o1777)
    cache = tmp_path / "new" / "cache"
    assert perft(cache, umask=0).returncode == 0
    assert list((cache / "deltaw").glob("*.kernel"))
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (cache / "deltaw", cache, cache.parent)} == {0o700}


DIGEST = """
    import hashlib, sys
    import numpy as np
    sys.path.insert(0, "{tests}")
    from conftest import random_game
    from deltaw.envs import games

    for name in games.names():
        game, digest = games.load(name), hashlib.sha256()
        for number in range(2):
            for state in random_game(game, 7, number, {plies}):
                digest.update(repr((tuple(state), int(game.rules.seat(state)), int(game.rules.key(state)))).encode())
                over, value = game.rules.outcome(state)
                digest.update(f"{{bool(over)}} {{int(value)}}".encode())
                cells = np.zeros(game.rules.num_cells, np.int64)
                game.rules.cells(state, cells)
                digest.update(cells.tobytes())
                for features in game.feature_sets.values():
                    index, value = np.zeros(features.max_active, np.int32), np.zeros(features.max_active, np.float32)
                    n = game.rules.features(state, np.array(features.spec), index, value)
                    digest.update(index[:n].tobytes() + value[:n].tobytes())
                if not over and not game.rules.num_chance(state):
                    moves, rows = game.buffers()
                    n = game.rules.expand(state, moves, rows)
                    digest.update(moves[:n].tobytes() + rows[:n].tobytes())
        print(name, digest.hexdigest())
"""


def test_compiled_equals_interpreted(project, capsys):
    """States, keys, cells, every feature set to the last bit, and legal moves, of every game."""
    code = textwrap.dedent(DIGEST).format(tests=ROOT / "tests", plies=40)
    interpreted, _ = project.run(code, NUMBA_DISABLE_JIT="1")
    exec(code, {})
    assert capsys.readouterr().out.strip() == interpreted
    assert len(interpreted.splitlines()) >= 2


SCRIPT = """
    from typing import NamedTuple
    import numpy as np
    from deltaw.envs.kernel import kernel

    class Pair(NamedTuple):
        first: object
        second: object

    @kernel
    def swapped(pair):
        return Pair(pair.second, pair.first)

    @kernel
    def total(pair):
        other = swapped(pair)
        return other.first + other.second

    pair = Pair(np.int64(1), np.float64(2.5))
    totals = [total(pair) for _ in range(3)]
    print(totals[0], len(total.signatures), sum(total.stats.cache_hits.values()), type(swapped(pair)) is Pair)
"""


def test_classes_of_a_script_are_the_same_in_its_next_run(project):
    """Read back as a copy, the class of an argument fits no call: each would load the code again, for ever."""
    assert project.run(SCRIPT) == ("3.5 1 0 True", True)
    assert project.run(SCRIPT)[0] == "3.5 1 1 True"
    changed = SCRIPT.replace("second: object", "second: object\n        third: int = 0")
    assert project.run(changed) == ("3.5 1 0 True", True)
