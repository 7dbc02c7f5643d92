"""What damaged files make compiled code read: nothing outside of its arrays."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.slow
def test_damaged_files_are_refused_or_evaluated_within_bounds():
    """With NUMBA_BOUNDSCHECK=1 a kernel raises IndexError for an index that is outside."""
    command = [sys.executable, ROOT / "tests" / "support" / "damaged_files.py"]
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    for kind, counts in json.loads(done.stdout).items():
        assert sum(counts.values()) == 300, f"{kind}: {counts}"
        assert min(counts.values()) >= 5, f"{kind}: {counts}"
