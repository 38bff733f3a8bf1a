"""Values of keys, as text, and whole numbers."""

from collections.abc import Mapping, Sequence
from operator import index

from headway import _native
from headway.errors import InputError

Value = str | int | float | bool
Hops = Sequence[Mapping[str, Value]]

_MOST = 2**64 - 1


def text(key: str, value: object) -> str:
    """The value of a key as the command and experiment files write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float | str):
        return str(value)
    raise InputError(f"{key}: {value!r}: expected a text such as \"10mbit\", a number, True or False")


def hops(value: object) -> str:
    """Links in a row as the command and experiment files write them: a text, a number of alike ones, or what each has."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return text("hops", value)
    links = []
    for place, hop in enumerate(value, start=1):
        if not isinstance(hop, Mapping):
            raise InputError(f"hops: hop {place}: {hop!r}: expected a dict of keys of a link, such as {{'rate': '5mbit'}}")
        names = ((str(name).replace("_", "-"), value) for name, value in hop.items())
        links.append([(name, text(f"hops: hop {place}: {name}", value)) for name, value in names])
    return _native.hops(links)


def whole(name: str, value: int, most: int = _MOST) -> int:
    """A whole number that the native part can take."""
    try:
        number = index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or not 0 <= number <= most:
        raise InputError(f"{name}: {value!r}: expected a whole number from 0 to {most}")
    return number
