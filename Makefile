# `make lab` opens the course; `make test` runs every check. Both set up .venv when it is needed.

PYTHON ?= python3
VENV := .venv
# On Linux without an NVIDIA GPU, torch's CPU wheels save about 4 GB of downloads:
#   make lab TORCH_INDEX_URL=https://download.pytorch.org/whl/cpu
TORCH_INDEX_URL ?=
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
JUPYTER_FLAGS ?=

.PHONY: lab test test-slow check notebooks grade bench setup clean gpu-check

lab: setup
	@$(BIN)/python -m grader lab $(JUPYTER_FLAGS)

test: check
	@$(PYTEST) -m "not slow and not gpu" -n 3 --dist loadfile --no-loadscope-reorder

test-slow: setup
	@$(PYTEST) -m "slow and not gpu"

gpu-check: setup
	@$(PYTEST) -m gpu

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m grader notebooks --check

notebooks: setup
	@$(BIN)/python -m grader notebooks

grade: setup
	@$(BIN)/python -m grader grade

bench: setup
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV)

setup: $(VENV)/installed

$(VENV)/installed: pyproject.toml tools/setup.py
	@$(PYTHON) tools/setup.py $(VENV) "$(TORCH_INDEX_URL)"
