# Everything below sets itself up: Python 3.11 or newer, git and make are all that is needed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
BASE   := $(VENV)/.installed
READY  := $(VENV)/.ready
JS     := $(VENV)/javascript/.ready
PROVE  := $(VENV)/prove
BWRAP  := $(VENV)/.bubblewrap
CHROME := $(VENV)/.headless-shell
SHELL  := /bin/bash

.PHONY: demo test prove hosts check format docs bench clean

$(BASE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "AI-Rails needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { rm -rf $(VENV); uv venv -q --seed -p $(PYTHON) $(VENV) 2>/dev/null; } \
	  || { echo "This Python makes no virtual environment. On Debian and Ubuntu: apt-get install python3-venv. Or install uv, which is used when it is there."; exit 2; }
	@echo "Setting up $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(READY): $(BASE)
	@echo "Installing what the tests need (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

# Real ESLint, Prettier and Biome for the tests of the gate; without Node.js those tests say that they were skipped.
$(JS): $(READY) rails/commands/doctor.py
	@if command -v npm >/dev/null; then $(BIN)/ai-rails doctor --install javascript --into $(VENV)/javascript >/dev/null \
	  && npm install --silent --no-save --no-audit --no-fund --prefix $(VENV)/javascript @biomejs/biome@2.6.8 axe-core@4.14.1 && touch $@; \
	else echo "npm is missing: the JavaScript checks are NOT tested"; fi

# What contains commands best on Linux; without it the tests of the sandbox say so, and fail where CI is set.
$(BWRAP): $(BASE)
	@command -v bwrap >/dev/null \
	  || { [ "$$(uname)$$(id -u)" = Linux0 ] && apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null; } \
	  || echo "bubblewrap is missing: the sandbox is NOT tested at its best level"
	@touch $@

# Chromium without windows of its own: a page costs a quarter of the processor time. Without it, Chromium serves.
$(CHROME): $(BASE)
	@command -v chromium-headless-shell >/dev/null \
	  || { [ "$$(uname)$$(id -u)" = Linux0 ] && command -v apt-get >/dev/null && timeout 100 apt-get update -qq >/dev/null 2>&1 \
	    && timeout 200 apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null 2>&1; } || true
	@touch $@

demo: $(BASE) ## the shipped example, end to end; INTERACTIVE=1 to answer yourself
	@$(BIN)/ai-rails demo $(if $(INTERACTIVE),--interactive)

# Four on two cores: much of what the tests wait for is not a processor.
test: $(READY) $(JS) $(BWRAP) $(CHROME) ## the whole suite
	@AI_RAILS_JAVASCRIPT=$(abspath $(VENV)/javascript) AI_RAILS_SANDBOX_READ=$(abspath $(VENV)/javascript) \
	  $(BIN)/python -m pytest -n 4 --dist loadgroup -q $(ARGS)

# Ray, Dask and Inspect (700 MB) stay out of the environment that the suite runs in.
$(PROVE)/.ready: $(READY)
	@$(BIN)/python -m venv $(PROVE)
	@echo "Installing what the slow proofs need (once)"
	@$(PROVE)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev,prove]'
	@touch $@

prove: $(PROVE)/.ready $(JS) $(BWRAP) ## the slow proofs: fuzzing, kills, mutants, Ray; minutes to an hour
	@AI_RAILS_JAVASCRIPT=$(abspath $(VENV)/javascript) AI_RAILS_SANDBOX_READ=$(abspath $(VENV)/javascript) \
	  $(PROVE)/bin/python -m pytest -q tests/prove $(ARGS)

hosts: $(READY) ## the hooks in the real Claude Code and Codex, from npm, with a scripted model on loopback
	@$(BIN)/python -m pytest -q tests/prove/test_hosts.py $(ARGS)

check: $(READY) ## format, lint, types
	@$(BIN)/ruff format --check rails tests docs
	@$(BIN)/ruff check rails tests docs
	@$(BIN)/mypy

format: $(READY)
	@$(BIN)/ruff format rails tests docs
	@$(BIN)/ruff check --fix rails tests docs

docs: $(READY) ## the documentation as a site in build/site; nothing is fetched
	@$(BIN)/python docs/generate.py
	@$(BIN)/zensical build -f .mkdocs.yml

# Each prints a table; its docstring says what it compares with and how to add peers. n8n.py needs n8n's packages.
BENCHMARKS := "edits.py drift" "edits.py speed" "apply.py write" "gate.py" "newness.py" "parsing.py --quick" "parsing_damage.py --pieces 200" "sandbox.py --files 100 --runs 15" "startup.py" "hooks.py" \
              "review.py 20000"

bench: $(READY) ## the measurements
	@for words in $(BENCHMARKS); do echo "== $$words"; $(BIN)/python tests/benchmarks/$$words || exit 1; done

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
