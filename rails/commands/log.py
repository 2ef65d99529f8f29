"""``ai-rails log``: search, verify, export or delete sessions; disk use."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rails.commands import common
from rails.config.run_defaults import keep_days
from rails.core.app_dirs import config_folder
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, UsageError
from rails.core.text import counted, one_line, printable
from rails.edits.checkpoint_commits import is_fix_run
from rails.log.actions import record_text
from rails.log.event_codec import dumps
from rails.log.reader import LogRow, SessionSummary, Tail, damage_in_words, full, read_lenient, sessions, verify
from rails.log.scan import search
from rails.review.export.formats import FORMATS
from rails.review.reports.session import task_line
from rails.session.project import state_of

OPTIONS = """
> Search words, "phrases" and fields: type role model tool path rule code by is session after before; text:"rse_req"
    also matches inside words.
action search|verify|export|sizes|delete  what to do
words*  the search line, or a session (default: the last)
--limit N:count (50)  hits to show (default: 50)
--format FORMAT=markdown|recording|answers (markdown)  markdown, recording or answers
--jsonl  with export: the records as JSON lines
--to FOLDER (answers)  with --format answers: the folder (default: answers)
--older-than DAYS:count  with delete: sessions that are older (default: keep_days of config.toml)
--yes  with delete: do not ask
@project
"""


def run(options: argparse.Namespace) -> int:
    """Return the exit code."""
    project = common.project_of(options)
    state = state_of(project)
    if len(options.words) > (options.action != "sizes") and options.action not in ("search", "delete"):
        raise UsageError(f"{options.action} takes {'no word' if options.action == 'sizes' else 'one session'}.")
    if options.action == "sizes":
        return _sizes(project)
    if options.action == "delete":
        return _delete(options, project)
    if options.action == "search":
        return _search(state, " ".join(options.words), options.limit)
    if options.jsonl:
        return _records(state, options.words)
    chosen = chosen_session(state, options.words[0] if options.words else "last")
    if options.action == "verify":
        report = verify(chosen.path)
        print(printable(str(report)))
        return EXIT_OK if report else EXIT_BROKEN
    if options.format == "answers":
        return _answers(state, chosen, Path(options.to))
    return _export(state, chosen, options.format)


def _records(state: Path, named: Sequence[str]) -> int:
    chosen = [chosen_session(state, name) for name in named] or sessions(state)
    for session in chosen:
        for item in Tail(session.path).read():
            if isinstance(item, LogRow):
                print(dumps(msgspec.structs.asdict(full(item.record, state))))
            else:
                print(f"Not in the export: {one_line(str(item), 300)}", file=sys.stderr)
    return EXIT_OK


def _answers(state: Path, chosen: SessionSummary, folder: Path) -> int:
    """Existing files are kept."""
    from rails.review.export.answers import answer_files

    records, _ = read_lenient(chosen.path)
    files = answer_files(full(record, state) for record in records)
    if there := [name for name in files if (folder / name).exists()]:
        raise UsageError(f"{one_line(str(folder / there[0]))} exists already. Nothing was written; name another --to.")
    for name, text in files.items():
        common.write_output(folder / name, (text,))
    return EXIT_OK


def _export(state: Path, chosen: SessionSummary, form: str) -> int:
    records, damages = read_lenient(chosen.path)
    print(FORMATS[form]([full(record, state) for record in records]), end="")
    for words in damage_in_words(damages):
        print(f"Not in the export: {one_line(words, 300)}", file=sys.stderr)
    return EXIT_OK


def _sizes(project: Path) -> int:
    from rails.render.units import bytes_text
    from rails.session.deletion import folder_bytes, kept_bytes

    known = sessions(state_of(project))
    kept = kept_bytes(project)
    days = keep_days(config_folder())
    for one in known:
        size = bytes_text(folder_bytes(one.path.parent))
        print(f"{one.session_id}  {size:>10}  {one.last[:10]}  {one_line(task_line(one.task), 80)}")
    whole = f"{bytes_text(kept.values)} of stored values and {bytes_text(kept.checkpoints)} of checkpoints"
    words = f"{counted(len(known), 'session')}: {bytes_text(kept.logs)} of logs, {whole} in {state_of(project)}"
    common.print_row("", words)
    how = (
        f"{days} days (config.toml)"
        if days
        else "forever, unless [sessions] keep_days in your config.toml sets a limit"
    )
    common.print_row("", f"They are kept {how}.")
    return EXIT_OK


def _delete(options: argparse.Namespace, project: Path) -> int:
    from rails.commands.session_actions import AgreedChanges, deleted_words
    from rails.session.deletion import delete_sessions, older_than

    state = state_of(project)
    days = options.older_than or keep_days(config_folder())
    if options.words and options.older_than:
        raise UsageError("Name sessions, or say --older-than DAYS, not both. Nothing was deleted.")
    named = (word if is_fix_run(word) else chosen_session(state, word).session_id for word in options.words)
    names = tuple(dict.fromkeys(named)) or (older_than(project, days) if days else ())
    if not (names or days):
        raise UsageError("Which sessions? Name them, or say --older-than DAYS. Nothing was deleted.")
    if not names:
        print(f"No session is older than {days} days; nothing was deleted.")
        return EXIT_OK
    if not options.yes:
        offer = AgreedChanges(project).deletion(names)
        print("\n".join((offer.title, *(f"  {name}" for name in names), *(f"- {line}" for line in offer.lines))))
        if not common.typed("delete", "delete them" if len(names) > 1 else "delete it"):
            print("Nothing was deleted. Where nobody can be asked, --yes deletes without a question.")
            return EXIT_FINDINGS
    print(deleted_words(len(names), delete_sessions(project, names)))
    return EXIT_OK


def _search(state: Path, line: str, limit: int) -> int:
    if not line.strip():
        raise UsageError('What should be searched for? For example: ai-rails log search "rule:F821 is:failed"')
    if not state.is_dir():
        raise UsageError("There is no session here. Start one with ai-rails run, or name the project with --project.")
    hits = search(state, line, limit=limit).hits
    for hit in hits:
        record = hit.record
        what = f"{record.event_type}  {one_line(record_text(record), 100)}"
        common.print_row(f"{hit.place}  {record.timestamp[:19]}  ", what)
    if not hits:
        print("Nothing found.", file=sys.stderr)
    return EXIT_OK if hits else EXIT_FINDINGS


def chosen_session(state: Path, wanted: str) -> SessionSummary:
    """Return the session that begins or ends with ``wanted``, or is "last". Raises UsageError."""
    known = sessions(state)
    if not known:
        raise UsageError("There is no session here. Start one with ai-rails run, or name the project with --project.")
    begun = [session for session in known if session.size] or known
    name = begun[-1].session_id if wanted == "last" else wanted
    for session in known:
        if session.session_id == name:
            return session
    alike = [session for session in known if session.session_id.endswith(name) or session.session_id.startswith(name)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        some = ", ".join(session.session_id for session in alike[-3:])
        raise UsageError(f"{len(alike)} sessions fit {one_line(name)!r}, such as {some}. Name one in full.")
    raise UsageError(f"There is no session {one_line(name)!r}. The last one is {begun[-1].session_id}.")
