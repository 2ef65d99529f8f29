"""Every bound, each with its reason. Nothing is unbounded."""

from __future__ import annotations

from typing import Final

# -- what a model may send ------------------------------------------------------------------------
#: One answer, in characters. Longer answers are cut off by the model first; this stops a runaway.
ANSWER_CHARS: Final = 16_000_000
#: One JSON block, in characters: a 5 MB file inside a string, with escapes.
BLOCK_CHARS: Final = 12_000_000
#: Nesting of one JSON value. `jsonschema` overflows the stack at about 900.
JSON_DEPTH: Final = 64
#: Digits of one number: Python refuses 4,301; nobody means more than this.
NUMBER_CHARS: Final = 40
#: Tokens asked of a model for one answer, its thinking included: room for a file of a few thousand lines.
ANSWER_TOKENS: Final = 32_000
#: Tokens that a model takes at once where neither the user nor its server says: the smallest of Anthropic's models, of
#: OpenAI's, and what local servers can be expected to have.
ANTHROPIC_WINDOW: Final = 200_000
OPENAI_WINDOW: Final = 128_000
GEMINI_WINDOW: Final = 1_000_000
LOCAL_WINDOW: Final = 32_000
#: A file of recorded answers.
RECORDING_BYTES: Final = 64_000_000
#: Requests in one answer: an approval must stay readable.
REQUESTS_PER_ANSWER: Final = 50
#: Characters of the name and the id of a provider's own call: no tool has a longer name, and each answer is sent again.
CALL_NAME_CHARS: Final = 200
#: Refusals and ignored blocks of one answer that are logged and told one by one; of the others, how many there are.
BLOCKS_TOLD: Final = 50

# -- what may be read and written -----------------------------------------------------------------
#: One file. The edit engine holds a handful of copies in memory.
FILE_BYTES: Final = 10_000_000
#: Files in one change set.
FILES_PER_CHANGE: Final = 100
#: Files that the gate repairs, and forgets, before it goes on with the next ones.
FILES_PER_STEP: Final = 200
#: All files of one change set together.
CHANGE_BYTES: Final = 40_000_000
#: Path bounds: the smallest of ext4, NTFS and APFS.
PATH_CHARS: Final = 1_024
PATH_PART_BYTES: Final = 255
PATH_DEPTH: Final = 32

# -- what goes back to the model ------------------------------------------------------------------
#: One tool result or feedback text; the rest is kept in a file that the text names.
FEEDBACK_CHARS: Final = 20_000
#: What of a project's AGENTS.md is in the prompt of every agent.
INSTRUCTION_CHARS: Final = 24_000
#: The map of the project in an agent's first message, in UTF-8: 1,500 tokens at 1.4 bytes each, which is less than real
#: tokenizers take for names of hashes, of random letters, in Chinese or in Arabic (1.47 is the least that was counted).
MAP_BYTES: Final = 2_100
#: What is kept of one tool result.
RESULT_CHARS: Final = 400_000
#: All results of one answer together; those beyond are told to be asked for again.
ANSWER_FEEDBACK_CHARS: Final = 200_000
#: What an agent receives of its earlier attempts when its conversation is restarted: about a page.
PAGE_CHARS: Final = 6_000
#: What one agent hands to the next; the rest stays in the numbered file.
HANDOFF_CHARS: Final = 60_000
#: Findings of one text and tool that are listed one by one; of the others, how many there are of each rule.
FINDINGS_LISTED: Final = 5_000
#: Findings reported at once: models fix a handful well and lose the thread beyond.
FINDINGS_TOLD: Final = 10

# -- definition files and agent templates ---------------------------------------------------------
#: One definition file or agent template: a person reads it in full before trusting it.
DEFINITION_BYTES: Final = 256_000
#: Files in one definitions or templates folder.
DEFINITION_FILES: Final = 500
#: Levels of one parameter schema, and its sub-schemas with every `$ref` written out: `jsonschema`
#: took 68 s on a choice of three, twelve levels deep.
SCHEMA_DEPTH: Final = 12
SCHEMA_NODES: Final = 2_000
#: Characters of a text that is matched against a `pattern`.
PATTERN_CHARS: Final = 100_000

