"""Pages and pictures are filled into Jinja2 templates, which lie beside the code that fills them."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


def template(file: Path) -> Template:
    """Every text that is filled in is escaped, and a name that has no value is an error."""
    loader = FileSystemLoader(file.parent)
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).get_template(file.name)
