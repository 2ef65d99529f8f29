"""Secrets are masked before a byte is written, in every form and place, and nothing else is."""

import base64
import json
import re
from urllib.parse import quote

import pytest

from rails.core.events.base import UnknownEvent
from rails.log.masking import Masker, of_environment
from rails.log.writer import SessionLog

MASK = re.compile(r"«secret:([a-z-]+):[0-9a-f]{8}»")
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7\n" * 12 + "-----END RSA PRIVATE KEY-----"

# Invented values in the documented shapes; split so that scanners of this repository stay calm.
SHAPED = {
    "anthropic": "sk-ant-" + "api03-" + "abcDEF123_-" * 5,
    "openai": "sk-" + "proj-" + "abcDEF123_" * 4,
    "github": "ghp_" + "A1b2C3d4" * 5,
    "gitlab": "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "stripe": "sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "npm": "npm_" + "a1B2c3" * 6,
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + "CJDEyMzQ1Njc4" * 5,
    "huggingface": "hf_" + "abcdEFGH" * 5,
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "private-key": PEM,
}


@pytest.fixture
def masker():
    return Masker(b"k" * 32, ["hunter2-hunter2", 'pa"ss\\wörd\n#1', "tiny"])


@pytest.mark.parametrize(("kind", "secret"), SHAPED.items(), ids=SHAPED)
@pytest.mark.parametrize("around", ["{}", "key={}", '"{}"', "at {}, and", "({})", "{}\nnext"])
def test_a_value_in_a_known_shape_is_masked_and_the_rest_stays(masker, kind, secret, around):
    masked = masker.text(around.format(secret))
    assert MASK.findall(masked) == [kind]
    assert MASK.sub("{}", masked) == around


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc.DEF-123_456", "abc.DEF-123_456"),
        ('{"Authorization": "Bearer abcdef123456"}', "abcdef123456"),
        ('{\\"authorization\\": \\"Basic dXNlcjpwYXNz\\"}', "dXNlcjpwYXNz"),
        ("curl -H 'authorization: token abcdef123456' x", "abcdef123456"),
        ("x-api-key: 0123456789abcdef", "0123456789abcdef"),
        ("postgres://app:s3cret@db.local:5432/x", "s3cret"),
        ("https://user:p4ss%20word@host/path?x=1", "p4ss%20word"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B", "MIIEvQIBADANBgkqhkiG9w0B"),
    ],
)
def test_credentials_are_masked_where_they_stand(masker, text, secret):
    masked = masker.text(text)
    assert secret not in masked
    assert MASK.search(masked)
    assert masked[:8] == text[:8] or text.startswith("-----")


@pytest.mark.parametrize(
    "secret",
    ["hunter2-hunter2", 'pa"ss\\wörd\n#1'],
)
def test_a_registered_value_is_masked_in_every_form_it_may_be_written(masker, secret):
    forms = [
        secret,
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode(),
    ]
    for form in forms:
        masked = masker.text(f"before {form} after")
        assert MASK.findall(masked) == ["registered"], form
        assert masked.startswith("before ")
        assert masked.endswith(" after")
    assert len({MASK.search(masker.text(form))[0] for form in forms}) == 1, "one secret, one mark"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tiny",
        "sk-learn and sk-short",
        "the Authorization header is missing",
        "https://example.org:8080/path@home",
        "git@github.com:owner/repo.git",
        "GHP_ AKIA xoxo hf_ npm_config_registry eyJ",
        "token_count = tokens[0]",
        "«secret:github:00000000»",
        "def authorization(request): return request.key",
        "5f4dcc3b5aa765d61d8327deb882cf99 0123456789abcdef0123456789abcdef01234567",
        "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
    ],
)
def test_ordinary_text_is_left_alone(masker, text):
    assert masker.text(text) == text


def test_masking_twice_changes_nothing_more(masker):
    text = " ".join(SHAPED.values()) + ' Authorization: Bearer abcdef123456 {"x-api-key": "0123456789abcdef"}'
    once = masker.text(text)
    assert masker.text(once) == once


def test_a_mark_is_the_same_in_a_project_and_another_in_the_next(tmp_path):
    marks = []
    for project in ("a", "a", "b"):
        with SessionLog.create(tmp_path / project) as log:
            marks.append(log.append(UnknownEvent("ERROR", SHAPED["github"])).message)
    assert marks[0] == marks[1] != marks[2]


def test_no_secret_reaches_any_file_of_the_log(tmp_path):
    """A canary in every place of an event and in blobs; then every file of the state is searched for it."""
    canary, state = "canary-7f3a91c2", tmp_path / ".rails"
    with SessionLog.create(state, secrets=[canary]) as log:
        for size in (0, 20_000):
            filler = "x" * size
            event = UnknownEvent(
                "LLM_RESPONSE",
                f"said {canary}",
                {canary: 1, "a": [{"b": f"{filler}{canary}{filler}"}], "raw": json.dumps({"k": json.dumps(canary)})},
            )
            log.append(event)
        log.append(UnknownEvent("ERROR", "x", {"many": [canary] * 3_000, "key": SHAPED["anthropic"], "pem": PEM}))
        log.blob(f"# -*- text\nkey = '{canary}'\n".encode())
        log.blob(b"\xff\xfe" + canary.encode() + b"\x00")
    files = [path for path in state.rglob("*") if path.is_file()]
    assert len(files) > 5
    for path in files:
        content = path.read_bytes()
        assert canary.encode() not in content
        assert b"sk-ant-" not in content
        assert b"MIIE" not in content


def test_bytes_that_are_not_text_keep_their_places(masker):
    data = bytes(range(256)) * 3
    assert masker.data(data) == data
    assert masker.data(data + b" hunter2-hunter2 " + data).startswith(data)


def test_masking_takes_time_in_proportion_to_the_text(masker, cpu_seconds):
    """Hostile texts for each shape, at two sizes: four times the text may take about four times as long."""
    hostile = [
        "-----BEGIN PRIVATE KEY-----",
        "://a:b",
        "Authorization: ",
        "sk-ant-",
        "eyJaaaaaaaaa.",
        "x-api-key=",
        "AKIA ",
    ]
    for unit in hostile:
        small, large = (cpu_seconds(lambda text=unit * count: masker.text(text)) for count in (10_000, 40_000))
        assert large < 0.05 + 12 * small, unit
        assert large < 3, unit


def test_variables_with_a_secret_name_are_registered_without_being_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_API_TOKEN", "plain-words-token")
    with SessionLog.create(tmp_path / "s") as log:
        record = log.append(UnknownEvent("ERROR", "x", {"env": "SHOP_API_TOKEN=plain-words-token"}))
    assert MASK.sub("*", record.details["env"]) == "SHOP_API_TOKEN=*"


def test_only_variables_with_a_secret_name_and_a_secret_value_count():
    environment = {
        "A_KEY": "abcdef", "TOKEN": "abcdefg", "db_password": "abcdefgh",
        "KEYBOARD": "qwertz-layout", "SSH_KEY": "/home/me/.ssh/id", "MAX_TOKEN": "1000000", "X_KEY": "abc",
    }  # fmt: skip
    assert of_environment(environment) == ("abcdef", "abcdefg", "abcdefgh")