# -- regular expressions and differences ----------------------------------------------------------
#: One regular expression, in characters.
REGEX_CHARS: Final = 10_000
#: Instructions that RE2 makes of one: a thousand times any class of characters.
REGEX_INSTRUCTIONS: Final = 30_000
#: Instructions by characters of the text: 10 s at the very worst, when nothing of the automaton can be kept.
REGEX_STEPS: Final = 2_000_000_000
#: Pairs of lines that are compared, one bit each: 50 MB and, measured, at most 0.5 s for 20,000 by 20,000 lines.
DIFF_PAIRS: Final = 400_000_000

# -- the page --------------------------------------------------------------------------------------
#: What a browser may send at once: a decision with the edited text of a few files.
PAGE_BODY_BYTES: Final = 4_000_000
#: A human's reason for a denial, in characters: the agent reads all of it.
REASON_CHARS: Final = 4_000
#: What a person says to a conversation on the page, in characters.
FOLLOW_UP_CHARS: Final = 20_000
#: How long the page waits for the run to take up a decision before it says that it was only left, in seconds.
PAGE_DECISION_SECONDS: Final = 5.0
#: Connections at a time: a browser opens six. Where more come, the one that has waited for longest makes room.
PAGE_CONNECTIONS: Final = 2_048
#: How long a request may take to come, an idle connection may stay, and an answer may lie unread, in seconds.
PAGE_REQUEST_SECONDS: Final = 10.0
PAGE_IDLE_SECONDS: Final = 30
PAGE_UNREAD_SECONDS: Final = 30.0
#: How long a connection that was answered is read to its end, so that the answer arrives.
PAGE_LINGER_SECONDS: Final = 1.0

# -- time, in seconds -----------------------------------------------------------------------------
CHECK_SECONDS: Final = 60.0
#: How long the end of a gate waits for a judgement that is going on.
GATE_CLOSE_SECONDS: Final = 2.0
COMMAND_SECONDS: Final = 60.0
MODEL_SILENCE_SECONDS: Final = 300.0
#: Reaching a model's server; a proxy that does not answer should be noticed soon.
MODEL_CONNECT_SECONDS: Final = 15.0
#: The longest pause that a model's service may ask for; a longer one is cut to this.
MODEL_PAUSE_SECONDS: Final = 120.0
#: Turns of an agent on one task, and attempts in a row that failed, before a human is needed.
MAX_TURNS: Final = 25
MAX_ATTEMPTS: Final = 3

# -- edits ----------------------------------------------------------------------------------------
#: How long a writer waits for another process that writes to the same project, in seconds.
PROJECT_LOCK_SECONDS: Final = 10.0
#: Contents of files that an agent read and that are kept to merge with: four files of the largest size.
KNOWN_BYTES: Final = 40_000_000
#: All matches of a regular expression that a model sent; one of them takes linear time, many can
#: take its square. The seconds are those of the processor: another program beside this one changes nothing.
REGEX_SECONDS: Final = 2.0
#: Lines of a file that are compared with the wanted one, for a refusal: it must not cost more than the edit.
NEAREST_LINES: Final = 30_000

# -- the log --------------------------------------------------------------------------------------
#: A payload above this is stored once by its hash, and the record points to it.
INLINE_BYTES: Final = 8_192
#: What the record keeps of such a payload, so that a list can show it without opening the blob, in characters.
HEAD_CHARS: Final = 240
#: One line of a log that a reader takes in; the writer stays far below it.
LOG_LINE_BYTES: Final = 1_000_000
#: A registered secret shorter than this is not masked: it would turn ordinary words into marks.
SECRET_CHARS: Final = 6
#: Of one record's text, how much is made searchable by word, in characters.
INDEX_CHARS: Final = 20_000
#: One search line, in characters.
QUERY_CHARS: Final = 1_000
#: Hits of one search, and rows of one window, that are given out at once.
PAGE_ROWS: Final = 500
#: Records that may wait for the disk, in seconds, while others arrive. Durable ones never wait.
GROUP_COMMIT_SECONDS: Final = 0.25
#: How long a writer waits for another process to close a session log, in seconds.
LOCK_SECONDS: Final = 1.0
#: How long a session waits until those who delete others have looked through the logs, in seconds.
COLLECTING_SECONDS: Final = 60.0
#: What a command or linter may print before it is cut in the middle.
OUTPUT_BYTES: Final = 1_000_000
#: What a hook of another agent may say at once, in characters: its host cuts longer texts or puts them in a file.
HOST_PAGE_CHARS: Final = 1_900
