"""Secrets are masked before a byte is written, in every form and place, and nothing else is."""

import base64
import functools
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest

from rails.core import limits
from rails.core.events.base import UnknownEvent
from rails.log.masking import MARK, Masker, of_env_file, of_environment
from rails.log.writer import SessionLog
from tests.rows import walked

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
    return Masker(b"k" * 32, ["hunter2-hunter2", 'pa"ss\\wörd\n#1', "a/b+c d?e", "tiny"])


@walked(("kind", "secret"), SHAPED.items())
@walked("around", ["{}", "key={}", '"{}"', "at {}, and", "({})", "{}\nnext"])
def test_a_value_in_a_known_shape_is_masked_and_the_rest_stays(masker, kind, secret, around):
    masked = masker.text(around.format(secret))
    assert MASK.findall(masked) == [kind]
    assert MASK.sub("{}", masked) == around


# One case for each trigger and each alternative of a shape, at its least length: kind, and the value in two parts.
LEAST = [
    ("anthropic", "sk-ant-", "aB3_-" * 4),
    ("openai", "sk-proj-", "aB3_-" * 4),
    ("openai", "sk-svcacct-", "aB3_-" * 4),
    ("openai", "sk-admin-", "aB3_-" * 4),
    ("openai", "sk-", "aB3z" * 10),
    ("openrouter", "sk-or-v1-", "0af9" * 8),
    *(("github", f"gh{letter}_", "aB3" * 12) for letter in "pousr"),
    ("github", "github_pat_", "aB_3" * 5 + "Zz"),
    ("gitlab", "glpat-", "aB3_-" * 4),
    ("aws", "AKIA", "AB34" * 4),
    ("aws", "ASIA", "AB34" * 4),
    ("google", "AIza", "aB3_-" * 7),
    *(("slack", f"xox{letter}-", "aB3-5" * 2) for letter in "abeoprs"),
    ("stripe", "sk_live_", "aB34" * 4),
    ("stripe", "rk_live_", "aB34" * 4),
    ("npm", "npm_", "aB3" * 12),
    ("pypi", "pypi-AgEIcHlwaS5vcmc", "aB3_-" * 8),
    ("huggingface", "hf_", "aB3" * 10),
    ("jwt", "eyJaaaa_-33.", "eyJbbbb_-33." + "ccccc_-3"),
    *(("service", f"do{letter}_v1_", "0af9" * 16) for letter in "opr"),
    ("service", "SG.", "aB3_" * 4 + "." + "aB3-" * 8),
    *(("service", f"shp{kind}_", "0aF9" * 8) for kind in ("at", "ca", "pa", "ss")),
    ("service", "dckr_pat_", "aB3_-" * 4),
    ("service", "hvs.", "aB_3-4" * 4),
    ("service", "ATATT3", "aB3_=" * 8),
    ("service", "lin_api_", "aB34" * 8),
    ("service", "ntn_", "aB34" * 10),
    ("service", "glsa_", "aB34" * 8 + "_0af90af9"),
    ("service", "sbp_", "0af9" * 10),
    ("service", "GOCSPX-", "aB_3-4" * 4),
    ("service", "ya29.", "aB3_-" * 8),
    ("service", "dapi", "0af9" * 8),
    ("service", "rubygems_", "0af9" * 12),
    ("service", "AGE-SECRET-KEY-1", "AB" * 29),
    ("service", "xai-", "aB34" * 15),
    ("service", "gsk_", "aB34" * 10),
    ("service", "r8_", "aB34" * 9),
    ("service", "pplx-", "aB34" * 10),
    ("service", "nvapi-", "aB3_-" * 8),
    ("service", "tvly-", "aB-3" * 8),
    *(
        ("service", f"{start}-", "aB3z" * 5)
        for start in ("gldt", "glrt", "glcbt", "glptt", "xapp", "HRKU", "pul", "PMAK")
    ),
    *(("service", f"{start}_", "aB3z" * 5) for start in ("whsec", "pscale_tkn", "pscale_pw", "pscale_oauth", "figd")),
    *(("service", f"{start}_", "aB3z" * 5) for start in ("sntrys", "sntryu", "CCIPAT", "bkua", "pcsk", "sqp", "squ")),
    *(("service", f"dp.{kind}.", "aB3z" * 5) for kind in ("pt", "st", "ct", "sa")),
    *(("service", f"{start}-", "aB3z" * 5) for start in ("NRAK", "sq0atp", "sq0csp", "CFPAT", "tskey-auth", "sk-lf")),
    *(("service", f"{start}-", "12ab3456-7890-0abc-aef0-1234567890ab"[-24:]) for start in ("pat-na1", "pat-eu1")),
    *(("service", start, "aB3z" * 5) for start in ("ops_eyJ", "glc_eyJ", "AKCp", "ATBB", "dt0c01.", "access_token$")),
    *(("service", f"lsv2_{kind}_", "aB3z" * 5) for kind in ("pt", "sk")),
    ("service", "access-production-", "aB3z" * 5),
    ("service", "12345678:AA", "aB3-_" * 6 + "abc"),
    ("service", "aB~1Q~", "aB3z" * 7 + "abc"),
]


