"""Tables."""

import pyarrow as pa


def table(stream: object) -> pa.Table:
    """The table of the native part, without a copy of its columns."""
    return pa.table(stream)
