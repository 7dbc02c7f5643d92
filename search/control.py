"""How a search is watched, limited and stopped: `envs/control.py`, which counting moves needs as well."""

from envs.control import (
    FOREVER,
    LIMIT,
    NODES,
    NOISY,
    OPEN,
    STOP,
    Stopped,
    Switch,
    enter,
    make_control,
    stopped,
    supervised,
)

__all__ = [
    "FOREVER", "LIMIT", "NODES", "NOISY", "OPEN", "STOP",
    "Stopped", "Switch", "enter", "make_control", "stopped", "supervised",
]  # fmt: skip
