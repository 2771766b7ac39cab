"""Tables as lists of rows, and their way to pandas and polars."""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping

if TYPE_CHECKING:
    import pandas
    import polars

Row = dict[str, Any]


class Table(list[Row]):
    """Rows with names. What a row lacks, or does not know, is ``None``."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        rows = list(rows)
        names = dict.fromkeys(name for row in rows for name in row)
        # Of an object that is missing in some rows there are columns by its parts.
        whole = {n for n in names if any(m.startswith(f"{n}_") for m in names)}
        names = [n for n in names if n not in whole or any(row.get(n) is not None for row in rows)]
        super().__init__({name: row.get(name) for name in names} for row in rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self[0]) if self else []

    def pandas(self) -> pandas.DataFrame:
        """The table as a data frame of pandas."""
        import pandas

        return pandas.DataFrame(list(self), columns=self.columns)

    def polars(self) -> polars.DataFrame:
        """The table as a data frame of polars."""
        import polars

        return polars.DataFrame(list(self), infer_schema_length=None)


def flat(value: Mapping[str, Any], prefix: str = "") -> Row:
    """One row of nested objects: names are joined by ``_``; lists are left out."""
    row: Row = {}
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            row.update(flat(inner, f"{prefix}{name}_"))
        elif not isinstance(inner, list):
            row[prefix + name] = inner
    return row


def read_csv(path: str | os.PathLike[str]) -> Table:
    """Reads a CSV file of any command of fathomp. Empty fields are ``None``."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return Table({name: _value(text) for name, text in row.items()} for row in rows)


def _value(text: str) -> Any:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    # A field that a spreadsheet would take for a formula begins with a space.
    return text.removeprefix(" ")
