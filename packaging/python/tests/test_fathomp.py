"""Tests of the module and of the wheel, without pandas and polars.

What the module makes of fathomp's own answers is tried if ``FATHOMP`` names the command and
``FATHOMP_STUDY`` a study's directory.
"""

import base64
import csv
import hashlib
import io
import json
import os
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1]))

import fathomp
import wheel
from fathomp import _results, _table


class Tables(unittest.TestCase):
    def test_rows_have_all_columns(self):
        table = fathomp.Table([{"a": 1}, {"b": 2}])
        self.assertEqual(table.columns, ["a", "b"])
        self.assertEqual(list(table), [{"a": 1, "b": None}, {"a": None, "b": 2}])

    def test_objects_become_columns_and_missing_ones_none(self):
        rows = [_table.flat(row) for row in ({"t": {"low": 1, "all": [2]}}, {"t": None})]
        self.assertEqual(list(fathomp.Table(rows)), [{"t_low": 1}, {"t_low": None}])

    def test_csv_has_numbers_text_and_gaps(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write('region,n,x,none\n" =f(1),2",3,0.5,\n')
            file.flush()
            rows = fathomp.read_csv(file.name)
        self.assertEqual(list(rows), [{"region": "=f(1),2", "n": 3, "x": 0.5, "none": None}])


class Command(unittest.TestCase):
    def call(self, script, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "fathomp")
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
            with mock.patch.dict(os.environ, FATHOMP=str(program)):
                return fathomp.run(*arguments)

    def test_arguments_come_with_json(self):
        said = self.call('printf \'["%s", "%s", "%s"]\' "$1" "$2" "$3"', "regions", Path("a b"))
        self.assertEqual(said, ["regions", "--json", "a b"])

    def test_what_fathomp_says_is_the_error(self):
        with self.assertRaisesRegex(fathomp.FathompError, "^it has no name$"):
            self.call("echo it has no name >&2; exit 1", "regions")
        with self.assertRaisesRegex(fathomp.FathompError, "exit code 3$"):
            self.call("exit 3", "compare")

    def test_other_documents_are_refused(self):
        with self.assertRaisesRegex(fathomp.FathompError, "schema fathomp.ranks instead"):
            _results.expect({"schema": "fathomp.ranks"}, "fathomp.regions")
        with self.assertRaisesRegex(fathomp.FathompError, "version 2: install a newer"):
            _results.expect({"schema": "s", "version": 2}, "s")


class Results(unittest.TestCase):
    def test_a_comparison_has_a_row_for_each_side(self):
        item = {"columns": [{"time_ns": 4, "samples_ns": [3, 5]}, None], "verdicts": [None, "gone"]}
        answer = {"schema": "fathomp.compare", "version": 1, "sides": ["a", "b"], "causes": []}
        table = {"threads": 2, "program": item | {"name": "p"}, "regions": [item | {"name": "r"}]}
        with mock.patch.object(_results, "run", return_value=answer | {"tables": [table]}):
            rows = fathomp.Comparison("a", "b").times()
        self.assertEqual([(row["name"], row["side"]) for row in rows], [*zip("pprr", "abab")])
        self.assertEqual([row["time_ns"] for row in rows], [4, None, 4, None])

    def test_benchmarks_have_a_row_for_each_sample(self):
        process = {"run": 1, "reference_ns": [1.0, 2.0], "construct_ns": [3.0, 4.0]}
        result = {"schema": "fathomp.bench", "version": 1, "suite": "epcc"}
        result |= {"machine": {"host": "h"}, "columns": [{"compiler": "gcc", "runtime": "gomp"}]}
        cell = {"row": "FOR", "values": [8], "column": 0, "threads": 2, "processes": [process]}
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump(result | {"cells": [cell]}, file)
            file.flush()
            rows = fathomp.bench(file.name)
        self.assertEqual([row["construct_ns"] for row in rows], [3.0, 4.0])
        self.assertEqual([rows[1][name] for name in ("row", "values", "run")], ["FOR", "8", 1])

    @unittest.skipUnless("FATHOMP_STUDY" in os.environ, "FATHOMP_STUDY names no study")
    def test_a_study_and_its_recordings(self):
        study = fathomp.Study(os.environ["FATHOMP_STUDY"])
        runs = study.runs()
        self.assertLessEqual({1, 2}, {row["threads"] for row in runs})
        self.assertEqual({row["run"] for row in study.regions()}, {row["run"] for row in runs})
        self.assertTrue(all(row["wall_ns"] > 0 for row in runs))
        self.assertIsInstance(study.causes(), fathomp.Table)
        self.assertIsInstance(study.predictions(), fathomp.Table)
        recording = fathomp.Recording(Path(study.directory, "recordings", "2-threads"))
        names = {row["region"] for row in recording.regions()}
        threads = [row for row in recording.threads() if row["region"] != "serial"]
        self.assertLessEqual({row["region"] for row in threads}, names)
        self.assertEqual({row["thread"] for row in threads}, {0, 1})


class Wheel(unittest.TestCase):
    def test_it_lists_what_it_holds_and_is_the_same_again(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder, "tree")
            for name in ("bin/fathomp", "share/man/man1/fathomp.1", "share/doc/fathomp/LICENSE-MIT"):
                Path(tree, name).parent.mkdir(parents=True)
                Path(tree, name).write_text(name)
            wheels = [Path(folder, name) for name in ("one.whl", "two.whl")]
            for path in wheels:
                wheel.pack(tree, "1.2", "manylinux_2_28_x86_64", path)
            self.assertEqual(wheels[0].read_bytes(), wheels[1].read_bytes())
            with zipfile.ZipFile(wheels[0]) as whole:
                command = whole.getinfo("fathomp-1.2.data/scripts/fathomp")
                self.assertEqual(command.external_attr >> 16, 0o100755)
                listed = whole.read("fathomp-1.2.dist-info/RECORD").decode()
                rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(listed))}
                self.assertEqual(set(rows), set(whole.namelist()))
                for name, (digest, length) in rows.items():
                    held = whole.read(name)
                    hashed = base64.urlsafe_b64encode(hashlib.sha256(held).digest()).decode()
                    if not name.endswith("/RECORD"):
                        self.assertEqual((digest, length), (f"sha256={hashed.rstrip('=')}", f"{len(held)}"))
            for part in ("dist-info/licenses/LICENSE-MIT", "data/data/share/man/man1/fathomp.1"):
                self.assertIn(f"fathomp-1.2.{part}", rows)


if __name__ == "__main__":
    unittest.main()
