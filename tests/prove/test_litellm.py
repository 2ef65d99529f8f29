"""A server that none of us wrote: the LiteLLM proxy on loopback, its mock and its translation, on both wires.

It is installed into an environment of its own on first use (some 700 MB), kept within the virtual environment of the
tests and used again; without a package index these proofs say that they were skipped.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from rails.core.conversation import Message, NativeCall, TextPart, ToolSpec
from rails.models.providers import open_model
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
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
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
