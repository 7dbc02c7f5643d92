"""Who may import whom: rules without searches, searches without learners, and neither without need.

`envs` plays games on a machine without torch; `search` plays learned evaluators there. An import inside a function counts too.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

FORBIDDEN = {
    "envs": {"torch", "search", "learn", "hydra", "omegaconf", "tensorboard"},
    "search": {"torch", "learn", "hydra", "omegaconf", "tensorboard"},
}
FILES = [path for folder in FORBIDDEN for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """First names of all modules that a file imports, at any depth, by statement or by `import_module("...")`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            names |= {str(name.value).split(".")[0] for name in node.args[:1] if isinstance(name, ast.Constant)}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_what_its_folder_may(path):
    assert not imported(path) & FORBIDDEN[path.relative_to(ROOT).parts[0]]


@pytest.mark.parametrize("package", ["envs", "search"])
def test_a_package_loads_light(package):
    heavy = ["torch", "hydra", "matplotlib", "tensorboard", "learn", "onnxruntime", "pygame"]
    code = f"import sys, {package}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_scan_sees_lazy_imports(tmp_path):
    file = tmp_path / "lazy.py"
    file.write_text("import importlib\ndef f():\n    import torch.nn\n    importlib.import_module('learn.td')\n")
    assert imported(file) == {"importlib", "torch", "learn"}
