"""The one exception that a person's bad input raises."""


class InputError(ValueError):
    """Bad input: the message is one line that names the offending value and what would be right.

    Command-line programs print it after `error:` and exit with status 2; no traceback.
    """
