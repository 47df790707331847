# Everything a person does twice. Needs Python ≥ 3.11 with pip; the rest is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= results

.PHONY: help setup reproduce explore browser test test-all lint types bench docs dist clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

$(BIN)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("dynafield needs Python 3.11 or newer, this is " + sys.version) if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

explore: $(BIN)/.installed       ## set-up, then the page to play with, in the browser
	$(BIN)/python -m pip install --quiet --editable '.[explorer]'
	$(BIN)/dynafield explore

$(BIN)/.installed-dev: pyproject.toml $(BIN)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

setup: $(BIN)/.installed         ## virtual environment with the library

reproduce: $(BIN)/.installed     ## set-up, then all figures of the paper with their data and a report (minutes)
	$(BIN)/dynafield reproduce --out $(OUT)

browser:         ## Debian's Chromium for the tests of the page, where it may be installed
	@for name in chromium chromium-browser google-chrome; do command -v $$name > /dev/null && exit 0; done; \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get install -qq -y chromium > /dev/null 2>&1; } \
	  || echo "no Chromium, and none may be installed: tests of the page will be skipped"

test: $(BIN)/.installed-dev lint types browser   ## set-up, lint, types, tests
	$(BIN)/python -m pytest

test-all: $(BIN)/.installed-dev lint types browser ## the same with the slow tests
	$(BIN)/python -m pytest -m ''

lint: $(BIN)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.installed-dev
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(BIN)/.installed-dev     ## timings against named baselines, written to docs/benchmarks.md
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks.run

docs: $(BIN)/.installed-dev      ## HTML documentation, readable offline, in docs/_build/html
	$(BIN)/python -m sphinx -W -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

dist: $(BIN)/.installed-dev      ## one wheel and one source archive in dist/
	$(BIN)/python -m build --quiet

clean:           ## remove what make made
	rm -rf $(VENV) dist docs/_build docs/_gallery results .pytest_cache .ruff_cache .hypothesis
