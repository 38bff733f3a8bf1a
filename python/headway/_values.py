"""Values of keys, as text."""

from headway.errors import InputError

Value = str | int | float | bool


def text(key: str, value: object) -> str:
    """The value of a key as the command and experiment files write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float | str):
        return str(value)
    raise InputError(f"{key}: {value!r}: expected a text such as \"10mbit\", a number, True or False")
