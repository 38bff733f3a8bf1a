"""Scenarios: the link, what is sent over it, and how the sender is set."""

import inspect
from collections.abc import Iterator
from textwrap import fill

from headway import _native
from headway._values import Hops, Value, hops, text


class Scenario:
    __slots__ = ("_given", "_settings")

    def __init__(self, **keys: Value | Hops | None) -> None:
        given = {
            name.replace("_", "-"): hops(value) if name == "hops" else text(name, value)
            for name, value in keys.items()
            if value is not None
        }
        # Refuses what makes no sense.
        settings = _native.check(given)
        self._given = given
        self._settings = {name.replace("-", "_"): value for name, value in settings}

    @property
    def given(self) -> dict[str, str]:
        """The keys that were given, with the names that the command has for them."""
        return dict(self._given)

    @property
    def settings(self) -> dict[str, str]:
        """The value of every key as text; empty where a key has none."""
        return dict(self._settings)

    def replace(self, **keys: Value | Hops | None) -> "Scenario":
        """The same with other values; None takes a key back."""
        before: dict[str, Value | Hops | None] = {
            name.replace("-", "_"): value for name, value in self._given.items()
        }
        return Scenario(**{**before, **keys})

    def __getattr__(self, name: str) -> str:
        if not name.startswith("_") and name in self._settings:
            return self._settings[name]
        raise AttributeError(f"a scenario has no {name}")

    def __dir__(self) -> Iterator[str]:
        yield from super().__dir__()
        yield from self._settings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(tuple(self._settings.items()))

    def __reduce__(self) -> tuple[object, tuple[dict[str, str]]]:
        return _scenario, (self._given,)

    def __repr__(self) -> str:
        keys = ", ".join(f"{name.replace('-', '_')}={value!r}" for name, value in self._given.items())
        return f"Scenario({keys})"


def _scenario(given: dict[str, str]) -> Scenario:
    return Scenario(**{name.replace("-", "_"): value for name, value in given.items()})


def docstring() -> str:
    """What `Scenario` is, from the table of keys."""
    lines = [
        "A link and its damage, what is sent, and how the sender is set.",
        "",
        "Keys are those of the command and of experiment files, with `_` for `-`; what is not given is as in a",
        "plain `headway race`. Values are texts (\"10mbit\", \"300ms\", \"5%\", \"64KiB\"), numbers, or True and False; those",
        "of hops may be a list with a dict of keys for each link.",
        "An unknown key or a value that makes no sense raises `headway.InputError`.",
    ]
    heading = ""
    for name, placeholder, help_, default, of in _native.keys():
        if of != heading:
            lines += ["", f"{of}:", ""]
            heading = of
        about = f"{name.replace('-', '_')} ({placeholder}): {help_}. Default: {default}."
        lines.append(fill(about, 106, initial_indent="* ", subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(lines) + "\n"


def _signature() -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    names = (name.replace("-", "_") for name, *_ in _native.keys())
    return inspect.Signature(
        [inspect.Parameter(name, kind, default=None, annotation=annotation(name)) for name in names]
    )


def annotation(name: str) -> object:
    """What a key may be given."""
    return Value | Hops | None if name == "hops" else Value | None


Scenario.__doc__ = docstring()
setattr(Scenario, "__signature__", _signature())
