"""One file on its way through an answer's requests."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from rails.core import limits
from rails.core.changes import FileChange
from rails.core.paths import WorkspacePath
from rails.core.text import Decoded, control_in, counted, decode_text, one_line, sha256, why_not_text
from rails.edits import placeholders
from rails.edits.edit_request import EditRequest, is_numbered, without_entities
from rails.edits.plan_result import EditError
from rails.edits.safe_files import Snapshot
from rails.edits.stale import KnownFiles, as_it_is_now, can_merge, put_together
from rails.edits.text_view import View, flatten, line_places

if TYPE_CHECKING:  # a file that is written as a whole needs none of these
    from rails.edits.match import Match, Miss
    from rails.edits.replace import Replacement, Stage

_NEW_MODE: Final = 0o644
_DONE_PLACES: Final = 1_000
_HASH_CHARS: Final = 8  # a base hash may be shortened to this many hexadecimal digits


class Draft:
    """The future of one file. Methods take a request in or raise :class:`EditError`."""

    def __init__(self, path: WorkspacePath, found: Snapshot | None, known: KnownFiles | None = None) -> None:
        self.path = path
        self.found = found
        self.merged = False  # whether somebody's lines were kept; known once finished
        self._known = known or KnownFiles()
        self._base: bytes | None = None  # what the agent read, where its requests are about that and not about now
        self.mode = _NEW_MODE if found is None else found.mode
        self.before = None if found is None else found.data
        self._data = self.before  # as of the last whole write, move or flush
        self._stage: Stage | None = None
        self.insisted: list[str] = []  # sentences about what looks like left-out code and is meant
        self._fate = ""  # "edited", "written", "deleted", "moved away": what was done last, in words

    # -- requests ---------------------------------------------------------------------------------

    def edit(self, wanted: EditRequest, base: str) -> Match:
        """Replace text. Return what was found where."""
        from rails.edits.match import Match, Miss, locate
        from rails.edits.replace import replace_all

        self._check_base(base, wanted)
        stage = self._open_stage("")
        hint = "Send the complete new text; to leave lines as they are, leave them out of old_string too."
        self._check_complete("new_string", wanted.new, wanted.old, hint, keep=wanted.keep_placeholder)
        _check_text("new_string", wanted.new, stage.coded, wanted.old)
        found = locate(stage.view, wanted)
        if isinstance(found, Miss) and found.code in ("not_found", "already_applied") and stage.spans:
            self._flush()
            stage = self._open_stage("")
            chained = locate(stage.view, wanted)
            found = chained if isinstance(chained, Match) or chained.code == "ambiguous" else found
        if isinstance(found, Miss):
            self._check_whole_search(found, wanted.old)
            raise EditError(found.code, found.message, found.hint, found)
        self._check(stage, wanted, found)
        if len(found.spans) > 1:
            self._check_all_is_clear(stage, wanted)
        for span in found.spans:
            self._add(stage, span)
        self._fate = "edited"
        if wanted.validate_after and wanted.validate_after not in stage.coded.text_of(replace_all(stage)):
            raise EditError(
                "validation",
                f'Validation failed: expected text "{one_line(wanted.validate_after)}" not found after operation.',
                "Correct the edit, or the text that is expected after it.",
            )
        return replace(found, notes=(*found.notes, *self._changed_note(base)))

    def _check_whole_search(self, miss: Miss, old: str) -> None:
        dots = ((n, line.strip()) for n, line in enumerate(old.splitlines(), 1) if line.strip() in ("...", "…"))
        if line := placeholders.placeholder(old, "", str(self.path)) or next(dots, None):
            said = f"Line {line[0]} of old_string is a placeholder for omitted lines: {one_line(line[1])!r}."
            hint = "Copy all lines from the file, or only the few that change."
            raise EditError(miss.code, said, hint, miss)

    def chain(self) -> None:
        """Let later edits see earlier ones' result."""
        if self._stage is not None:
            self._flush()

    def text_so_far(self) -> str:
        """Return the text so far, or ""."""
        self.chain()
        coded = decode_text(self._data or b"")
        return "" if coded is None else coded.text.replace("\r\n", "\n")

    def insert(self, line: int, end_line: int | None, text: str, base: str, *, keep: bool = False) -> Sequence[str]:
        """Put ``text`` before ``line``, or in place of ``line`` to ``end_line`` (1-based, inclusive)."""
        from rails.edits.replace import line_replacement

        stage = self._open_stage(base)
        view = stage.view
        count = len(view.lines) - (1 if view.lines[-1] == "" else 0)
        last = line - 1 if end_line is None else end_line
        if not (1 <= line <= count + (end_line is None) and line - 1 <= last <= count):
            hint = f"Send a line from 1 to {count + 1}, and an end_line from line to {count}."
            raise EditError(
                "not_found", f"The file has {counted(count, 'line')}; line {line} to {last} is not in it.", hint
            )
        _check_text("text", text, stage.coded)
        self._check_complete("text", text, "", "Send all of it.", keep=keep)
        span = line_replacement(view, line, last, text, count)
        if stage.view.text[span.start : span.end] == span.text:
            raise EditError(
                "no_change", "No changes made (content identical after replacement).", "Leave this edit out."
            )
        self._add(stage, span)
        self._fate = "edited"
        return self.link_note()

    def write(self, content: str, base: str, *, create_only: bool = False, keep: bool = False) -> Sequence[str]:
        """Replace the file by ``content``, in the file's encoding and line endings."""
        if create_only and self._data:  # an empty file holds nothing to lose
            hint = "To change it, send an edit; to replace it, send write_file without create_only."
            raise EditError("exists", "The file exists already, and it was to be created.", hint)
        if self._fate != "deleted":
            self._check_first("written", _ONE_WRITE)
        self._check_writable()
        self._check_base(base)
        data, notes = self._encode_whole(content, keep=keep)
        if data == self._start:
            raise EditError("no_change", "No changes made (content identical after replacement).", "Leave it out.")
        self._data = data
        self._stage = None
        self._fate = "written"
        return (*notes, *self.link_note())

    def delete(self, base: str = "", content: str | None = None) -> Sequence[str]:
        """Delete the file; only if ``content``, where given, is its text, apart from the last line ending."""
        self._check_there()
        self._check_base(base, mergeable=False)
        self._check_first("deleted", "Send one of the two.")
        self._check_writable()
        if content is not None:
            self._check_whole(content)
        self._data = None
        self._stage = None
        self._fate = "deleted"
        return ()

    def _check_whole(self, content: str) -> None:
        have = self.text_so_far()
        if self._data and not have:
            raise EditError("format", "The file is not text, so it cannot be compared.", "Leave old_content out.")
        if have.removesuffix("\n") != flatten(content).removesuffix("\n"):
            raise EditError(
                "not_found",
                "The file has another text than the one that is to be deleted.",
                "Read it again; to delete it as it is, send delete_file with file_path alone.",
            )

    def receive(self, source: Draft) -> Sequence[str]:
        """Take over ``source``, which is deleted."""
        if source is self:
            raise EditError("no_change", "The file is to be moved onto itself.", "Leave this request out.")
        if self._fate or source._fate in ("deleted", "moved away"):
            raise EditError(
                "overlap", f"{self.path} or {source.path} is used twice in one answer.", "Send one of the two."
            )
        source._check_there()
        if self.before is not None:
            raise EditError("exists", f"{self.path} exists already.", "Choose a free name, or delete that file first.")
        source._check_writable()
        source._flush()
        source._merge()
        self._data = source._data
        self.mode = source.mode
        self._fate = "written"
        source._data = None
        source._stage = None
        source._fate = "moved away"
        return (f"moved to {self.path}",)

    def put_back(self, change: FileChange) -> Sequence[str]:
        """Take over the result of ``change``, an undo."""
        self._check_first("rolled back", _ONE_WRITE)
        self._check_writable()
        self._data = change.after
        self.mode = change.mode
        self._fate = "deleted" if change.after is None else "written"
        return ("as it was before the last change to it",)

    def finish(self) -> FileChange | None:
        """Return the new file, or None if no request touched it."""
        if not self._fate:
            return None
        self._flush()
        self._merge()
        if self._data == self.before and self.merged:
            raise EditError("already_applied", "Somebody made this change since you read the file.", "Leave it out.")
        if self._data == self.before:
            raise EditError("no_change", "The edits of this answer cancel each other out.", "Leave them out.")
        if self._data is not None and len(self._data) > limits.FILE_BYTES:
            raise EditError("limit", f"The file would have {len(self._data)} bytes; {limits.FILE_BYTES} are allowed.")
        return FileChange(self.path, self.before, self._data, self.mode)

    # -- what must hold ---------------------------------------------------------------------------

    def _check_first(self, fate: str, hint: str) -> None:
        if self._fate:
            how = f"{fate} twice" if self._fate == fate else f"{self._fate} and {fate}"
            raise EditError("overlap", f"The file is {how} in one answer.", hint)

    def _check_there(self) -> None:
        if self._fate in ("deleted", "moved away"):
            raise EditError("overlap", f"The file is {self._fate} in the same answer.", "Send one of the two.")
        if self._data is None:
            raise EditError(
                "not_found", f"File not found: {self.path}", "Check the path, or create it with write_file."
            )

    def _check_writable(self) -> None:
        if self.found is not None and not self.found.mode & 0o222:
            raise EditError("read_only", "The file is read-only.", "Ask the human to make it writable.")

    @property
    def _start(self) -> bytes | None:
        return self.before if self._base is None else self._base

    def _check_base(self, base: str, wanted: EditRequest | None = None, *, mergeable: bool = True) -> None:
        """Refuse if the file is not what the agent read; if that version is known, merge in the end."""
        if not base:
            return
        now = "" if self.before is None else sha256(self.before)
        given = base.lower().removeprefix("sha256:")
        if len(given) >= _HASH_CHARS:
            if (sha256(self._base) if self._base is not None else now).startswith(given):
                return
            read = self._known.base(given) if mergeable and not self._fate else None
            if read is not None and self.before is not None and can_merge(self.before):
                self._base = self._data = read
                return
        there = as_it_is_now(self.before, wanted) if wanted and self.before else ""
        hint = f"Read it again{f'; its hash is now {now}' if now else ''}.{there}"
        raise EditError("stale", "The file has changed since you read it (base_hash differs).", hint)

    def _merge(self) -> None:
        """Merge with the changes made since. Raises Problem where they meet."""
        if self._base is not None and self.before is not None and self._data is not None:
            self._data = put_together(self._base, self.before, self._data)
            self._base = None
            self.merged = True

    def _changed_note(self, base: str) -> Sequence[str]:
        seen = self._known.seen.get(str(self.path), "")
        if base or self._base is not None or not seen or self.before is None or sha256(self.before) == seen:
            return ()
        return ("the file was changed since it was read; the edit is applied to its present text",)

    def _check(self, stage: Stage, wanted: EditRequest, found: Match) -> None:
        texts = [stage.view.text[span.start : span.end] for span in found.spans]
        if all(text == span.text for text, span in zip(texts, found.spans, strict=True)):
            raise EditError(
                "no_change", "No changes made (content identical after replacement).", "Leave this edit out."
            )
        if len(found.spans) == 1 and _is_done(stage.view, wanted, found):
            line = found.spans[0].first_line
            raise EditError(
                "already_applied",
                f"The lines that new_string adds are already there, at line {line}.",
                "Leave this edit out: it seems to be done. To add them twice, quote a line more of the file.",
            )

    def _check_all_is_clear(self, stage: Stage, wanted: EditRequest) -> None:
        if not wanted.regex and any(flatten(wanted.old) in flatten(span.text) for span in stage.spans):
            raise EditError(
                "overlap",
                "An earlier edit of this answer writes text that this one replaces everywhere.",
                "Send the two edits in separate answers, or as one.",
            )

    def link_note(self) -> Sequence[str]:
        """Return a note if other names keep the old bytes."""
        if self.found is None or self.found.links < 2:
            return ()
        return (f"it has {self.found.links} names (hard links); only this one will change",)

    def _check_complete(self, what: str, new: str, old: str, hint: str, *, keep: bool) -> None:
        line = placeholders.placeholder(new, old, str(self.path))
        if line is None:
            return
        said = f"Line {line[0]} of {what} is a placeholder for omitted code: {one_line(line[1])!r}."
        if not keep:
            hint += ' If it is meant literally, send "keep_placeholder": true; a human then decides.'
            raise EditError("omission" if what == "content" else "placeholder", said, hint)
        self.insisted.append(f"{self.path}: {said} The agent says that it is meant.")

    # -- the text ---------------------------------------------------------------------------------

    def _open_stage(self, base: str) -> Stage:
        self._check_there()
        self._check_writable()
        self._check_base(base)
        if self._stage is None:
            from rails.edits.replace import Stage

            coded = decode_text(self._data or b"")
            if coded is None:
                why = why_not_text(self._data or b"")
                raise EditError("format", f"The file is not text: {why}.", "It can only be replaced or deleted whole.")
            self._stage = Stage(coded, View(coded.text), [])
        return self._stage

    def _add(self, stage: Stage, span: Replacement) -> None:
        at = bisect_right(stage.spans, (span.start, span.end), key=lambda other: (other.start, other.end))
        for other in stage.spans[max(0, at - 1) : at + 1]:  # all others are disjoint, so only these two can overlap
            if span.start < other.end and other.start < span.end:
                lines = f"lines {span.first_line}–{span.last_line} and {other.first_line}–{other.last_line}"
                message = f"Two edits of this answer change the same text, {lines}."
                raise EditError("overlap", message, "Send them as one edit.")
        stage.spans.insert(at, span)

    def _flush(self) -> None:
        stage = self._stage
        self._stage = None
        if stage is not None and stage.spans:
            from rails.edits.replace import replace_all

            self._data = replace_all(stage)

    def _encode_whole(self, content: str, *, keep: bool) -> tuple[bytes, list[str]]:
        old = (decode_text(self._start) if self._start else None) or Decoded("")
        if self._fate == "deleted" and old.encoding != "utf-8":
            old = Decoded(old.text)  # it is made anew
        _check_text("content", content, old, old.text)
        before = "" if self._fate == "deleted" else old.text
        hint = "Send the complete file, or change only the lines concerned with edit_file."
        self._check_complete("content", content, before, hint, keep=keep)
        _check_copied(self.path.name, content, before)
        _check_omission(before, content)
        notes = []
        view = View(old.text)
        if view.eol != "\n" and not view.mixed and "\r" not in content and "\n" in content:
            content = content.replace("\n", view.eol)
            notes = ["line endings kept as they were"]
        return old.encode(content.removeprefix("\ufeff") if old.mark else content), notes


