# Every target sets up .venv by itself, once; it is renewed only when the dependencies change.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test test-slow lint bench clean help

help:  ## Show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Discreet needs Python 3.11 or newer: make PYTHON=python3.11"; exit 1; }
	@echo "Setting up .venv (once, two to five minutes) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt torch==2.13.0
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[lm,serve,postgres,onnx,flower,dev]'
	@touch $@

demo: $(READY)  ## Generate a small news world, compare methods on it, write a report, serve a page (Ctrl-C ends it)
	$(BIN)/discreet demo

test: $(READY)  ## All tests but the slow ones
	$(BIN)/pytest -n 2

test-slow: $(READY)  ## The tests that take minutes
	$(BIN)/pytest -m slow

lint: $(READY)  ## ruff, mypy, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## Side-by-side speed measurements, each printing a ratio
	@for b in benchmarks/bench_*.py; do $(BIN)/python $$b || exit 1; done

clean:  ## Remove the environment and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis demo
