"""Results of fathomp as tables for pandas and polars.

    import fathomp
    study = fathomp.Study("study")
    study.regions().pandas().groupby("region")["wall_ns"].median()

Everything is read from what the ``fathomp`` command writes as JSON and CSV; units are last in the
names of columns. Tables are lists of rows, so that neither pandas nor polars has to be installed.
"""

from ._command import FathompError, command, run
from ._results import Comparison, Recording, Study, bench
from ._table import Table, read_csv

__all__ = [
    "Comparison",
    "FathompError",
    "Recording",
    "Study",
    "Table",
    "bench",
    "command",
    "read_csv",
    "run",
]
