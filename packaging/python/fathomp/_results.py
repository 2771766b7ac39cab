"""Recordings, studies, comparisons and results of benchmarks."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Iterator, Union

from ._command import expect, run
from ._table import Row, Table, flat, read_csv

Path = Union[str, "os.PathLike[str]"]

# What else an analysis says of a region is made of these.
_REGION = ("instances", "wall_ns", "share", "imbalance_ns", "states", "efficiency", "counts")
_RUN = ("wall_ns", "threads", "states", "efficiency", "counts")


class Recording:
    """What ``fathomp record`` made of one process."""

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        #: The answer of ``fathomp regions --json``.
        self.document: dict[str, Any] = expect(run("regions", self.path), "fathomp.regions")

    def regions(self) -> Table:
        """A row for each region, with times, efficiencies and counts of all threads together."""
        return Table(_regions(self.document))

    def threads(self) -> Table:
        """A row for each region and thread: the file that ``fathomp regions --csv`` writes."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "regions.csv")
            run("regions", self.path, "--csv", file)
            return read_csv(file)


class Study:
    """The directory that ``fathomp study`` made."""

    def __init__(self, directory: Path) -> None:
        self.directory = os.fspath(directory)
        #: What is in ``result.json``.
        self.document: dict[str, Any] = _read(
            os.path.join(self.directory, "result.json"), "fathomp.report"
        )

    def runs(self) -> Table:
        """A row for each run. ``rehearsal`` marks those whose times mean nothing."""
        rows = []
        for number, analysis in enumerate(self.document["analyses"]):
            program = analysis["program"]
            row = {"run": number, "rehearsal": program["rehearsal"]}
            row["others_used"] = program["others_used"]
            rows.append(row | flat({name: analysis[name] for name in _RUN}))
        return Table(rows)

    def regions(self) -> Table:
        """A row for each run and region."""
        rows = []
        for number, analysis in enumerate(self.document["analyses"]):
            about = {"run": number, "threads": analysis["threads"]}
            about["rehearsal"] = analysis["program"]["rehearsal"]
            rows.extend(about | row for row in _regions(analysis))
        return Table(rows)

    def predictions(self) -> Table:
        """A row for each number of threads; none if nothing was predicted."""
        prediction = self.document["prediction"] or {}
        return Table(flat(point) for point in prediction.get("points", []))

    def causes(self) -> Table:
        """Causes of lost time, in the order of the report."""
        return Table(flat(cause) for cause in self.document["causes"])


class Comparison:
    """What ``fathomp compare`` says of studies, recordings, or results of ``fathomp bench``."""

    def __init__(self, *sides: Path) -> None:
        schemas = ("fathomp.compare", "fathomp.compare.bench")
        #: The answer of ``fathomp compare --json``.
        self.document: dict[str, Any] = expect(run("compare", *sides), *schemas)

    @property
    def summary(self) -> list[str]:
        """What became of the program's time: a sentence for each side but the first."""
        return self.document["summary"]

    def times(self) -> Table:
        """A row for each side of the program and of each region, by numbers of threads."""
        return Table(
            row
            for table in self.document.get("tables", [])
            for item in (table["program"], *table["regions"])
            for row in self._sides({"threads": table["threads"], "name": item["name"]}, item)
        )

    def causes(self) -> Table:
        """A row for each side of each cause."""
        rows: list[Row] = []
        for cause in self.document.get("causes", []):
            about = {name: cause[name] for name in ("kind", "title", "place")}
            for side, share, change in zip(self._names(), cause["shares"], cause["changes"]):
                rows.append(about | {"side": side, "share": share, "change": change})
        return Table(rows)

    def rows(self) -> Table:
        """Of results of ``fathomp bench``: a row for each side of each of theirs."""
        rows: list[Row] = []
        for item in self.document.get("rows", []):
            about = {name: item[name] for name in ("suite", "name", "column", "threads", "quantity")}
            for side, value, ratio in zip(self._names(), item["values"], item["ratios"]):
                rows.append(about | flat({"side": side, "value": value, "ratio": ratio}))
        return Table(rows)

    def _names(self) -> list[str]:
        return self.document["sides"]

    def _sides(self, about: Row, item: dict[str, Any]) -> Iterator[Row]:
        for number, side in enumerate(self._names()):
            row = about | {"side": side} | flat(item["columns"][number] or {})
            yield row | {"verdict": item["verdicts"][number]}


def bench(*files: Path) -> Table:
    """A row for each sample of what ``fathomp bench -o FILE`` wrote.

    ``row`` is the row of the suite, ``values`` its parameters; what was measured is as in the file.
    """
    rows: list[Row] = []
    for file in files:
        result = _read(file, "fathomp.bench")
        for cell in result["cells"]:
            column = result["columns"][cell["column"]]
            about: Row = {"host": result["machine"]["host"], "suite": result["suite"]}
            about |= {"row": cell["row"], "values": " ".join(map(str, cell["values"]))}
            about |= {"compiler": column["compiler"], "runtime": column["runtime"]}
            about["threads"] = cell["threads"]
            for process in cell["processes"]:
                rows.extend(about | sample for sample in _samples(process))
    return Table(rows)


def _samples(process: dict[str, Any]) -> Iterator[Row]:
    """Lists of a process have an entry for each sample; the rest counts for all of them."""
    lists = {name: value for name, value in process.items() if isinstance(value, list)}
    for number in range(max(map(len, lists.values()), default=0)):
        row = flat(process) | {"sample": number}
        yield row | {name: value[number] for name, value in lists.items() if number < len(value)}


def _regions(analysis: dict[str, Any]) -> Iterator[Row]:
    for region in analysis["regions"]:
        row = {"region": region["name"], "key": region["key"], "kind": region["kind"]}
        yield row | flat({name: region[name] for name in _REGION})


def _read(path: Path, schema: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        return expect(json.load(file), schema)
