# Every target sets up .venv by itself, once; it is renewed only when the dependencies change.
PYTHON ?= python3
TORCH ?= torch==2.13.0
# The versions, and what is installed; with CONSTRAINT= the newest versions that pyproject.toml admits.
CONSTRAINT ?= constraints.txt
EXTRAS ?= all,docs,dev
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/pip install --quiet --no-compile --disable-pip-version-check $(if $(CONSTRAINT),--constraint $(CONSTRAINT))
export OMP_WAIT_POLICY ?= PASSIVE
export WITHOUT_GPU = import json; exit(any(need.startswith("nvidia-") for part in json.load(open(".venv/torch.json"))["install"] for need in part["metadata"].get("requires_dist", [])))

.PHONY: demo test test-long test-slow test-wheel lint docs bench clean help

help:  ## Show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# pip compiles with one process, compileall with all cores; neither minds a file that is for another Python.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || { echo "Discreet needs Python 3.11, 3.12, 3.13 or 3.14: make PYTHON=python3.11"; exit 1; }
	@echo "Setting up .venv (once, two to five minutes) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) --dry-run --no-deps --report .venv/torch.json $(TORCH)
	@$(BIN)/python -c "$$WITHOUT_GPU" || echo "The torch that pip finds here brings 3.4 GB of GPU libraries, which Discreet does not need. For the CPU build press Ctrl-C and say where it is: make TORCH='torch==2.13.0 --extra-index-url ADDRESS', with the address that PyTorch's installation page gives for CPU, or make TORCH=FILE.whl"
	@$(PIP) $(TORCH)
	@$(PIP) --editable '.[$(EXTRAS)]'
	@$(BIN)/python -m compileall -q -j 0 .venv/lib > .venv/compiled.log 2>&1 || true
	@touch $@

demo: $(READY)  ## A server, 300 devices that read for a week, and a page to read (Ctrl-C ends it)
	$(BIN)/discreet demo

# One thread each: workers share the cores, and sums have the same order in every process.
test test-long test-slow test-wheel: export OMP_NUM_THREADS ?= 1
# Tests start many processes; each would compile all of the package and of the tests again, where nothing is kept.
unexport PYTHONDONTWRITEBYTECODE

STUTTERING := \
	tests/browser/test_browser_page.py::test_reading_lifts_a_topic_at_once_and_asks_nothing \
	tests/browser/test_browser_tabs.py::test_three_tabs_make_one_label_and_one_sketch \
	tests/browser/test_browser_tabs.py::test_forgetting_in_one_tab_clears_the_others

# A worker waits for a quarter of its time, for pages, processes and disks: three fill two cores.
test: $(READY)  ## All tests but long and slow ones; with BUSY=yes the long ones too, those that wait for something at low priority next to the others, and some stutter
ifeq ($(BUSY),yes)
	@nice -n 5 $(BIN)/pytest -n 3 --dist worksteal -m 'waits and not slow' -o cache_dir=.venv/waits > .venv/busy.log 2>&1 & waiting=$$!; \
	$(BIN)/pytest -n 2 --dist worksteal -m 'not waits and not slow' -o cache_dir=.venv/others; others=$$?; \
	wait $$waiting; waited=$$?; cat .venv/busy.log; \
	again="$(BIN)/pytest --last-failed --last-failed-no-failures none -o"; \
	if [ $$((others + waited)) -ne 0 ]; then echo "What failed, once more by itself; it must pass now:"; fi; \
	if [ $$others -eq 1 ]; then $$again cache_dir=.venv/others; others=$$?; fi; \
	if [ $$waited -eq 1 ]; then $$again cache_dir=.venv/waits; waited=$$?; fi; \
	exit $$((others + waited))
	$(BIN)/pytest -n 2 --stutter $(STUTTERING)
else
	$(BIN)/pytest -n 3 --dist worksteal -m 'not slow and not long'
endif

test-long: $(READY)  ## Servers, browsers, kills and attacks that take many seconds each; with BUSY=yes they are among all others
	$(BIN)/pytest -n 2 --dist worksteal -m 'long and not slow'

test-slow: $(READY)  ## The tests that take minutes
	$(BIN)/pytest -m slow

test-wheel: $(READY)  ## The wheel, with the newest and with the oldest versions that it admits, in empty environments
	$(BIN)/pytest tests/api/test_wheel.py

lint: $(READY)  ## ruff, mypy, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)  ## The documentation site, in docs/_build/html; a warning is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -b html docs docs/_build/html
	@echo "Site: docs/_build/html/index.html"

bench: $(READY)  ## Side-by-side speed measurements, each printing a ratio
	@for b in benchmarks/bench_*.py; do $(BIN)/python $$b || exit 1; done

clean:  ## Remove the environment and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis demo docs/_build docs/reference/generated
