# Everything a person does twice. Needs Python ≥ 3.11 with pip; the rest is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= results
# tested versions; CONSTRAINTS=/dev/null takes the newest that are allowed
CONSTRAINTS ?= constraints.txt
PIP := $(BIN)/python -m pip install --quiet -c $(CONSTRAINTS)

.PHONY: help setup reproduce explore browser test test-all test-wheel lint types bench docs notebooks demo paper recipe dist clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

$(BIN)/.installed: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit("dynafield needs Python 3.11 or newer, this is " + sys.version) if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

explore: $(BIN)/.installed       ## set-up, then the page to play with, in the browser
	$(PIP) --editable '.[explorer]'
	$(BIN)/dynafield explore

$(BIN)/.installed-dev: pyproject.toml $(BIN)/.installed
	$(PIP) --editable '.[dev]'
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

# slow tests run for long: the compiler may try as hard as for users
test-all: $(BIN)/.installed-dev lint types browser ## the same with shapes and types checked at run time, then the slow tests
	DYNAFIELD_CHECK_TYPES=1 $(BIN)/python -m pytest
	XLA_FLAGS= $(BIN)/python -m pytest -m slow

lint: $(BIN)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.installed-dev
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(BIN)/.installed-dev browser ## timings against named baselines, written to docs/benchmarks.md
	$(PIP) --editable '.[bench]'
	$(BIN)/python -m benchmarks.run

docs: $(BIN)/.installed-dev      ## HTML documentation, readable offline, in docs/_build/html
	@echo "building the pages of docs/ as HTML; scripts of the gallery run once, which takes a few minutes at first"
	$(BIN)/python -m sphinx -W -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html in a browser"

demo: $(BIN)/.installed          ## the explorer as one HTML file without a server, in docs/_build/demo.html (minutes)
	$(BIN)/python docs/demo.py docs/_build/demo.html

paper: $(BIN)/.installed         ## the paper on this software as PDF and HTML, in paper/_build, with its figure
	$(PIP) --editable '.[paper]'
	$(BIN)/python paper/figure.py
	$(BIN)/python paper/build.py

recipe: dist                     ## the recipe for conda-forge, in dist/recipe.yaml
	$(BIN)/python release/conda_recipe.py dist

notebooks: $(BIN)/.installed-dev ## the notebooks, made from pages of the documentation
	$(BIN)/python docs/notebooks.py

dist: $(BIN)/.installed-dev      ## one wheel and one source archive in dist/
	rm -rf dist
	$(BIN)/python -m build --quiet --no-isolation

test-wheel: dist                 ## the wheel in an empty environment: README and command line (minutes)
	$(BIN)/python release/check_wheel.py dist

clean:           ## remove what make made
	rm -rf $(VENV) dist docs/_build docs/_gallery paper/_build results .pytest_cache .ruff_cache .hypothesis
