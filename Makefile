# Two commands are enough: `make demo` and `make test`. Both set everything up with nothing but python3 (3.11
# or newer) and make. The environment lives in .venv; delete it to start afresh.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.7
export UV_PROJECT_ENVIRONMENT := $(VENV)
export UV_PYTHON_DOWNLOADS := never
PYTEST_ARGS ?=

.PHONY: demo test check bench format clean

demo: $(VENV)/.run            ## three disasters of a pod-by-pod scheduler, and Phalanx avoiding each
	@$(BIN)/phalanx demo

test: $(VENV)/.dev lint       ## everything that can run here; what cannot is named at the end
	$(BIN)/pytest -n 2 $(PYTEST_ARGS)

check: $(VENV)/.dev lint      ## format, lint, types, architecture, fast tests: under a minute
	$(BIN)/pytest -n 2 -q -m "not slow" $(PYTEST_ARGS)

bench: $(VENV)/.dev           ## ratios against an honest per-task loop, measured in one run
	@$(BIN)/python bench/decisions.py

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: lint
lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Phalanx needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (once)…"
	@$(PYTHON) -m venv $(VENV) || { echo "python3 cannot make environments here; on Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

# The second try is for networks with a certificate authority of their own, which only the system knows.
sync = $(BIN)/uv sync --quiet --frozen $(1) 2>$(VENV)/.sync.log || \
  UV_SYSTEM_CERTS=true $(BIN)/uv sync --quiet --frozen $(1) || { cat $(VENV)/.sync.log; exit 1; }

$(VENV)/.run: $(VENV)/.uv pyproject.toml uv.lock
	@$(call sync,--no-dev --inexact)
	@touch $@

$(VENV)/.dev: $(VENV)/.uv pyproject.toml uv.lock
	@$(call sync,)
	@touch $@ $(VENV)/.run
