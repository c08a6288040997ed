# `make lab` opens the course; `make test` runs every check. Both set up .venv when it is needed.

PYTHON ?= python3
VENV ?= .venv
# On Linux without an NVIDIA GPU, torch's CPU wheels save about 4 GB of downloads:
#   make lab TORCH_INDEX_URL=https://download.pytorch.org/whl/cpu
TORCH_INDEX_URL ?=
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
JUPYTER_FLAGS ?=
TARGET ?= cpu

.PHONY: lab test test-slow check notebooks grade bench setup clean gpu-check
.PHONY: image image-test engine-test constraints published

lab: setup
	@$(BIN)/python -m grader lab $(JUPYTER_FLAGS)

test: check
	@$(PYTEST) -m "not slow and not gpu and not published and not engine" -n 4 --dist loadfile --no-loadscope-reorder

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

# With Docker, Podman or Buildah: make image, or make image TARGET=gpu
image:
	@bash docker/build.sh $(TARGET)

image-test:
	@bash docker/tests/image_test.sh

engine-test: setup
	@bash docker/tests/engine_test.sh $(BIN)/python

constraints: setup
	@$(BIN)/python tools/constraints.py

# What others publish: needs the internet.
published: setup
	@$(PYTEST) -m published

clean:
	rm -rf $(VENV)

setup: $(VENV)/installed

$(VENV)/installed: pyproject.toml tools/setup.py
	@$(PYTHON) tools/setup.py $(VENV) "$(TORCH_INDEX_URL)"