_MARKUP: Final = (".html", ".htm", ".xhtml", ".xml", ".svg", ".vue", ".jsx", ".tsx")
_ONE_WRITE: Final = "Send either the whole file or the edits, once."


def _check_text(what: str, text: str, coded: Decoded, known: str = "") -> None:
    if control := control_in(text, known):
        raise EditError(
            "format",
            f"Line {control[0]} of {what} has the control character {control[1]}, which no text file has.",
            f"Leave it out, or write it as an escape of the file's language ({control[1]}).",
        )
    try:
        coded.encode(text)
    except UnicodeEncodeError as error:
        wrong = one_line(text[error.start], 20)
        if "\ud800" <= text[error.start] <= "\udfff":
            raise EditError(
                "format", f"{what} has half of a character ({wrong}).", "Send valid Unicode text."
            ) from None
        line = text.count("\n", 0, error.start) + 1
        raise EditError(
            "format",
            f"Line {line} of {what} has {wrong!r}, which the file's encoding, {coded.label}, does not have.",
            "Use an escape, or send delete_file for it right before write_file: a new file is UTF-8.",
        ) from None


def _check_copied(name: str, content: str, before: str) -> None:
    if is_numbered(flatten(content)):
        raise EditError("format", "Every line of content begins with its line number.", "Send the text without them.")
    plain = without_entities(EditRequest(content, ""))
    if plain is not None:
        known = {*before.splitlines()}
        pairs = zip(content.splitlines(), plain.old.splitlines(), strict=True)
        if name.endswith(_MARKUP) or any(sent != meant and meant in known for sent, meant in pairs):
            said = "The content has &lt; and &gt; in place of every < and >: it is escaped."
            raise EditError("format", said, "Send the text itself.")


