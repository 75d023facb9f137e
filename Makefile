# Two commands are enough: `make demo` and `make test`. Both set everything up with nothing but python3 (3.11
# or newer) and make. The environment lives in .venv; delete it to start afresh.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.7
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
export UV_PROJECT_ENVIRONMENT := $(VENV)
export UV_PYTHON_DOWNLOADS := never
PYTEST_ARGS ?=

.PHONY: demo test check bench bench-cluster bench-admission chaos upgrade cluster differential lives lives-fire test-versions chart format clean

demo: $(VENV)/.run            ## three disasters of a pod-by-pod scheduler, and Phalanx avoiding each
	@$(BIN)/phalanx demo

test: $(VENV)/.dev lint       ## everything that can run here; what cannot is named at the end
	$(BIN)/pytest -n 2 $(PYTEST_ARGS)

check: $(VENV)/.dev lint      ## format, lint, types, architecture, fast tests: under a minute
	$(BIN)/pytest -n 2 -q -m "not slow" $(PYTEST_ARGS)

bench: $(VENV)/.dev           ## ratios against an honest per-task loop, measured in one run
	@$(BIN)/python -m bench.decisions
	@$(BIN)/python -m bench.shares
	@$(BIN)/python -m bench.queue_order
	@$(BIN)/python -m bench.making_room
	@$(BIN)/python -m bench.neighbours
	@$(BIN)/python -m bench.volumes
	@$(BIN)/python -m bench.backlog
	@$(BIN)/python -m bench.topology
	@$(BIN)/python -m bench.clos

bench-cluster: $(VENV)/.dev   ## Phalanx and others on real control planes: QUICK=1, PEERS=all, SIZES=1000x4000,…
	@$(BIN)/python -m bench.cluster

bench-admission: $(VENV)/.dev ## what the admission policies cost a real API server, with and without in turns: QUICK=1
	@$(BIN)/python -m bench.admission

chaos: $(VENV)/.dev           ## the fault tests in their long form, with every figure; a quarter to half an hour
	ROUNDS=$${ROUNDS:-50} PODS=$${PODS:-2000} LEASE=$${LEASE:-6,4,1} CI=true \
	  $(BIN)/pytest -v -s --timeout=7200 tests/kube/test_faults.py tests/kube/test_side_by_side.py \
	  tests/kube/test_shared_gpus_faults.py $(PYTEST_ARGS)

upgrade: $(VENV)/.dev         ## upgrade and rollback under load, many times
	ROUNDS=$${ROUNDS:-10} CI=true $(BIN)/pytest -v -s --timeout=3600 tests/kube/test_upgrade.py $(PYTEST_ARGS)

properties: $(VENV)/.dev      ## nobody is evicted in vain, in RUNS=5000 random small clusters; tells how far it is
	RUNS=$${RUNS:-5000} $(BIN)/pytest -n 0 -s -q --timeout=0 tests/engine/test_nobody_leaves_in_vain.py $(PYTEST_ARGS)

volcano: $(VENV)/.dev         ## who runs under Volcano's own scheduler and here, on CLUSTERS=50 random clusters: SEED=0, ARGS=--record
	@$(BIN)/python -m tests.volcano_outcomes $(ARGS)

differential: $(VENV)/.dev    ## the same verdicts as the real kube-scheduler: CLUSTERS=50 of each family, FAMILIES=a,b, SEED=0, ARGS=--record
	@$(BIN)/python -m tests.differential $(ARGS)

lives: $(VENV)/.dev           ## Volcano's Jobs through their lives under its own controller and ours, field by field: ARGS=--record, ARGS="NAME…"
	@$(BIN)/python -m tests.lives $(ARGS)

lives-fire: $(VENV)/.dev      ## the same Jobs while their controller is killed at any moment: COPIES=6 of each, SEED=…, ARGS="NAME…"
	@$(BIN)/python -m tests.lives.fire $(ARGS)

cluster: $(VENV)/.run         ## a real control plane, pretend GPU nodes and Phalanx until Ctrl-C: K8S=1.35|1.36|1.37
	@$(BIN)/phalanx playground

test-versions: $(VENV)/.dev   ## the real-cluster tests on Kubernetes 1.35, 1.36 and 1.37
	@failed=; for version in 1.35 1.36 1.37; do \
	  echo "Kubernetes $$version"; \
	  $(BIN)/python -m phalanx.kube.local build --version $$version || { failed="$$failed $$version(not built)"; continue; }; \
	  K8S=$$version CI=true $(BIN)/pytest -n 2 -q tests/kube $(PYTEST_ARGS) || failed="$$failed $$version"; \
	done; \
	[ -z "$$failed" ] || { echo "failed on Kubernetes:$$failed"; exit 1; }

chart: $(VENV)/.dev           ## write charts/phalanx from src/phalanx/kube/manifests
	@$(BIN)/python -m phalanx.kube.installation.chart charts/phalanx

.PHONY: image base-image package

image:                        ## the scheduler's image, by docker, podman or buildah: TAG=…, BASE=…, ENGINE=…
	@tools/image build "$${TAG:-phalanx:$(VERSION)}" $${BASE:+"$$BASE"}

base-image:                   ## a base for it where no registry can be reached, from Debian's packages: TAG=…, SUITE=…
	@tools/image base "$${TAG:-localhost/phalanx-base}" $${SUITE:+"$$SUITE"}

package: $(VENV)/.dev         ## the wheel and the source archive in dist/, tried on every supported Python that is here
	@rm -rf dist
	@$(BIN)/uv build --quiet --out-dir dist
	$(BIN)/pytest -n 0 -q tests/package $(PYTEST_ARGS)
	@ls -l dist

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
	@$(call sync,--no-dev --inexact --extra playground)
	@touch $@

$(VENV)/.dev: $(VENV)/.uv pyproject.toml uv.lock
	@$(call sync,--all-extras)
	@touch $@ $(VENV)/.run
