"""Packs a tree and the module into a wheel: ``wheel.py TREE VERSION TAG WHEEL``.

The same files give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

# The first moment that a zip file can name.
_BEGIN = (1980, 1, 1, 0, 0, 0)


def contents(tree: Path, version: str, tag: str) -> dict[str, bytes]:
    """Names in the wheel and what they hold, without the list of them."""
    name = f"fathomp-{version}"
    about = f"{name}.dist-info"
    module = Path(__file__).parent / "fathomp"
    files = {f"fathomp/{one.name}": one for one in module.iterdir() if one.is_file()}
    for one in tree.rglob("*"):
        place = one.relative_to(tree)
        if one.is_dir():
            continue
        if place.parts[0] == "bin":
            files[f"{name}.data/scripts/{place.name}"] = one
        elif place.parts[:3] == ("share", "doc", "fathomp"):
            files[f"{about}/licenses/{place.name}"] = one
        else:
            files[f"{name}.data/data/{place}"] = one
    held = {place: one.read_bytes() for place, one in files.items()}
    held[f"{about}/METADATA"] = (
        f"Metadata-Version: 2.4\nName: fathomp\nVersion: {version}\n"
        "Summary: Tells what an OpenMP program costs and how far it will scale\n"
        "License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-MIT\n"
        "License-File: LICENSE-APACHE\nLicense-File: THIRD-PARTY.txt\nRequires-Python: >=3.9\n"
        "Provides-Extra: pandas\nRequires-Dist: pandas; extra == 'pandas'\n"
        "Provides-Extra: polars\nRequires-Dist: polars; extra == 'polars'\n"
    ).encode()
    held[f"{about}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: fathomp\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    ).encode()
    return held


def record(held: dict[str, bytes], place: str) -> bytes:
    """The list of all files with their hashes; it lies at ``place`` itself."""
    lines = []
    for name in sorted(held):
        digest = base64.urlsafe_b64encode(hashlib.sha256(held[name]).digest()).rstrip(b"=")
        lines.append(f"{name},sha256={digest.decode()},{len(held[name])}\n")
    return "".join([*lines, f"{place},,\n"]).encode()


def pack(tree: Path, version: str, tag: str, wheel: Path) -> None:
    """Writes the wheel."""
    held = contents(tree, version, tag)
    place = f"fathomp-{version}.dist-info/RECORD"
    held[place] = record(held, place)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name in sorted(held):
            entry = zipfile.ZipInfo(name, _BEGIN)
            mode = 0o755 if ".data/scripts/" in name else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, held[name])


if __name__ == "__main__":
    pack(Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4]))