@walked(("kind", "start", "rest"), LEAST)
def test_every_trigger_and_shape_is_masked_from_its_least_length_on(masker, kind, start, rest):
    assert MASK.findall(masker.text(f"({start}{rest})")) == [kind]
    assert MASK.sub("*", masker.text(f"({start}{rest})")) == "(*)"
    assert masker.text(f"({start}{rest[:-1]})") == f"({start}{rest[:-1]})", "one character less is something else"


HEADERS = [
    "authorization",
    "Authorization",
    "AUTHORIZATION",
    "Proxy-Authorization",
    "x-api-key",
    "X-Api-Key",
    "API-KEY",
    "AuThoriZation",
    "X-aPI-kEY",
]


@walked("name", HEADERS)
@walked("between", [": ", "=", '": "', "', '", '\\": \\"'])
def test_the_value_of_a_header_with_a_secret_is_masked_in_every_spelling(masker, name, between):
    least = 8 if "uth" in name.lower() else 12
    secret = "a.B_3~+/=-ZZ"[-least:]
    assert MASK.sub("*", masker.text(f"{name}{between}{secret}!")) == f"{name}{between}*!"
    assert MASK.findall(masker.text(f"{name}{between}{secret}")) == ["header"]
    assert masker.text(f"{name}{between}{secret[1:]}!") == f"{name}{between}{secret[1:]}!"


@walked(
    ("start", "rest"),
    [
        ("AccountKey=", "aB3/" * 20),
        ("hooks.slack.com/services/", "TABCD1234/BABCD1234/" + "aB34" * 5),
        ("/api/webhooks/", "12345678901234567/" + "aB3-_" * 12),
        ("?sig=", "aB3%2" * 8 + "abc"),
    ],
)
def test_what_a_secret_stands_behind_stays(masker, start, rest):
    assert MASK.findall(masker.text(f"({start}{rest})")) == ["service"]
    assert MASK.sub("*", masker.text(f"({start}{rest})")) == f"({start}*)"
    assert masker.text(f"({start}{rest[:-1]})") == f"({start}{rest[:-1]})"


@walked("scheme", ["Bearer", "bearer", "BASIC", "token"])
def test_the_scheme_of_a_header_stays_and_its_value_is_masked(masker, scheme):
    assert MASK.sub("*", masker.text(f"Authorization: {scheme} aaaabbbb")) == f"Authorization: {scheme} *"


def test_a_password_in_an_address_is_masked_between_its_colon_and_the_at(masker):
    masked = masker.text(
        "a://u:abc@h b://u:ab@h c://u@h d://:abc@h e://u:" + "x" * 256 + "@h f://u:" + "x" * 257 + "@h"
    )
    assert MASK.sub("*", masked) == "a://u:*@h b://u:ab@h c://u@h d://:*@h e://u:*@h f://u:" + "x" * 257 + "@h"
    assert set(MASK.findall(masked)) == {"password"}


def test_a_key_block_is_masked_whole_and_a_cut_one_as_far_as_it_goes(masker):
    for kind in ("", "EC ", "OPENSSH ", "ENCRYPTED "):
        block = f"-----BEGIN {kind}PRIVATE KEY-----\nabc+/=\n-----END {kind}PRIVATE KEY-----"
        assert MASK.sub("*", masker.text(f"({block})")) == "(*)"
    cut = "-----BEGIN PRIVATE KEY-----\\nabc+/=\n(rest)"
    assert MASK.sub("*", masker.text(cut)) == "*(rest)"


