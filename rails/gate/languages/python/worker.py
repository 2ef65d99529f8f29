"""The process with black and flake8: a JSON line in, a JSON line out, until its input ends.

Requests: ``{"op": "ping"}``, ``{"op": "schema", "schema", "place", "root", "value"}``, ``{"op": "black", "text",
"path", "options"}``, ``{"op": "flake8", "text", "path", "options", "most"}``, ``{"op": "run", "argv", "text"}``. An
answer is what was asked for or ``{"error"}``. Private to ``support.warm_processes``;
``python -I``.
"""

from __future__ import annotations

import fnmatch
import gc
import io
import json
import pathlib
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from black.mode import Mode


def answer_requests() -> None:
    """Answer until standard input ends, as it does when the parent dies."""
    source = sys.stdin.buffer
    sink = sys.stdout.buffer
    # Whatever a plugin prints must not get between the answers.
    sys.stdout = sys.stderr
    warnings.simplefilter("ignore")
    known: set[str] = set()
    # The trees of a text are ten thousands of objects, all of them in use until the answer is there: only then
    # it is time to look for what is not in use any more.
    gc.disable()
    for line in source:
        request = json.loads(line)
        op = request.pop("op")
        try:
            answer = _OPERATIONS[op](**request)
        except RefusedError as error:
            answer = {"error": str(error)}
        except Exception as error:
            answer = {"error": f"{op} failed: {type(error).__name__}: {error}"[:500]}
        sink.write(json.dumps(answer).encode() + b"\n")
        sink.flush()
        del request, answer
        # The syntax trees of a text are megabytes of cycles. What was imported is not looked at again.
        gc.collect()
        if op not in known:
            known.add(op)
            gc.freeze()


class RefusedError(Exception):
    """What a tool cannot do with a text, in words for the report."""


def _ping() -> dict[str, Any]:
    return {}


def _black(text: str, path: str, options: Mapping[str, Any]) -> dict[str, Any]:
    from black import format_str
    from black.parsing import InvalidInput

    if _black_leaves_out(f"/{path}", options):
        return {"excluded": True}
    newline = "\r\n" if text[: text.find("\n")].endswith("\r") else "\n"
    source = io.StringIO(text, newline=None).read()
    try:
        done = format_str(
            source,
            mode=_mode(json.dumps(options), path.endswith(".pyi")),
        )
    except InvalidInput as error:
        raise RefusedError(f"black cannot parse it: {str(error)[:200]}") from error
    return {"text": done.replace("\n", newline)}


def _black_leaves_out(path: str, options: Mapping[str, Any]) -> bool:
    """Return whether ``black .`` excludes a file, run beside its configuration; an empty match is none."""
    from black import re_compile_maybe_verbose as compiled
    from black.const import DEFAULT_EXCLUDES

    patterns = (
        options.get("exclude", DEFAULT_EXCLUDES),
        *map(options.get, ("extend-exclude", "force-exclude")),
    )
    places = [path[: at + 1] for at, sign in enumerate(path) if at and sign == "/"]
    found = [compiled(pattern).search(place) for pattern in patterns if pattern for place in (*places, path)]
    return any(one and one[0] for one in found) or not compiled(options.get("include", "")).search(path)


@cache
def _mode(options: str, is_pyi: bool) -> Mode:
    from black.const import DEFAULT_LINE_LENGTH
    from black.mode import Mode, Preview, TargetVersion

    table = json.loads(options)
    versions = [TargetVersion[name.upper()] for name in table.get("target-version", ())]
    if not versions and table["requires-python"]:
        from black.files import infer_target_version

        versions = infer_target_version({"project": {"requires-python": table["requires-python"]}}) or []
    wanted = {
        "target_versions": set(versions),
        "line_length": int(table.get("line-length", DEFAULT_LINE_LENGTH)),
        "is_pyi": is_pyi,
        "string_normalization": not table.get("skip-string-normalization"),
        "magic_trailing_comma": not table.get("skip-magic-trailing-comma"),
        "preview": table.get("preview", False),
        "unstable": table.get("unstable", False),
        "enabled_features": {Preview[name] for name in table.get("enable-unstable-feature", ())},
    }
    make: _Anything = Mode
    # A project's own black may be older than some of them.
    return make(**{key: value for key, value in wanted.items() if key in make.__dataclass_fields__})  # type: ignore[no-any-return]


#: Values of libraries without types, or whose stubs are behind them.
_Anything = Any
#: Errors reported for one document; more of them mean one mistake.
_ERRORS = 50


def _schema(schema: str, place: str, root: str, value: str) -> dict[str, Any]:
    """Validate JSON by the schema at an address, as a schema itself if that is empty. Nothing is fetched."""
    import itertools

    from jsonschema import validators
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    try:
        document = json.loads(value)
        rules = json.loads(schema) if schema else document
        kind = validators.validator_for(rules, default=validators.Draft202012Validator)
        if schema:
            kind.check_schema(rules)
        wanted = {"$ref": place} if schema else kind.META_SCHEMA
        found = kind(wanted, registry=_registry(root)).iter_errors(document)
        errors = sorted(
            itertools.islice(found, _ERRORS),
            key=lambda error: list(map(str, error.absolute_path)),
        )
    except SchemaError as error:
        raise RefusedError(f"its schema is not a JSON Schema: {error.message[:120]}") from error
    except ValueError as error:
        raise RefusedError(f"its schema is not JSON: {error}") from error
    except Unresolvable as error:
        words = f"its schema refers to {error.ref}, which is not in the project; nothing is fetched"
        raise RefusedError(words) from error
    return {"errors": [_error(error) for error in errors]}


