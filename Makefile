PYTHON ?= python3
VENV := .venv
# The pip of .venv: Debian 12 and Ubuntu 24.04 bring 23.0 and 24.0, and --group needs 25.1.
NEWER_PIP := pip==26.3
# --no-compile saves a third of the time and of the disk; Python compiles a module at its first import.
INSTALL := -m pip install --no-compile --disable-pip-version-check --quiet --progress-bar off
# Recipes find the Python of .venv first, except those that make .venv. `value`: a folder's name may
# have a dollar sign.
SYSTEM_PATH := $(value PATH)
export PATH := $(CURDIR)/$(VENV)/bin:$(SYSTEM_PATH)
# Not the command `snakemake`: pip writes the path of .venv into it for a shell, unquoted.
SNAKEMAKE := python3 -m snakemake
# Extra arguments for Snakemake: make run ARGS="--configfile sweeps/smoke.yaml"
ARGS ?=
SWEEPS ?=

.PHONY: run report figures shape peers record test test-all lint format lock docs rulegraph clean help
# Two Snakemakes cannot run in one folder.
.NOTPARALLEL:

# Checked here is what Snakemake answers with a traceback.
run: $(VENV)/.ready  ## set up .venv, run the default sweep
	@option=; for word in $(ARGS); do \
	  case $$word in --config*=*) option=$${word%%=*}; word=$${word#*=};; -*) option=$$word; continue;; esac; \
	  case $$option:$$word in \
	    --configfile*) [ -e "$$word" ] || { echo "error: $$word: no such file; sweeps are in sweeps/"; exit 2; };; \
	    --config:?=*|-C:?=*) echo "error: no key $${word%%=*}; a shape is given as --config shape=4096x1024"; exit 2;; \
	  esac; done
	$(SNAKEMAKE) --cores all $(ARGS)

report: $(VENV)/.reports  ## report recorded and published rows; needs no GPU and no torch
	$(SNAKEMAKE) --cores all --configfile sweeps/recorded.yaml -- report summary

figures: $(VENV)/.reports  ## draw every figure of recorded and published rows
	$(SNAKEMAKE) --cores all --configfile sweeps/recorded.yaml -- figures

# make passes its variables on in the environment.
# make shape M=4096 N=128256 DTYPE=bfloat16 OP=log_softmax KERNEL=my_softmax.py
# PROFILE=my.ncu-rep also profiles one call of KERNEL.
shape: $(VENV)/.ready  ## rank torch, frontier, the peers and KERNEL at one M, N, DTYPE and OP
	@python3 -m tools.shape --M="$$M" --N="$$N" --dtype="$$DTYPE" --op="$$OP" --kernel="$$KERNEL" \
	  --profile="$$PROFILE"

# The groups that pin other versions than the lock come without what they ask for.
peers: $(VENV)/.ready  ## install the kernels of other projects; say which run here
	python3 $(INSTALL) --group peers
	python3 $(INSTALL) --no-deps --group flaggems
	python3 $(INSTALL) --no-deps --group flashinfer
	python3 $(INSTALL) --no-deps --group trl
	@python3 -m tools.peers

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
	python3 -m snakefmt --check Snakefile workflow
	$(SNAKEMAKE) --lint

format: $(VENV)/.ready  ## correct the style
	ruff check --fix .
	ruff format .
	clang-format -i $$(git ls-files "*.cu" "*.cuh")
	python3 -m snakefmt Snakefile workflow

# After a change of versions in pyproject.toml: install them first.
lock: $(VENV)/.ready  ## pin the installed versions of pyproject.toml's packages
	python3 -m tools.pins

docs: report figures rulegraph  ## draw the figures of the documents, print their tables again
	python3 -m tools.figures copy
	python3 -m tests.browser.screenshots results/recorded/report.html docs/figures
	python3 -m tools.inserts

rulegraph: $(VENV)/.ready  ## draw the rules; needs dot, of the package graphviz
	@command -v dot >/dev/null || { echo "error: no dot here; on Debian or Ubuntu: sudo apt install graphviz"; exit 1; }
	mkdir -p .snakemake
	$(SNAKEMAKE) --rulegraph > .snakemake/rulegraph.dot
	dot -Tsvg -o docs/figures/rulegraph.svg .snakemake/rulegraph.dot

help:  ## print these targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1: /p' Makefile

# Snakemake's records of results/ stay with them: they say which tables are of which rows.
clean:  ## remove .venv and the caches; keep results/
	rm -rf $(VENV) .hypothesis .pytest_cache .ruff_cache
	@mkdir -p .snakemake && find .snakemake -mindepth 1 -maxdepth 1 ! -name metadata -exec rm -rf {} +

# Made under its own name only when all went well, so that an interrupted install starts again.
# `make report` needs a small part of the packages; the other targets add torch and its kind to it.
$(VENV)/.ready $(VENV)/.reports: PATH := $(SYSTEM_PATH)
$(VENV)/.ready: requirements.txt $(VENV)/.reports
	$(VENV)/bin/python3 $(INSTALL) -r requirements.txt
	touch $@

$(VENV)/.reports: requirements.txt Makefile
	@case "$$PWD" in *:*) echo "error: the path $$PWD has a colon, which no environment of Python can have;" \
	  "rename the folder"; exit 1;; esac
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $$($(PYTHON) --version) is too old; Python 3.11 or newer is needed: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { echo "error: $(PYTHON) cannot create environments; on Debian or Ubuntu: sudo apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python3 $(INSTALL) $(NEWER_PIP)
	$(VENV)/bin/python3 $(INSTALL) --constraint requirements.txt --group analysis --group workflow
	touch $@
