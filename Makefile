# make run: set up .venv, run the default sweep, say where the report is.
# make report: the same from recorded and published rows, measuring nothing.
# make test: set up .venv, run all tests. make lint: the checks of style.

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# Extra arguments for Snakemake: make run ARGS="--configfile sweeps/smoke.yaml"
ARGS ?=

.PHONY: run report test lint format lock docs clean

run: $(VENV)/.ready
	PATH="$(BIN):$$PATH" snakemake --cores all $(ARGS)
	@echo "Report: results/report.md    Figures: results/figures/"

# What is recorded and published, without measuring anything.
report: $(VENV)/.ready
	PATH="$(BIN):$$PATH" snakemake --cores all --configfile sweeps/recorded.yaml
	@echo "Report: results/report.md    Figures: results/figures/"

test: $(VENV)/.ready
	PATH="$(BIN):$$PATH" python3 -m pytest -n auto --dist loadgroup

lint: $(VENV)/.ready
	PATH="$(BIN):$$PATH" ruff check .
	PATH="$(BIN):$$PATH" ruff format --check .
	PATH="$(BIN):$$PATH" clang-format --dry-run -Werror kernels/cuda/*
	PATH="$(BIN):$$PATH" snakefmt --check Snakefile workflow
	PATH="$(BIN):$$PATH" snakemake --lint

format: $(VENV)/.ready
	PATH="$(BIN):$$PATH" ruff check --fix .
	PATH="$(BIN):$$PATH" ruff format .
	PATH="$(BIN):$$PATH" clang-format -i kernels/cuda/*
	PATH="$(BIN):$$PATH" snakefmt Snakefile workflow

# After a change of versions in pyproject.toml: install them, then pin what that brought.
lock: $(VENV)/.ready
	"$(BIN)/python3" -m workflow.pins

# The figures of the README, from the recorded and the published rows.
docs: report
	cp results/figures/h200_float32_online_softmax_throughput.png docs/figures/
	cp results/figures/h200_float32_oneflow_published.png docs/figures/
	cp results/figures/a100_float32_online_softmax_time.png docs/figures/

clean:
	rm -rf $(VENV) .snakemake .pytest_cache .ruff_cache

# Made under its own name only when all went well, so that an interrupted install starts again.
$(VENV)/.ready: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $$($(PYTHON) --version) is too old; Python 3.11 or newer is needed: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { echo "error: $(PYTHON) cannot create environments; on Debian or Ubuntu: sudo apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	"$(BIN)/python3" -m pip install --disable-pip-version-check --quiet --progress-bar off -r requirements.txt
	touch $@
