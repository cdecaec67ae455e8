# make run: set up .venv, run the default sweep, say where the report is.
# make report: the same from recorded and published rows, measuring nothing.
# make tuning: choose the kernels of the variant `frontier` for the GPU that is here.
# make record: measure the standard sweeps on the GPU that is here, for data/recorded/.
# make test: set up .venv, run every code path once. make test-all: every test.
# make lint: the checks of style.

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# Extra arguments for Snakemake: make run ARGS="--configfile sweeps/smoke.yaml"
ARGS ?=
SWEEPS ?=

.PHONY: run report tuning record test test-all lint format lock docs rulegraph clean

run: $(VENV)/.ready
	PATH="$(BIN):$$PATH" snakemake --cores all $(ARGS)
	@echo "Report: results/report.html (for a browser), results/report.md    Figures: results/figures/"

# What is recorded and published, without measuring anything.
report: $(VENV)/.ready
	PATH="$(BIN):$$PATH" snakemake --cores all --configfile sweeps/recorded.yaml
	@echo "Report: results/report.html (for a browser), results/report.md    Figures: results/figures/"

# What the variant `frontier` chooses on the GPU that is here, from a sweep over all choices.
tuning: $(VENV)/.ready
	PATH="$(BIN):$$PATH" snakemake --cores all --configfile sweeps/tuning.yaml --until merge $(ARGS)
	PATH="$(BIN):$$PATH" python3 -m analysis tuning --command "make tuning" --output kernels/frontier/tuning results/measurements/*.csv

# Kept as data/recorded/<gpu>, checked, for a pull request; interrupted, it goes on where it was.
# Some sweeps only: make record SWEEPS="fused_softmax frontier"
record: $(VENV)/.ready
	PATH="$(BIN):$$PATH" python3 -m planning.record $(SWEEPS)

test: $(VENV)/.ready
	PATH="$(BIN):$$PATH" python3 -m pytest -n auto --dist loadgroup -m "not slow"

test-all: $(VENV)/.ready
	PATH="$(BIN):$$PATH" python3 -m pytest -n auto --dist loadgroup

lint: $(VENV)/.ready
	PATH="$(BIN):$$PATH" ruff check .
	PATH="$(BIN):$$PATH" ruff format --check .
	PATH="$(BIN):$$PATH" clang-format --dry-run -Werror $$(git ls-files "*.cu" "*.cuh")
	PATH="$(BIN):$$PATH" snakefmt --check Snakefile workflow
	PATH="$(BIN):$$PATH" snakemake --lint

format: $(VENV)/.ready
	PATH="$(BIN):$$PATH" ruff check --fix .
	PATH="$(BIN):$$PATH" ruff format .
	PATH="$(BIN):$$PATH" clang-format -i $$(git ls-files "*.cu" "*.cuh")
	PATH="$(BIN):$$PATH" snakefmt Snakefile workflow

# After a change of versions in pyproject.toml: install them, then pin what that brought.
lock: $(VENV)/.ready
	"$(BIN)/python3" -m planning.pins

# The figures of the README and of the documents, from the recorded and the published rows.
ONLINE := h200_float32_online_softmax
SHOWN := overview $(ONLINE)_throughput $(ONLINE)_time $(ONLINE)_speedup h200_float32_fused_softmax_throughput \
  h200_bfloat16_frontier_throughput h200_float32_frontier_speedup h200_float32_peers_speedup \
  h200_bfloat16_peers_speedup h200_float32_oneflow_published \
  a100_float32_online_softmax_time a100_float32_online_softmax_throughput

docs: report rulegraph
	cp $(SHOWN:%=results/figures/%.png) docs/figures/
	PATH="$(BIN):$$PATH" python3 -m tests.browser.screenshots results/report.html docs/figures

# The picture of the rules; needs dot, of the package graphviz.
rulegraph: $(VENV)/.ready
	@command -v dot >/dev/null || { echo "error: no dot here; on Debian or Ubuntu: sudo apt install graphviz"; exit 1; }
	mkdir -p .snakemake
	PATH="$(BIN):$$PATH" snakemake --rulegraph > .snakemake/rulegraph.dot
	dot -Tsvg -o docs/figures/rulegraph.svg .snakemake/rulegraph.dot

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