def _registry(root: str) -> _Anything:
    from urllib.parse import unquote

    from jsonschema_specifications import REGISTRY
    from referencing import Registry, Resource
    from referencing.exceptions import NoSuchResource
    from referencing.jsonschema import DRAFT202012

    def retrieve(uri: str) -> _Anything:
        place = pathlib.Path(unquote(uri.removeprefix("file://").partition("#")[0])).resolve()
        if not uri.startswith("file:///") or pathlib.Path(root) not in place.parents or not place.is_file():
            raise NoSuchResource(uri)
        return Resource.from_contents(json.loads(place.read_text("utf-8")), default_specification=DRAFT202012)

    make: _Anything = Registry
    return REGISTRY.combine(make(retrieve=retrieve))


def _error(error: _Anything) -> dict[str, Any]:
    from jsonschema.exceptions import best_match

    best = best_match([error]) or error
    path = list(best.absolute_path)
    if best.validator in ("additionalProperties", "unevaluatedProperties") and isinstance(best.instance, dict):
        known = best.schema.get("properties", {})
        extra = [key for key in best.instance if key not in known]
        path += extra[:1]
    says = best.schema.get("description", "") if isinstance(best.schema, dict) else ""
    return {"path": path, "message": best.message, "keyword": best.validator, "says": str(says)}


def _flake8(text: str, path: str, options: Mapping[str, str], most: int) -> dict[str, Any]:
    app, guide, kept = _application(json.dumps(options))
    if _flake8_leaves_out(path, app.options):
        return {"excluded": True}
    checker_of = _text_checker()
    checker_of.text = text
    checkers = app.plugins.checkers
    checker = checker_of(filename=path, plugins=checkers, options=app.options)
    if not checker.should_process:
        raise RefusedError("the file says flake8: noqa")
    _, results, _ = checker.run_checks()
    kept.clear()
    for code, line, column, message, physical in results:
        guide.handle_error(code, path, line, column, message, physical)
    # A plugin may report a thing twice.
    found = sorted(
        {
            (
                one.line_number,
                one.column_number,
                one.code,
                one.text,
            )
            for one in kept
        }
    )
    plugins = {
        one.entry_name
        for one in (
            *checkers.tree,
            *checkers.logical_line,
            *checkers.physical_line,
        )
    }
    selected = [*(app.options.select or ()), *(app.options.extend_select or ())]
    return {
        "findings": found[:most],
        "more": Counter(code for _, _, code, _ in found[most:]),
        "unknown": [code for code in selected if not any(code.startswith(k) or k.startswith(code) for k in plugins)],
    }


def _flake8_leaves_out(path: str, options: _Anything) -> bool:
    """Return whether ``flake8 .`` excludes a file, by its name, its path or a folder's."""
    inside = pathlib.PurePath(path)
    places = [
        *inside.parts,
        *(str(pathlib.Path(one).absolute()).rstrip("/") for one in (inside, *inside.parents)),
    ]
    if any(fnmatch.filter(places, pattern) for pattern in (*options.exclude, *options.extend_exclude)):
        return True
    return not any(fnmatch.fnmatch(f"./{path}", pattern) for pattern in options.filename)


@cache
def _text_checker() -> _Anything:
    from flake8.checker import FileChecker
    from flake8.processor import FileProcessor

    class _TextChecker(FileChecker):  # type: ignore[misc]
        text = ""

        def _make_processor(self) -> FileProcessor:
            return FileProcessor(
                self.filename,
                self.options,
                lines=io.StringIO(self.text, newline="").readlines(),
            )

    return _TextChecker


@cache
def _application(options: str) -> tuple[_Anything, _Anything, list[_Anything]]:
    """Return flake8 with these options, what decides which violations count, and the list where it puts them."""
    from configparser import RawConfigParser

    from flake8.main.application import Application
    from flake8.options import config
    from flake8.style_guide import StyleGuideManager

    parser = RawConfigParser()
    parser.read_dict({"flake8": json.loads(options)})
    # What it would read of a file, where more stands than these options.
    config.load_config = lambda *_, **__: (parser, str(pathlib.Path.cwd()))
    app = Application()
    app.initialize([])
    kept: list[_Anything] = []
    return app, StyleGuideManager(app.options, SimpleNamespace(handle=kept.append)), kept


def _run(argv: list[str], text: str) -> dict[str, Any]:
    import subprocess

    ran = subprocess.run(argv, input=text.encode(), capture_output=True, check=False)
    return {
        "code": ran.returncode,
        "out": ran.stdout.decode(),
        "err": ran.stderr.decode(errors="replace"),
    }


_OPERATIONS: Any = {
    "ping": _ping,
    "schema": _schema,
    "black": _black,
    "flake8": _flake8,
    "run": _run,
}

if __name__ == "__main__":
    answer_requests()
