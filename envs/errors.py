"""The one exception that a person's bad input raises, and how texts of strangers are shown."""

BAD_INPUT = 2
"""exit status of a program that was given some"""
MOST = 1000
"""characters of a message"""
MOST_QUOTED = 60
"""characters of what a message quotes"""


class InputError(ValueError):
    """Bad input: the message is one line that names the offending value and what would be right.

    Command-line programs print it after `error:` and exit with status 2; no traceback. Whatever the value was, the line
    is printable and not too long.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


def one_line(text: str, most: int = MOST) -> str:
    """`text` in one line: other characters than printable ones are escaped, and of more than `most` characters the
    middle is left out, since a message ends with what would be right."""
    line = " ".join(part.strip() for part in text.splitlines())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    if len(line) <= most:
        return line
    begin = (most - len(" ... ")) // 2
    return f"{line[:begin]} ... {line[begin + len(' ... ') - most :]}"


def cut(text: str, most: int = MOST_QUOTED) -> str:
    """`text`, and not too much of it."""
    return text if len(text) <= most else text[: most - 3] + "..."


def short(text: str, most: int = MOST_QUOTED) -> str:
    """What a person wrote, quoted, and not too much of it."""
    return repr(cut(text, most))
