PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# Every command below finds the project's Python first; what makes .venv does not.
SYSTEM_PATH := $(PATH)
export PATH := $(BIN):$(PATH)
# Extra arguments for Snakemake: make run ARGS="--configfile sweeps/smoke.yaml"
ARGS ?=
SWEEPS ?=

.PHONY: run report record test test-all lint format lock docs rulegraph clean help

run: $(VENV)/.ready  ## set up .venv, run the default sweep
	snakemake --cores all $(ARGS)

report: $(VENV)/.ready  ## report recorded and published rows; measure nothing
	snakemake --cores all --configfile sweeps/recorded.yaml

# Kept as data/recorded/<gpu>, checked, for a pull request; interrupted, it goes on where it was.
# Some sweeps only: make record SWEEPS="fused_softmax frontier"
record: $(VENV)/.ready  ## measure the standard sweeps on this GPU, for data/recorded/
	python3 -m tools.record $(SWEEPS)

test: $(VENV)/.ready  ## set up .venv, run every code path once
	python3 -m pytest -n auto --dist loadgroup -m "not slow"

test-all: $(VENV)/.ready  ## run every test
	python3 -m pytest -n auto --dist loadgroup

lint: $(VENV)/.ready  ## check the style
	ruff check .
	ruff format --check .
	clang-format --dry-run -Werror $$(git ls-files "*.cu" "*.cuh")
	snakefmt --check Snakefile workflow
	snakemake --lint

format: $(VENV)/.ready  ## correct the style
	ruff check --fix .
	ruff format .
	clang-format -i $$(git ls-files "*.cu" "*.cuh")
	snakefmt Snakefile workflow

# After a change of versions in pyproject.toml: install them first.
lock: $(VENV)/.ready  ## pin the installed versions of pyproject.toml's packages
	python3 -m tools.pins

docs: report rulegraph  ## draw the figures of the documents, print their tables again
	python3 -m tools.figures copy
	python3 -m tests.browser.screenshots results/report.html docs/figures
	python3 -m tools.inserts

rulegraph: $(VENV)/.ready  ## draw the rules; needs dot, of the package graphviz
	@command -v dot >/dev/null || { echo "error: no dot here; on Debian or Ubuntu: sudo apt install graphviz"; exit 1; }
	mkdir -p .snakemake
	snakemake --rulegraph > .snakemake/rulegraph.dot
	dot -Tsvg -o docs/figures/rulegraph.svg .snakemake/rulegraph.dot

help:  ## print these targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1: /p' Makefile

clean:  ## remove .venv, the caches and Snakemake's records; keep results/
	rm -rf $(VENV) .snakemake .hypothesis .pytest_cache .ruff_cache

# Made under its own name only when all went well, so that an interrupted install starts again.
$(VENV)/.ready: PATH := $(SYSTEM_PATH)
$(VENV)/.ready: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $$($(PYTHON) --version) is too old; Python 3.11 or newer is needed: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { echo "error: $(PYTHON) cannot create environments; on Debian or Ubuntu: sudo apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	"$(BIN)/python3" -m pip install --disable-pip-version-check --quiet --progress-bar off -r requirements.txt
	touch $@
