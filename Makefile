# Everything a newcomer needs: Python 3.11+, git and make. The rest is installed into .venv, from uv.lock.
#
#   make demo     the main job, in a few seconds
#   make test     every test, with samples of the large tables; a real SQLite, a real PostgreSQL and real processes
#   make test-exhaustive  all of what `make test` samples: a loop killed at each of its moments, whole tables, floods of full size
#   make check    the linter, the formatter, the type checker and the docs
#   make test-node    the MCP project's own tools, GitHub's schema and axe-core against ours; Node and they come from the registries
#   make screenshots  those of the docs, of a dashboard with everything in it
#   make recording    the film of the demo in the README, of a terminal and a person who passes the gates
#   make test-memory  the memory against a real server that speaks Bolt, from PyPI (106 MB)
#   make test-agents  real coding agents against a scripted model
#   make bench    ratios against bare programs and peers, as one table, also in bench/results.md
#   make forging  the tables of docs/gates.md, of what a forging agent can do; some minutes
#   make docs     the documentation, into site/
#   make generate what is made from the machines: the schema, the index, the tables and pictures of the docs

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more worker than cores: a quarter of the time, a test waits for a process, a browser or a lock.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
SYNC := UV_PROJECT_ENVIRONMENT=$(CURDIR)/$(VENV) $(BIN)/uv sync --frozen --inexact --compile-bytecode --quiet

# What was compiled is kept, wherever this runs: each worker of the tests would compile a thousand files anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := demo
.PHONY: demo screenshots recording forging test test-exhaustive test-node test-agents test-memory check bench docs generate format clean

demo: $(VENV)/ready-base
	@$(BIN)/ralph demo

test: $(VENV)/ready-test $(VENV)/ready-browser $(VENV)/ready-sandbox
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal

test-exhaustive: $(VENV)/ready-test $(VENV)/ready-sandbox
	@RALPH_TEST_EXHAUSTIVE=1 $(BIN)/pytest -m 'exhaustive or hypothesis' -n auto --dist worksteal

test-node: $(VENV)/ready-browser
test-agents: $(VENV)/ready-sandbox
test-node test-agents: test-%: $(VENV)/ready-test $(VENV)/ready-node
	@$(BIN)/pytest -m $* -n 2 --dist worksteal tests/$* -p no:cacheprovider

# What PyPI does not give is skipped by the tests themselves, as "not run".
test-memory: $(VENV)/ready-test
	@$(SYNC) --extra all --group memory || echo "not run: ArcadeDB cannot be installed" >&2
	@$(BIN)/pytest -m memory tests/world/memory tests/work/stories -p no:cacheprovider

screenshots: $(VENV)/ready-test $(VENV)/ready-browser
	@RALPH_TEST_SCREENSHOTS=$(CURDIR)/docs/assets/dashboard $(BIN)/pytest -q tests/faces/web/test_looks.py -k picture_of_every_page

recording: $(VENV)/ready-test
	@$(BIN)/python -m docs.generators.recording

forging: $(VENV)/ready-test $(VENV)/ready-sandbox
	@cd tests && RALPH_TEST_EXHAUSTIVE=1 ../$(BIN)/python -m forging.table

check: $(VENV)/ready-test $(VENV)/ready-lint $(VENV)/ready-docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mkdocs build --strict --quiet --site-dir site

bench: $(VENV)/ready-bench $(VENV)/ready-browser
	@$(BIN)/python -m bench

docs: $(VENV)/ready-docs
	@$(BIN)/mkdocs build --strict --site-dir site

generate: $(VENV)/ready-base
	@$(BIN)/python -m docs.generate

format: $(VENV)/ready-lint
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:
	rm -rf $(VENV) site .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(BIN)/uv:
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'

$(VENV)/ready-base: $(BIN)/uv pyproject.toml uv.lock
	@$(SYNC) --extra all
	@touch $@

$(VENV)/ready-test $(VENV)/ready-lint $(VENV)/ready-docs $(VENV)/ready-bench $(VENV)/ready-node: $(VENV)/ready-%: $(BIN)/uv pyproject.toml uv.lock
	@$(SYNC) --extra all --group $*
	@touch $@

# The dashboard is tested in a real browser: Chromium's headless shell, which takes two thirds of the time of the whole
# browser and is installed from Debian where this is root's to do; else the system's Chromium, or Playwright's own. Where
# none of them can be had, these tests are skipped by themselves, as "not run".
DEBIAN = [ "$$(id -u)" = 0 ] && echo "installing Debian's $(1)" >&2 && apt-get install -y -qq $(1) >/dev/null 2>&1
$(VENV)/ready-browser: $(BIN)/uv pyproject.toml uv.lock
	@$(SYNC) --extra all --group browser || echo "not run: Playwright cannot be installed" >&2
	@command -v chromium-headless-shell >/dev/null \
	|| { $(call DEBIAN,chromium-headless-shell); } \
	|| { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null \
	|| $(BIN)/playwright install chromium --only-shell >/dev/null 2>&1 \
	|| { $(call DEBIAN,chromium); } \
	|| echo "not run: there is no browser, and none can be installed" >&2
	@touch $@

# The sandbox is tested with the system's bubblewrap, which Debian's package brings where root runs this. Without it, its
# tests are reported as "not run".
$(VENV)/ready-sandbox: $(BIN)/uv
	@{ command -v bwrap && command -v pasta; } >/dev/null \
	|| { $(call DEBIAN,bubblewrap passt); } \
	|| echo "not run: there is no bubblewrap or no pasta, and they cannot be installed" >&2
	@touch $@
