"""Who may import whom: rules without searches, searches without learners, and folders one way only.

`envs` plays games on a machine without torch; `search` plays learned evaluators there. Imports inside functions count
too.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

FORBIDDEN = {
    "envs": {"torch", "deltaw.search", "deltaw.learn", "hydra", "omegaconf", "tensorboard"},
    "search": {"torch", "deltaw.learn", "hydra", "omegaconf", "tensorboard"},
}
ORDER = {
    "search": (
        "terminal", "equilibria", "evaluators", "tree", "algorithms", "solvers", "databases", "players", "matches",
        "analysis", "doors",
    ),
    "learn": (
        "workers", "steps", "weights", "strategies", "selfplay", "automata", "bootstrapping", "run", "learners",
        "exports", "watch",
    ),
}  # fmt: skip
"""folders of a package: each may import those before it; the commands beside them may import all, and nobody them"""
BELOW = {"learn": {"knobs", "learner", "rule"}}
"""modules beside the folders that are no commands: all folders may import them"""
BY_NAME = {("search/tree/algorithm.py", "deltaw.search.algorithms")}
"""where a folder is opened to find what is in it, which is no use of any file there"""
FILES = [path for folder in ("envs", "search", "learn") for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """All modules that a file imports, at any depth, by statement or by `import_module("...")`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            names |= {str(name.value) for name in node.args[:1] if isinstance(name, ast.Constant)}
    return names


def is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_what_its_folder_may(path):
    package, *inner = path.relative_to(ROOT).parts
    forbidden = set(FORBIDDEN.get(package, ()))
    if package in ORDER:
        order, folder = ORDER[package], inner[0] if len(inner) > 1 else ""
        if folder:
            forbidden |= {f"deltaw.{package}.{later}" for later in order[order.index(folder) + 1 :]}
        commands = {file.stem for file in (ROOT / package).glob("*.py")} - BELOW.get(package, set()) - {"__init__"}
        forbidden |= {f"deltaw.{package}.{command}" for command in commands}
    forbidden -= {module for file, module in BY_NAME if str(path.relative_to(ROOT)) == file}
    assert not {name for name in imported(path) for module in forbidden if is_within(name, module)}


@pytest.mark.parametrize("module", ["envs", "envs.games.backgammon", "search.players.players", "search.tree.engine"])
def test_a_module_loads_light(module):
    heavy = ["torch", "hydra", "matplotlib", "tensorboard", "deltaw.learn", "onnxruntime", "pygame"]
    code = f"import sys, deltaw.{module}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_scan_sees_lazy_imports(tmp_path):
    file = tmp_path / "lazy.py"
    file.write_text("import importlib\ndef f():\n    import torch.nn\n    importlib.import_module('deltaw.learn.td')\n")
    assert imported(file) == {"importlib", "torch.nn", "deltaw.learn.td"}
