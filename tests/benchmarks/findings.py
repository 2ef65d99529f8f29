"""Are the gate's findings those of the tools? Every one, with its place and its fix, beside the tools' own output.

Usage: python tests/benchmarks/findings.py [--files 500] [--select ALL] [--preview] [--no-flake8]

Inputs are files of about 200 lines cut from the standard library. ruff is asked twice: by the warm server, as the gate
does, and as ``ruff check --output-format json``; compared are rule, line, column, end, the edits of the fix and
whether it is safe. flake8 likewise: in the Python worker and as a command; compared are code, line and column. Ends
with 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from gate import pieces

from rails.core.paths import WorkspacePath
from rails.gate.gate import Gate
from rails.gate.languages.python.config import RuffSettings
from rails.gate.languages.python.ruff import RuffCli, parse_diagnostics
from rails.gate.support.diagnostics import Diagnostic
from rails.processes import programs

SCRIPTS = Path(sys.executable).parent
FLAKE8 = "[flake8]\nmax-line-length = 88\n"

Found = Mapping[str, "Counter[tuple[object, ...]]"]


def written(folder: Path, texts: Iterable[str], select: str, preview: bool) -> dict[str, bytes]:
    """Make a project of ``texts`` that selects these rules; return its files."""
    (folder / "ruff.toml").write_text(
        f"preview = {json.dumps(preview)}\n[lint]\nselect = {json.dumps(select.split(','))}\n"
    )
    (folder / ".flake8").write_text(FLAKE8)
    files = {f"m{n}.py": text.encode() for n, text in enumerate(texts)}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return files


def whole(found: Diagnostic) -> tuple[object, ...]:
    """Return what must be the same of a diagnostic."""
    edits = tuple((edit.start, edit.end, edit.content) for edit in found.edits)
    return found.rule, found.start, found.end, edits, found.safe


def by_gate(folder: Path, files: Mapping[str, bytes]) -> Found:
    """Ask as the gate does, text by text."""
    ruff, how = RuffCli(programs.find_ruff(), folder), RuffSettings(True)  # type: ignore[arg-type]
    return {name: Counter(map(whole, ruff.lint(name, data, how))) for name, data in files.items()}


def by_command(folder: Path, files: Mapping[str, bytes]) -> Found:
    """Read ruff's own JSON for all files."""
    words = [str(SCRIPTS / "ruff"), "check", "--no-cache", "--output-format=json", *files]
    out = subprocess.run(words, cwd=folder, capture_output=True, check=False).stdout
    found: dict[str, Counter[tuple[object, ...]]] = {name: Counter() for name in files}
    for item in json.loads(out):
        read = parse_diagnostics(json.dumps(item).encode())
        found[Path(item["filename"]).name].update(whole(one) for _, one in read)
    return found


def flake8_by_gate(folder: Path, files: Mapping[str, bytes]) -> Found:
    """Return flake8's findings from the gate's verdict, with ruff's, which flake8 need not repeat."""
    found: dict[str, Counter[tuple[object, ...]]] = {name: Counter() for name in files}
    with Gate(folder) as gate:
        for finding in gate.check_files([WorkspacePath(name) for name in files]).findings:
            if finding.tool == "flake8":
                found[finding.path][finding.rule, finding.line, finding.column] += 1
    return found


def flake8_by_command(folder: Path, files: Mapping[str, bytes], told: Found) -> Found:
    """Return what the command says and ruff has not said of the same line."""
    form = "--format=%(path)s\t%(code)s\t%(row)d\t%(col)d"
    words = [str(SCRIPTS / "flake8"), "-j2", form, *files]
    out = subprocess.run(words, cwd=folder, capture_output=True, check=False, text=True).stdout
    found: dict[str, Counter[tuple[object, ...]]] = {name: Counter() for name in files}
    for line in out.splitlines():
        name, code, row, column = line.split("\t")
        known = {(rule, start[0]) for rule, start, *_ in told[name]}  # type: ignore[index]
        if (code, int(row)) not in known:
            found[name][code, int(row), int(column)] += 1
    return found


def compared(title: str, ours: Found, theirs: Found) -> int:
    """Print one line and the first differences; return how many there are."""
    both = sum((ours[name] & theirs[name]).total() for name in ours)
    only = [(name, one) for name in ours for one in (ours[name] - theirs[name]).elements()]
    missing = [(name, one) for name in ours for one in (theirs[name] - ours[name]).elements()]
    total = sum(found.total() for found in theirs.values())
    print(f"{title:<34} {total:>8} {both:>10} {len(missing):>8} {len(only):>6}   G9: all identical")
    for sign, some in (("-", missing), ("+", only)):
        for name, one in some[:5]:
            print(f"  {sign} {name} {one!r:.200}")
    return len(only) + len(missing)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--select", default="ALL", help="ruff rules, with commas")
    parser.add_argument("--preview", action="store_true", help="with ruff's preview on")
    parser.add_argument("--no-flake8", action="store_true", help="flake8 takes 20 ms a file, twice")
    options = parser.parse_args()
    print(f"{f'{options.files} files':<34} {'findings':>8} {'identical':>10} {'missing':>8} {'extra':>6}")
    with tempfile.TemporaryDirectory(prefix="findings-") as name:
        folder = Path(name).resolve()
        files = written(folder, pieces(options.files), options.select, options.preview)
        theirs = by_command(folder, files)
        differ = compared("ruff server | ruff check", by_gate(folder, files), theirs)
        if not options.no_flake8:
            told = flake8_by_command(folder, files, theirs)
            differ += compared("flake8 in the worker | flake8", flake8_by_gate(folder, files), told)
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
