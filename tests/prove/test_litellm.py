"""A server that none of us wrote: the LiteLLM proxy on loopback, its mock and its translation, on both wires.

It is installed into an environment of its own on first use (some 700 MB), kept within the virtual environment of the
tests and used again; without a package index these proofs say that they were skipped.
"""

import hashlib
import json
import os
import random
import secrets
import socket
import string
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import rails
from rails.core.conversation import Message, NativeCall, TextPart, ToolSpec
from rails.models.providers import open_model
from rails.session.job import facts_of
from rails.testing import StubServer, call, says

ROOT = Path(sys.prefix) / "litellm"
TOOLS = [
    ToolSpec(
        "read_file",
        "Read a file.",
        '{"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}',
    )
]
ASK = [Message("user", (TextPart("Read a.txt."),))]


@pytest.fixture(scope="session")
def program():
    """Return the proxy's program, installed on first use."""
    found = ROOT / "bin/litellm"
    if not found.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ROOT)], check=True)
        words = [str(ROOT / "bin/pip"), "install", "--quiet", "litellm[proxy]"]
        if subprocess.run(words, check=False, timeout=1_500).returncode:
            pytest.skip("the LiteLLM proxy cannot be installed here")
    return found


@pytest.fixture
def proxy(program, tmp_path, monkeypatch):
    """Start the proxy in front of a stub; yields its address and the stub."""
    key = f"sk-{secrets.token_hex(32)}"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with StubServer([call("read_file", '{"file_path": "a.txt"}'), says("Done.")]) as stub, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        models = [
            {"model_name": "mock", "litellm_params": {"model": "openai/x", "api_key": "k", "mock_response": "Mocked."}},
            {
                "model_name": "translated",
                "litellm_params": {"model": "hosted_vllm/stub", "api_base": f"{stub.url}/v1", "api_key": "k"},
            },
        ]
        config = tmp_path / "config.yaml"
        config.write_text(json.dumps({"model_list": models}))
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
        environment["LITELLM_MASTER_KEY"] = key
        words = [str(program), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
        log = (tmp_path / "proxy.log").open("w")
        process = subprocess.Popen(words, stdout=log, stderr=log, env=environment, cwd=tmp_path)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(f"{url}/health/liveliness", process)
            yield url, stub
        finally:
            process.terminate()
            process.wait(30)
            log.close()


def _wait_for(url, process):
    until = time.monotonic() + 180
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError("the proxy did not start")


def answer(model, messages=ASK):
    *_, last = model.stream(system="Be brief.", messages=messages, tools=TOOLS)
    return last


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_its_mock_is_understood_on_both_wires(proxy, wire):
    url, _ = proxy
    base = url if wire == "anthropic" else f"{url}/v1"
    found = answer(open_model(f"{wire}:mock", base_url=base))
    assert found.message.text == "Mocked."
    assert found.stop_reason == "end_turn"


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_a_streamed_tool_call_comes_through_its_translation_on_both_wires(proxy, wire):
    url, _ = proxy
    base = url if wire == "anthropic" else f"{url}/v1"
    found = answer(open_model(f"{wire}:translated", base_url=base))
    (asked,) = found.message.calls
    assert isinstance(asked, NativeCall)
    assert (asked.name, json.loads(asked.arguments)) == ("read_file", {"file_path": "a.txt"})
    assert found.stop_reason == "tool_use"


COUNT = """
import json, sys
from pathlib import Path
import litellm
from tokenizers import Tokenizer
kept = next(Path(litellm.__file__).parent.rglob("anthropic_tokenizer.json"))
claude = Tokenizer.from_str(kept.read_text("utf-8"))
for text in json.load(sys.stdin):
    print(len(litellm.encoding.encode(text, disallowed_special=())), len(claude.encode(text).ids))
"""


def names(kind, number):
    chance = random.Random(number)
    match kind:
        case "hashes":
            return hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest() + ".bin"
        case "letters":
            return "".join(chance.choices(string.ascii_lowercase, k=10)) + ".py"
        case "mixed":
            return "".join(chance.choices(string.ascii_letters + string.digits + "_-", k=12)) + ".txt"
        case "chinese":
            return "".join(chr(chance.randint(0x4E00, 0x9000)) for _ in range(6)) + ".txt"
        case "arabic":
            return "".join(chr(chance.randint(0x627, 0x64A)) for _ in range(8)) + ".md"
    return f"src/main/service/{kind}_{number:04d}/handler_of_requests.py"


@pytest.mark.timeout(1_800)
def test_the_map_of_a_project_is_within_1500_tokens_of_two_real_tokenizers(program, tmp_path):
    maps = [facts_of(Path(rails.__file__).parents[1])["files"]]
    for kind in ("hashes", "letters", "mixed", "chinese", "arabic", "words"):
        for many in (40, 65, 90):
            project = tmp_path / f"{kind}{many}"
            for number in range(many):
                file = project / names(kind, number)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("def answer():\n    return 42\n", "utf-8")
            maps.append(facts_of(project)["files"])
    words = [str(program.with_name("python")), "-c", COUNT]
    done = subprocess.run(
        words, input=json.dumps(maps), capture_output=True, text=True, timeout=300, check=True,
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    )  # fmt: skip
    counts = [[int(one) for one in line.split()] for line in done.stdout.splitlines()]
    bytes_ = [len(text.encode()) for text in maps]
    print([(size, *count) for size, count in zip(bytes_, counts, strict=True)])
    assert len(counts) == len(maps)
    assert max(max(count) for count in counts) <= 1_500
    assert max(bytes_) > 1_500, "the maps are full"
