"""What can go wrong."""


class Error(Exception):
    """Something went wrong: the base of all exceptions of this package."""


class InputError(Error, ValueError):
    """An input makes no sense; the text names it, and says what was expected."""
