"""Writes `scenario.pyi` from the table of keys: python -m headway._stub > headway/scenario.pyi."""

from textwrap import indent

from headway import _native
from headway.scenario import docstring

_HEAD = '''\
# Written by `python -m headway._stub` from the table of keys: change it there.
"""Scenarios: the link, what is sent over it, and how the sender is set."""

from headway._values import Hops, Value

class Scenario:
'''

_REST = '''
    @property
    def given(self) -> dict[str, str]:
        """The keys that were given, with the names that the command has for them."""

    @property
    def settings(self) -> dict[str, str]:
        """The value of every key as text; empty where a key has none."""

    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

def docstring() -> str:
    """What `Scenario` is, from the table of keys."""
'''


def _annotation(name: str) -> str:
    return "Value | Hops | None" if name == "hops" else "Value | None"


def stub() -> str:
    """The text of the file."""
    names = [name.replace("-", "_") for name, *_ in _native.keys()]
    parts = [_HEAD, indent(f'"""{docstring()}"""\n', "    ").replace('\n    """\n', '\n    """\n\n')]
    for name in names:
        parts.append(f"    @property\n    def {name}(self) -> str: ...\n")
    for method, answer in [("__init__", "None"), ("replace", '"Scenario"')]:
        keys = "".join(f"        {name}: {_annotation(name)} = None,\n" for name in names)
        parts.append(f"    def {method}(\n        self,\n        *,\n{keys}    ) -> {answer}: ...\n")
    return "".join(parts) + _REST


if __name__ == "__main__":
    print(stub(), end="")
