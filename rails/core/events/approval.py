"""Events of approvals: questions and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from rails.core.changes import ChangeSet, FileChange
from rails.core.events.base import Event, EventWithWords
from rails.core.events.values import StoredText
from rails.core.paths import WorkspacePath, exact_path
from rails.core.text import sha256
from rails.core.tool_request import Json, Repair
from rails.core.verdict import Verdict


class ApprovalRequested(EventWithWords, frozen=True, tag="APPROVAL_REQUESTED"):
    """Somebody is asked. ``batch``: a question shared by requests."""

    id: str
    digest: str
    kind: str
    tools: tuple[str, ...]
    diff: str
    risks: tuple[str, ...]
    notes: tuple[str, ...]
    explanation: str
    batch: str = ""


class AskedRequest(msgspec.Struct, frozen=True):
    """A tool, its masked parameters, how the request was read."""

    id: str
    tool_name: str = msgspec.field(name="tool")
    effect: str
    parameters: Mapping[str, Json]
    definition: str
    from_project: bool
    dialect: str
    repairs: tuple[Repair, ...]
    coerced: tuple[str, ...]


class AskedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that would change; a text is ``None`` if binary, too large, or absent."""

    path: str
    kind: str
    before_sha256: str | None
    after_sha256: str | None
    mode: int
    before: str | None
    proposed: str | None
    after: str | None
    #: The codec of the texts; ``""`` is UTF-8.
    encoding: str = ""

    @property
    def masked(self) -> bool:
        """Whether a secret was masked: the log then differs from what is written."""
        return self.after is not None and sha256(self._bytes(self.after)) != self.after_sha256

    def change(self) -> FileChange | None:
        """Return the logged change; ``None`` without texts."""
        path = exact_path(self.path)
        sides = (self.before, self.after, self.proposed)
        missing = (self.before is None and self.before_sha256) or (self.after is None and self.after_sha256)
        if not isinstance(path, WorkspacePath) or missing or any(isinstance(side, StoredText) for side in sides):
            return None
        before, after, proposed = (None if side is None else self._bytes(side) for side in sides)
        return FileChange(path, before, after, self.mode or 0o644, proposed)

    def _bytes(self, text: str) -> bytes:
        try:
            return text.encode(self.encoding or "utf-8", "replace")
        except LookupError:  # of a newer log
            return text.encode("utf-8", "replace")

    def unseen(self) -> Iterator[str]:
        """Yield a sentence on each part of the file that cannot be shown exactly."""
        if self.change() is None:
            yield f"{self.path} ({self.kind}): not text, or too large to show here. SHA-256 after: {self.after_sha256}"
        elif self.masked:
            yield f"A secret is masked in {self.path} as shown here; the file would hold its real value."
        elif self.before is not None and sha256(self._bytes(self.before)) != self.before_sha256:
            yield f"A secret is masked in what {self.path} has had so far."


class GrantOffer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The rule that would allow the same again, as policy and in words; or why none.

    ``wider``: what an approval can become for the session; ``held``: grants in force.
    """

    wider: str = ""
    held: str = ""
    why_not: str = ""
    rule: str = ""
    words: str = ""
    #: How often and for how long the rule would hold, as older logs have it.
    uses: int = 0
    minutes: int = 0


class AskedOption(msgspec.Struct, frozen=True, omit_defaults=True):
    """A way to answer: word, meaning, effect as a unified diff.

    ``words``: a text "may" or "must" go with it; ``typed``: the word must be typed in full.
    """

    word: str
    meaning: str
    diff: str = ""
    words: str = ""
    typed: bool = False


class ApprovalOpened(Event, frozen=True, tag="APPROVAL_OPENED"):
    """A human is asked, with everything that is shown, files' texts too.

    ``replaces`` is the question replaced after an edit, ``note`` what became of that edit. ``expires`` is UTC, ISO
    8601. Questions with ``options`` are answered by one's word; ``lines`` are their text.
    """

    id: str
    digest: str
    kind: str
    agent: str
    tools: tuple[str, ...]
    explanation: str
    risks: tuple[str, ...]
    notes: tuple[str, ...]
    requests: tuple[AskedRequest, ...]
    files: tuple[AskedFile, ...]
    verdict: Verdict | None
    grant: GrantOffer | None
    can_edit: bool
    replaces: int
    note: str
    expires: str
    lines: tuple[str, ...] = ()
    options: tuple[AskedOption, ...] = ()

    @property
    def message(self) -> str:
        """Return that the session waits for an answer."""
        return f"waiting for a human: {self.id}"

    @property
    def changes(self) -> ChangeSet:
        """The changes whose texts the log has."""
        return ChangeSet(tuple(change for file in self.files if (change := file.change())))

    @property
    def careful(self) -> tuple[str, ...]:
        """Why the word must be typed: risks, content that cannot be shown."""
        return (*self.risks, *self.unseen)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Sentences on what cannot be shown exactly."""
        return tuple(line for file in self.files for line in file.unseen())


class ApprovalClosed(EventWithWords, frozen=True, tag="APPROVAL_CLOSED"):
    """A question without decision: expired, withdrawn, stale or answered."""

    id: str
    digest: str
    question: int
    state: str


def why_words(reason: str, by: str) -> str:
    """Return why somebody decided so, behind a colon; a grant that decided is named once."""
    why = reason.removeprefix(f"{by}: ")
    return f": {why}" if why else ""


class HumanDecision(Event, frozen=True, tag="HUMAN_DECISION"):
    """approve, deny or abort: who, why, after how many seconds; ``account``: what they edited."""

    id: str
    digest: str
    account: str
    answer: str
    reason: str
    by: str
    at: str
    seconds: float
    scope: str
    batch: str = ""

    @property
    def message(self) -> str:
        """The answer, who gave it, and why."""
        return f"{self.answer} by {self.by}{why_words(self.reason, self.by)}"


class GrantEvent(EventWithWords, frozen=True, tag="GRANT"):
    """A grant given or taken back: rule, uses, end (seconds since the epoch)."""

    what: str
    number: int
    rule: Mapping[str, Json]
    uses: int
    ends: float
