"""How a person comes to a model: it is named first, or doctor names what there is."""

import json

import pytest

from rails.cli import main
from rails.commands import doctor
from rails.commands.verbs import with_verb
from rails.testing import StubServer, says
from tests.rows import walked


@walked("words", [["-m", "ollama:x"], ["--model", "ollama:x"], ["--model=ollama:x"], ["-mollama:x"]])
def test_a_model_that_is_named_first_opens_the_conversation(words):
    assert with_verb(words) == ["chat", *words]


@walked("words", [["--help"], ["--version"], ["run", "-m", "x"], ["models"], []])
def test_other_words_are_left_as_they_are(words):
    assert with_verb(words) == words


def test_a_conversation_begins_with_the_model_that_is_named(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115 - nothing is typed
    with StubServer([says("ok")]) as stub:
        main(["-m", "openai:m", "--base-url", f"{stub.url}/v1"])
    assert "/help" in capfd.readouterr().out


def test_doctor_names_the_servers_that_answer_and_how_to_use_their_models(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-never-shown")
    listed = {"data": [{"id": "qwen2.5-coder:1.5b"}, {"id": "second"}, 7]}
    page = StubServer(documents={"/v1/models": {"data": "no list"}})
    with page, StubServer(documents={"/v1/models": listed}) as models:
        ports = [int(one.url.rpartition(":")[2]) for one in (page, models)]
        monkeypatch.setattr(doctor, "_PORTS", (1, *ports))
        monkeypatch.setattr(doctor, "_OLLAMA", ports[1])
        main(["doctor", "--json"])
    out = capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    main(["doctor"])
    assert [line for line in capsys.readouterr().out.split("\n") if " " in line[60:]] == []
    probes = {probe["name"]: probe for probe in json.loads(out)}
    assert probes["model"]["found"] == "set in the environment: OPENROUTER_API_KEY"
    assert probes["local model"]["found"] == f"{models.url}/v1 has qwen2.5-coder:1.5b, second"
    assert probes["local model"]["advice"] == "Use it with --model ollama:qwen2.5-coder:1.5b"
    assert "never-shown" not in out
    assert str(ports[0]) not in out


def test_without_a_key_every_way_to_a_model_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    main(["run", "x", "--model", "anthropic:m"])
    refused = capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for word in ("ollama:", "openrouter:", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        assert word in refused
        assert word in shown
