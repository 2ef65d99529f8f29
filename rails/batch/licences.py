"""The licence that a repository states, as its SPDX name where it can be told."""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Final

from rails.core.text import one_line

_FILES: Final = ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING")
_BYTES: Final = 100_000
#: What only that licence's text says, the more particular first.
_WORDS: Final = (
    ("AGPL-3.0", r"GNU AFFERO GENERAL PUBLIC LICENSE"),
    ("LGPL", r"GNU LESSER GENERAL PUBLIC LICENSE"),
    ("GPL-3.0", r"GNU GENERAL PUBLIC LICENSE\s+Version 3"),
    ("GPL-2.0", r"GNU GENERAL PUBLIC LICENSE\s+Version 2"),
    ("Apache-2.0", r"Apache License\s+Version 2\.0"),
    ("MPL-2.0", r"Mozilla Public License,? Version 2\.0"),
    ("MIT", r"Permission is hereby granted, free of charge"),
    ("BSD-3-Clause", r"Redistribution and use in source and binary forms[\s\S]+endorse or promote"),
    ("BSD-2-Clause", r"Redistribution and use in source and binary forms"),
    ("ISC", r"Permission to use, copy, modify, and/or distribute"),
    ("Unlicense", r"released into the public domain"),
)


def licence_of(project: Path) -> str:
    """Return the licence's SPDX name, "other" for one that is not known, "" where nothing is stated."""
    texts = [text for name in _FILES if (text := _text(project / name))]
    found = (name for text in texts for name, words in _WORDS if re.search(words, text))
    return next(found, "") or _declared(project) or ("other" if texts else "")


def _declared(project: Path) -> str:
    said: object = ""
    with suppress(ValueError, AttributeError):
        said = tomllib.loads(_text(project / "pyproject.toml")).get("project", {}).get("license", "")
    with suppress(ValueError, AttributeError):
        said = said or json.loads(_text(project / "package.json") or "{}").get("license", "")
    said = said.get("text", "") if isinstance(said, dict) else said
    return one_line(said, 60) if isinstance(said, str) else ""


def _text(file: Path) -> str:
    if file.is_symlink() or not file.is_file():
        return ""
    with file.open("rb") as opened:
        return opened.read(_BYTES).decode("utf-8", "replace")
