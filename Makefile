# Remindi's development commands. `make` alone lists them.
#
# State of `make serve` lives in .remindi/ (git-ignored), apart from the .env that compose reads.

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
# The first Python on the PATH that is new enough; empty without one.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
STATE := .remindi
HOST ?= 127.0.0.1
PORT ?= 8000
UV_VERSION := 0.13.*
LOCK_TOOL := $(VENV)/lock-tool

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  make %-9s %s\n' "$$name" "$$text"; done

# ------------------------------------------------------------------ running

.PHONY: install
install: $(VENV)/.installed ## build .venv from the locked requirements (instant when nothing changed)

# A venv holds the path of its folder: where the clone was moved or copied, it is built anew.
MOVED := $(shell test "$$(cat $(VENV)/.installed 2>/dev/null)" = "$(CURDIR)" || echo moved)
moved: ;

# The stamp is older than the lock whenever the lock changed: pip then brings the venv up to date in place.
$(VENV)/.installed: requirements-dev.txt pyproject.toml $(MOVED)
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Remindi needs Python 3.11 or newer; $(or $(PYTHON),none) was found on the PATH." >&2; \
		echo "Install it, or name it: make install PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -z "$(MOVED)" || rm -rf $(VENV)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
		echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu the package python3-venv is needed." >&2; \
		rm -rf $(VENV); exit 1; }
	@echo "Installing into $(VENV); the first time this takes a minute."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@echo '$(CURDIR)' >$@

.PHONY: serve
serve: install ## start a service on HOST=127.0.0.1 PORT=8000 (makes .remindi/ the first time)
	@test -f $(STATE)/remindi.env || $(BIN)/remindi init --dir $(STATE) --port $(PORT)
	@echo "Starting: MCP at http://$(HOST):$(PORT)/mcp, its token is REMINDI_MCP_TOKEN in $(STATE)/remindi.env" >&2
	@exec $(BIN)/remindi serve --host $(HOST) --port $(PORT) --env-file $(STATE)/remindi.env

# ----------------------------------------------------------------- checking

.PHONY: test
test: install ## run the tests (a few minutes)
	$(BIN)/python -m pytest

.PHONY: check
check: install ## format, lint, types, layers, locks, generated schema, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.lockcheck
	$(BIN)/remindi schema --check
	$(BIN)/python -m pytest -m docs

.PHONY: interop
interop: install .interop/.installed ## run real MCP clients against the real process (needs npm)
	$(BIN)/python -m pytest -m interop

# The clients bring the Node.js they need; the machine's own one only runs npm.
.interop/.installed: tests/interop/node/package.json tests/interop/node/package-lock.json tests/interop/node/.npmrc
	@mkdir -p .interop
	cp $^ .interop/
	cd .interop && npm ci
	@touch $@

.PHONY: bench
bench: install ## measure (figures and method: bench/README.md)
	$(BIN)/python -m bench

# ------------------------------------------------------------------- making

.PHONY: schema
schema: install ## write the generated contracts in schema/
	$(BIN)/remindi schema --write

# The lock names no host: hashes say what is installed, the machine's pip configuration says from where.
.PHONY: lock
lock: $(LOCK_TOOL)/bin/uv ## resolve the requirements files anew (keeps versions that still fit)
	$(LOCK_TOOL)/bin/uv pip compile --quiet $(LOCK_FLAGS) pyproject.toml -o requirements.txt
	$(LOCK_TOOL)/bin/uv pip compile --quiet $(LOCK_FLAGS) --group dev -c requirements.txt pyproject.toml -o requirements-dev.txt
	$(PYTHON) -m tools.nodelock

LOCK_FLAGS = --generate-hashes --no-emit-index-url --no-emit-find-links --universal --python-version 3.11 \
	--custom-compile-command "make lock" $(LOCK_ARGS)

$(LOCK_TOOL)/bin/uv:
	$(PYTHON) -m venv $(LOCK_TOOL)
	$(LOCK_TOOL)/bin/python -m pip install --quiet --disable-pip-version-check 'uv==$(UV_VERSION)'

.PHONY: clean
clean: ## remove what the other targets made, but not the state in .remindi/
	rm -rf $(VENV) .interop build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