def _check_omission(old: str, new: str) -> None:
    if old and (lost := placeholders.lost_lines(old, new)):
        raise EditError(
            "omission",
            f"The new content drops {lost[0]} of the file's {lost[1]} lines.",
            "Change the lines concerned with edit_file. If the file really has to shrink so much, send delete_file "
            "for it right before write_file.",
        )


def _is_done(view: View, wanted: EditRequest, found: Match) -> bool:
    """Return whether the edit was made before: a repetition must not add twice."""
    span = found.spans[0]
    there = view.text[span.start : span.end], span.text
    texts = there if found.strategy == 1 else (wanted.old, wanted.new)
    old, new = (View(text).flat.strip("\n") for text in texts)
    if wanted.occurrence is not None or wanted.replace_all or "\n" not in new:
        return False
    if found.strategy == 1:
        added = new.replace(old, "")  # one more blank line or closing bracket is a request like any other
        if not old or new.count(old) != 1 or not any(map(str.isalnum, added)):
            return False
    lines = new.split("\n")
    if line_places(lines, old.split("\n"), str.strip, 1):
        return False  # a deletion: what stays is there before and after
    at = line_places(lines, view.lines, str.rstrip, _DONE_PLACES)
    return any(start < span.last_line and span.first_line <= start + len(lines) for start in at)
