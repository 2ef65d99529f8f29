"""Messages at the terminal, in English and Japanese.

The first set of ``AI_RAILS_LANG``, ``LC_ALL``, ``LC_MESSAGES``, ``LANG`` decides; anything but Japanese is English. The
Japanese retry messages are the first systems'.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, Literal

MessageLanguage = Literal["en", "ja"]
MessageKey = Literal[
    "retry",
    "sent_back",
    "gave_up",
    "nothing_done",
    "model_retry",
    "nothing_written",
    "aborted",
    "debug_detected",
    "debug_error",
    "debug_invalid",
    "debug_attempt",
    "debug_exceeded",
]

_CATALOGUE: Final[Mapping[MessageKey, Mapping[MessageLanguage, str]]] = {
    "retry": {
        "en": "The action failed.",
        "ja": "このアクションは正しく実行されませんでした",
    },
    "sent_back": {
        "en": "Asking the model to fix it ({kinds}, attempt {n} of {max}).",
        "ja": "モデルに修正を求めます（{kinds}、{n}/{max}回目）。",
    },
    "gave_up": {
        "en": "The task failed.",
        "ja": "ユーザーのタスクを正しく実行できませんでした",
    },
    "nothing_done": {
        "en": "Nothing was done: everything that the agent sent was refused, denied or failed.",
        "ja": "何も行われませんでした。エージェントの要求はすべて拒否されました。",
    },
    "model_retry": {
        "en": (
            "There is a JSON syntax error. Correct the JSON below.\nError: {error}\nInvalid JSON: {json}\n\n"
            "Send the function call again as valid JSON."
        ),
        "ja": (
            "JSON構文エラーが発生しました。以下のJSONを修正してください。\nエラー: {error}\n不正なJSON: {json}\n\n"
            "正しいJSON形式でもう一度functionCallを送信してください。"
        ),
    },
    "nothing_written": {"en": "Nothing was written.", "ja": "何も書き込まれていません。"},
    "aborted": {"en": "Stopped by the human.", "ja": "ユーザーが中止しました。"},
    "debug_detected": {"en": "[AI-Rails] Detected functionCall: {name} {args}"},
    "debug_error": {"en": "[AI-Rails] JSON parse error detected: {error}"},
    "debug_invalid": {"en": "[AI-Rails] Invalid JSON: {json}"},
    "debug_attempt": {"en": "[AI-Rails] Retry attempt {n}/{max}"},
    "debug_exceeded": {"en": "[AI-Rails] Maximum retry attempts ({max}) exceeded"},
}


def language() -> MessageLanguage:
    """Return the language that the environment asks for."""
    asked = next(filter(None, map(os.environ.get, ("AI_RAILS_LANG", "LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return "ja" if asked.lower().startswith("ja") else "en"


def say(key: MessageKey, lang: MessageLanguage | None = None, **values: str) -> str:
    """Return the sentence of ``key``, ``{name}`` filled in."""
    texts = _CATALOGUE[key]
    return texts.get(lang or language(), texts["en"]).format(**values)