def test_a_registered_value_counts_from_its_least_length_and_the_longest_form_goes_first():
    least = "x" * limits.SECRET_CHARS
    both = Masker(b"k", [least[1:], least, f"{least}yz"])
    assert MASK.sub("*", both.text(f"{least[1:]} {least} {least}yz")) == f"{least[1:]} * *"
    assert not Masker(b"k", [least[1:]]).may_touch(least)


def test_the_quick_look_is_never_wrong_towards_no(masker):
    for _, start, rest in LEAST:
        assert masker.may_touch(f"a{start}{rest}"), start
    assert masker.may_touch("hunter2-hunter2")
    assert not masker.may_touch("nothing here to hide")


def test_every_place_of_a_json_value_is_masked_and_its_shape_kept(masker):
    secret = "hunter2-hunter2"
    value = {secret: [secret, 1, None, True, {"a": secret, "b": 1.5}], "c": "plain"}
    masked = json.loads(MASK.sub("*", json.dumps(masker.value(value), ensure_ascii=False)))
    assert masked == {"*": ["*", 1, None, True, {"a": "*", "b": 1.5}], "c": "plain"}


def test_a_mark_can_be_told_again_and_depends_on_key_and_secret():
    one = Masker(b"k" * 32, ["abcdefgh", "abcdefgi"])
    other = Masker(b"l" * 32, ["abcdefgh"])
    marks = [one.text("abcdefgh"), one.text("abcdefgi"), other.text("abcdefgh")]
    assert all(MARK.fullmatch(mark) for mark in marks)
    assert len(set(marks)) == 3
    assert one.text("abcdefgh") == marks[0]


