"""Tables for the terminal: their frame, and the colours of moves. Rich leaves colours out where output is no terminal,
or NO_COLOR is set."""

from __future__ import annotations

from typing import Any

DOUBTFUL, BAD, VERY_BAD = 0.04, 0.08, 0.16
"""losses, in outcome units, from which a move is called so (gnubg's limits for money games)"""
LEFT = ("move", "best moves", "player", "played", "best", "position", "what the player sees")
"""heads of columns of text"""


def empty_table(title: str | None, *heads: str) -> Any:
    """A table without rows; columns of numbers are flush right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for head in heads:
        left = head in LEFT
        table.add_column(head, justify="left" if left else "right", no_wrap=head not in LEFT or head == "position")
    return table


def more(moves: int, top: int) -> list[str]:
    """A line for moves that are not shown."""
    return [f"[dim]{moves - top} more; --top {moves} shows all[/dim]"] if moves > top else []


def shade(loss: float | None, best: bool = False) -> str:
    """Style of a move that is so much worse than the best, in outcome units; None: not known."""
    if best:
        return "bold green"
    if loss is None or loss < DOUBTFUL:
        return ""
    return "yellow" if loss < BAD else "red"
