"""The ``fathomp`` command, and how it is called."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from typing import Any


class FathompError(Exception):
    """What fathomp said when it could not do what was asked."""


def command() -> str:
    """The path of the command: ``$FATHOMP``, the one beside this Python, or the first in ``PATH``."""
    beside = shutil.which("fathomp", path=sysconfig.get_path("scripts"))
    found = os.environ.get("FATHOMP") or beside or shutil.which("fathomp")
    if found is None:
        raise FathompError("no command fathomp was found: install it, or set FATHOMP to its path")
    return found


def run(*arguments: str | os.PathLike[str]) -> Any:
    """Calls ``fathomp ARGUMENTS --json`` and returns the answer."""
    words = [command(), arguments[0], "--json", *arguments[1:]]
    done = subprocess.run(list(map(os.fspath, words)), capture_output=True, encoding="utf-8")
    if done.returncode:
        raise FathompError(done.stderr.strip() or f"fathomp ended with exit code {done.returncode}")
    return json.loads(done.stdout)


def expect(document: Any, *schemas: str) -> Any:
    """The document, if it has one of the schemas in a version that this module knows."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in schemas:
        raise FathompError(f"this has schema {schema} instead of {' or '.join(schemas)}")
    if document.get("version", 1) != 1:
        raise FathompError(f"{schema} has version {document['version']}: install a newer fathomp")
    return document
