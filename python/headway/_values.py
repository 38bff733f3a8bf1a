"""Values of keys, as text, and whole numbers."""

from operator import index

from headway.errors import InputError

Value = str | int | float | bool

_MOST = 2**64 - 1


def text(key: str, value: object) -> str:
    """The value of a key as the command and experiment files write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float | str):
        return str(value)
    raise InputError(f"{key}: {value!r}: expected a text such as \"10mbit\", a number, True or False")


def whole(name: str, value: int, most: int = _MOST) -> int:
    """A whole number that the native part can take."""
    try:
        number = index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or not 0 <= number <= most:
        raise InputError(f"{name}: {value!r}: expected a whole number from 0 to {most}")
    return number