@walked(
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


@walked(
    "secret",
    ["hunter2-hunter2", 'pa"ss\\wörd\n#1', "a/b+c d?e"],
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


@walked(
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
    canary = "canary-7f3a91c2"
    state = tmp_path / ".rails"
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
        small, large = (functools.partial(masker.text, unit * count) for count in (10_000, 40_000))
        bound = min(3, 0.05 + 12 * cpu_seconds(small))
        assert cpu_seconds(large, enough=bound) < bound, unit


def test_variables_with_a_secret_name_are_registered_without_being_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_API_TOKEN", "plain-words-token")
    with SessionLog.create(tmp_path / "s") as log:
        record = log.append(UnknownEvent("ERROR", "x", {"env": "SHOP_API_TOKEN=plain-words-token"}))
    assert MASK.sub("*", record.details["env"]) == "SHOP_API_TOKEN=*"


def test_only_variables_with_a_secret_name_and_a_secret_value_count():
    environment = {
        "A_KEY": "abcdef", "TOKEN": "abcdefg", "db_password": "abcdefgh",
        "KEYBOARD": "qwertz-layout", "SSH_KEY": "/home/me/.ssh/id", "MAX_TOKEN": "1000000", "X_KEY": "abc",
        "Y_KEY": "~/.ssh/id", "MONKEY": "abcdefg", "KEY_FILE": "abcdefg", "Z_KEY": "x" * (limits.SECRET_CHARS - 1),
    }  # fmt: skip
    assert of_environment(environment) == ("abcdef", "abcdefg", "abcdefgh")
    for name in ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PAT", "CREDENTIAL", "CREDENTIALS"):
        least = "x" * limits.SECRET_CHARS
        assert of_environment({name: least, f"MY_{name}": "abcdefgh", name.lower(): "abcdefgi"}) == (
            least,
            "abcdefgh",
            "abcdefgi",
        )


#: Lines of an ``.env`` file, and what of each is registered as a secret.
ENV_LINES = [
    ("API_KEY=abcdefgh12345", "abcdefgh12345"),
    ("export DB_PASSWORD = 'hunter2hunter2'", "hunter2hunter2"),
    ('  TOKEN="with \\"quotes\\" 1"', 'with \\"quotes\\" 1'),
    ("OTHER=f9e8d7c6b5a4", "f9e8d7c6b5a4"),
    ("OTHER=f9e8d7c6b5a4 # a remark", "f9e8d7c6b5a4"),
    ("OTHER=f9e8d7c6b5a", ""),
    ("WORDS=plain words only", ""),
    ("NAME=production_db2", ""),
    ("VERSION=v1.2.3-beta+build.5", ""),
    ("HOST=db.example.com:5432", ""),
    ("MAIL=somebody99@example.com", ""),
    ("URL=https://example.com:8080/path/1", ""),
    ("URL=https://user:pass1word@example.com/", "https://user:pass1word@example.com/"),
    ("PLACE=/var/lib/data/2024-01", ""),
    ("PLACE=~/data/2024-01-02", ""),
    ("PLACE=./data/2024-01-02", ""),
    ("NO_DIGIT=ab$cd!ef?gh-ij", ""),
    ("# OTHER=f9e8d7c6b5a4", "f9e8d7c6b5a4"),
    ("1X=f9e8d7c6b5a4", "f9e8d7c6b5a4"),
    ("# OTHER=plain words only", ""),
    ("TOKEN_PROD=onlywords", "onlywords"),
    ("PASSWORD2=onlywords", "onlywords"),
    ("DB_PASSWORD_TEST=onlywords", "onlywords"),
    ("TOKEN_URL=onlywords", ""),
    ("URL=postgres://app:app@localhost/app", ""),
]


@walked(("line", "secret"), ENV_LINES)
def test_what_of_an_env_file_is_a_secret_by_its_name_or_its_look(line, secret):
    found = of_env_file(line)
    assert found[:1] == ((secret,) if secret else ())
    assert all(one in secret for one in found), "a token in it counts by itself, too"


KEY = "StPKR0CsTy4Qwb8DwkNhFdnXsiVp"


@walked(
    "text",
    [
        *(
            "\ufeffA={}",
            "A: {}",
            "set A={}",
            "setenv A {}",
            "declare -x A={}",
            "A={};",
            "A=${{B:-{}}}",
            "# A={}",
            "A=$'{}'",
        ),
        *("A=`{}`", '"A": "{}",', "A=Bearer {}", "A=u:{}", "A={}#x", "B=1 A={}", "A=1\rB={}\rC=2"),
        *(
            'A="{}',
            'A="x {} y"',
            'A=\'{{"k": "{}"}}\'',
            'A="x\\n{}\\ny"',
            "A: |\n  {}",
            "A='x\n{}\ny'",
            "A=https://h/?t={}",
        ),
    ],
)
def test_a_token_of_an_env_file_is_masked_alone_however_it_is_set(text):
    text = text.format(KEY)
    assert MASK.sub("*", Masker(b"k" * 32, of_env_file(text)).text(f"out {KEY} end")) == "out * end"


def test_the_lines_of_a_secret_and_the_password_of_an_address_are_masked_alone_too():
    found = of_env_file('X_KEY="first line\nanother one"\nURL=postgres://u:hunter2secret@h/db\n')
    assert {"first line", "another one", "hunter2secret"} <= set(found)


def test_every_line_of_an_env_file_counts_and_a_value_once():
    assert of_env_file("A=f9e8d7c6b5a4\nX_KEY=abcdefgh12345\nB=f9e8d7c6b5a4\nC=a0b1c2d3e4f5\n") == (
        "abcdefgh12345",
        "f9e8d7c6b5a4",
        "a0b1c2d3e4f5",
    )


#: Settings that are no secrets: numbers, versions, dates, switches, hosts, places, ports, names of things.
SETTINGS = """
123456789012
1.22.3-beta4
v1.2.3-beta+build.5
v1.2.3-14-g2414721
2024.11.3-rc.1
3.11.0rc1-slim
1.2.3-SNAPSHOT
2026-11-23T02:50:28Z
2026-11-23T02:50:28.123456+00:00
20261123T025028Z
2024-01-02 03:04:05
23-Nov-2026 10:00
Mon Nov 23 2026
12:30:45.123456
1_000_000_000
-1234567.890123
6.02214076e23
1.5e-10 2.5e10
0xdeadbeef, 0x10
*/15 2 * * 1-5
+49 30 12345678
10.0.0.0/8,192.168.0.0/16
192.168.100.200:8080
2001:db8:85a3::8a2e:370:7334
[2001:db8:85a3::8a2e:370:7334]:443
00:1A:2B:3C:4D:5E
db.internal:5432
localhost:5432
redis-12345.c1.us-east-1-2.ec2.cloud.redislabs.com:12345
mydb.c9akciq32xyz.us-east-1.rds.amazonaws.com
ip-10-0-0-1.eu-west-1.compute.internal
a1.example.com:9092,b2.example.com:9092
https://api.example.com/v1
https://example.com:8080/path/1
http://10.0.0.5:3000/
redis://cache-01:6379/0
postgres://db.example.com:5432/app_db2
somebody99@example.com
/var/lib/data/2024-01-02
~/data/2024-01-02
./data/2024-01-02
../x9/build-2024
C:\\Users\\me2\\data
/nix/store/0c1pyzxr4b8jd8fnbm1zw5r5g4y2s3a7-glibc-2.38
production-eu-west-1
us-east-1,eu-central-1
prod-db01-eu1-v2
utf8mb4_unicode_ci
x86_64-unknown-linux-gnu
python3.11-slim-bookworm
registry.example.com/team/app:1.2.3
postgres:15.4-alpine
llama3.1:8b-instruct-q4_K_M
gpt-4o-mini-2024-07-18
claude-3-5-sonnet-20241022
en_US.UTF-8 C.UTF-8
Europe/Berlin UTC+2
arn:aws:iam::123456789012:role/x
1920x1080 2560x1440
86400seconds
1024MB 2048MB
MyApplicationConfigurationName
plain words only
true false true
["https://a.example:3000","http://b.example:80"]
xmlhttprequest-handler
""".strip().split("\n")

#: What has the entropy of a token, however it is written.
TOKENS = """
9f8e7d6c5b4a
f9e8d7c6b5a4
7d5c0a1e9b3f
12ab34cd56ef
1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed
s3cr3tv4lue99
9f8e7d6c5b4a:80
0123456789abcdef0123456789abcdef
https://hooks.example.com/services/T0A1B2C3D/B0Z9Y8X7W/a1B2c3D4e5F6g7H8i9J0k1L2
https://user:pass1word@example.com/
postgres://u:p4ssw0rd@h/db
https://9f8e7d6c5b4a3f2e1d0c@o0.ingest.example.io/42
a1b2-c3d4-e5f6-a7b8
ABCDE-12F45-67HIJ-K8901
p@$$w0rd!x9#y
kJhGfDsAqWeRtYuIoPzX
mzxwqytbrtplkjhgfd
sha256:9f86d081884c7d659a2feaa0c55ad015
0x4c0883a69102937d6231471b5dbb6204
123456789012345678901234567890
/qW3zkqW3zk/K7M9ENGabcQx/bPxRfiCYzkqW3zk35
""".strip().split("\n")


@walked("value", SETTINGS)
def test_a_setting_is_not_masked_everywhere(value):
    assert of_env_file(f"SETTING='{value}'\n" if "#" in value else f"SETTING={value}\n") == ()


@walked("value", TOKENS)
def test_a_token_is_masked_whatever_its_name(value):
    assert of_env_file(f"SETTING={value}\n")[:1] == (value,)


@walked("name", ["PGPASSWORD", "MYSQL_PWD", "SMTP_PASS", "apikey", "CLIENTSECRET", "GITHUBTOKEN"])
def test_a_name_that_says_secret_says_so_without_an_underscore_too(name):
    assert of_environment({name: "onlywords"}) == ("onlywords",)
    assert of_environment({name: "enabled", f"{name}_FILE": "onlywords", f"{name}S_MAX": "onlywords"}) == ()


def test_a_key_that_begins_like_a_path_is_no_path():
    key = TOKENS[-1]
    assert of_environment({"SECRET_KEY": key, "SSH_KEY": "/home/me/.ssh/id_ed25519"}) == (key,)


def test_each_way_to_write_a_registered_value_is_masked_by_itself():
    value = 'p\u00e4"ss/<w\u00f6?r d\\~~~\u00ff\u00ff'
    data = value.encode()
    masker = Masker(b"k" * 32, [value])
    written = {
        "plain": value,
        "JSON": json.dumps(value)[1:-1],
        "JSON with its letters": json.dumps(value, ensure_ascii=False)[1:-1],
        "JSON as PHP writes it": json.dumps(value)[1:-1].replace("/", "\\/"),
        "HTML": html.escape(value, quote=False),
        "HTML of an attribute": html.escape(value),
        "in a URL": quote(value, safe=""),
        "in a path": quote(value),
        "in a form": quote_plus(value),
        "in a URL with small letters": quote(value, safe="").replace("%C3", "%c3").replace("%A4", "%a4").lower(),
        "Base64": base64.b64encode(data).decode().rstrip("="),
        "Base64 for a URL": base64.urlsafe_b64encode(data).decode().rstrip("="),
    }
    assert len(set(written.values())) == len(written)
    marks = {masker.text(f"a {form} b") for form in written.values()}
    assert len(marks) == 1, "and shown as the same one"
    assert MASK.search(marks.pop())[1] == "registered"


@walked(("value", "token"), [("abcdefghi.a1bc2efg", True), ("abcdefghi.a1bc2ef", False)])
def test_a_word_that_mixes_letters_and_digits_is_a_token_from_eight_characters_on(value, token):
    assert bool(of_env_file(f"X={value}\n")) is token


@walked(
    ("value", "token"),
    [
        ("12345678901234567890", False),
        ("123456789012345678901", True),
        ("1234567890123456789e12", True),
        ("abcd-efgh-ijkl", False),
        ("1234-5678-9012", False),
        ("ab12-cd34-5678", True),
        ("ab12-cd34-567", False),
    ],
)
def test_a_long_number_is_a_token_and_groups_are_where_most_of_them_mix_letters_and_digits(value, token):
    assert bool(of_env_file(f"X={value}\n")) is token


def in_base64(before, token, after=""):
    return base64.b64encode(f"{before}{token}{after}".encode()).decode()


def lines_of(text):
    return "\n".join(text[at : at + 76] for at in range(0, len(text), 76))


WAYS = {
    "a line in JSON": lambda token: json.dumps(f"a\n{token}\n"),
    "behind a tab in JSON in JSON": lambda token: json.dumps(json.dumps({"a": f"b\t{token}\n"})),
    "in JSON three times": lambda token: json.dumps(json.dumps(json.dumps([f"\n{token}"]))),
    "its first letter escaped": lambda token: f'"\\u{ord(token[0]):04x}{token[1:]}"',
    "all letters escaped": lambda token: "".join(f"\\x{ord(char):02x}" for char in token),
    "in an address": lambda token: "https://h/?k=" + quote(f"a={token}", safe=""),
    "all of it in an address": lambda token: "q=" + "".join(f"%{ord(char):02x}" for char in token),
    "in an address twice": lambda token: quote(quote(f"=&{token}/", safe=""), safe=""),
    "Base64": lambda token: in_base64("", token),
    "Base64 with text": lambda token: f"key: {in_base64('export TOKEN=', token, ' # mine')}",
    "Base64 on lines": lambda token: lines_of(in_base64("# what stands before it, some text\nA=", token, "\nb=1" * 20)),
    "Base64 on lines in JSON": lambda token: json.dumps(lines_of(in_base64("# what stands before it: A=", token))),
    "between letters beyond ASCII": lambda token: f"\u00e9{token}\u00fc",
    "behind an octal escape": lambda token: f"\\033{token}",
    "behind the end of a line": lambda token: repr(f"a\r\n{token}\r\n"),
}
KINDS = [one for one in TOKENS if Masker(b"k" * 32).text(one) != one]


@walked("way", WAYS)
def test_a_token_is_masked_however_it_is_written_and_shown_as_the_same_one(way):
    masker = Masker(b"k" * 32, ["hunter2-Zq9x81LmPq"])
    for token in [*KINDS, "hunter2-Zq9x81LmPq"]:
        mark = MASK.search(masker.text(token))[0]
        assert mark in masker.text(WAYS[way](token)), token


@walked("text", ["c" * 64, "sha256:" + "0123456789abcdef" * 4, "https://h/a%20b?x=%C3%A9", r"\u00e9t\u00e9"])
def test_what_is_encoded_and_holds_no_secret_stays(text):
    assert Masker(b"k" * 32).text(text) == text
