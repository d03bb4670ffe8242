PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FAST := tests/test_house_rules.py tests/test_kernel_sources.py tests/base tests/symbolic tests/topology tests/program tests/frontend tests/network
STAMP := $(VENV)/.installed
# A test keeps one core busy; more than four processes would share the devices to no gain. The tests are in the order
# in which they should begin (tests/scheduling.py). Where a driver waits for ever, the process of the test ends with the
# stacks of its threads, and the others go on.
PARALLEL := -rfEs -n auto --maxprocesses 4 --dist loadgroup --no-loadscope-reorder --timeout 900 --timeout-method thread

# Tests start more than a hundred processes: without compiled files each would compile the whole package anew.
export PYTHONDONTWRITEBYTECODE =
# With a heap for each thread, as glibc has it, a process of tests keeps some hundred megabytes that nobody uses.
export MALLOC_ARENA_MAX = 1

.PHONY: setup demo test check test-full fuzz faults bench docs clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cpu,dev]'
	touch $@

demo: setup
	$(BIN)/python -m examples.read_text $(if $(DEVICE),--device '$(DEVICE)') $(if $(IMAGE),--image '$(IMAGE)')

test: setup
	$(BIN)/python -m pytest -m "not full" $(PARALLEL)

check: setup
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not full and not slow" $(FAST)

test-full: setup
	CLINFER_TEST_FULL=1 $(BIN)/python -m pytest $(PARALLEL) --timeout 0

fuzz: setup
	$(BIN)/python -m tests.fuzz --graphs $(or $(GRAPHS),200) $(if $(SEED),--seed $(SEED)) \
		$(if $(DEVICE),--device '$(DEVICE)') --processes $(or $(PROCESSES),1) $(if $(SECONDS),--seconds $(SECONDS))

faults: setup
	$(BIN)/python -m tests.faults --count $(or $(CASES),1000) $(if $(SEED),--seed $(SEED)) \
		$(if $(DEVICE),--device '$(DEVICE)') --processes $(or $(PROCESSES),1) $(if $(SECONDS),--seconds $(SECONDS))

bench: setup
	$(BIN)/python -m bench.compare ppocr_rec
	$(BIN)/python -m bench.compare resnet50
	$(BIN)/python -m bench.host_overhead

docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
