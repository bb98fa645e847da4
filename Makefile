# `make demo` and `make test` do all the set-up themselves, in .venv; a second call is fast.
#
#   PYTHON=python3.12   another interpreter
#   TORCH=2.11.0        another torch
#   WORKERS=1           as many processes for the tests; auto: as many as there are cores
#   SYSTEM_TORCH=1      use the torch that PYTHON already has; .venv then sees PYTHON's packages

PYTHON ?= python3.11
TORCH ?= 2.13.0
SYSTEM_TORCH ?=
NEWEST_PYTHON ?= python3.12
NEWEST_TORCH ?= 2.15.0
WORKERS ?= auto

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
C_FILES := $(wildcard csrc/*.c csrc/*.h)
BENCHMARKS := dispatch capture breaks dynamic import memory callpath distributed ranks start

.DELETE_ON_ERROR:
.PHONY: help stress demo test test-browser test-libraries check format build matrix wheels sweep sweep-newest sweep-cpython fuzz sweep-ops clean bench bench-gpu bench-pythons $(BENCHMARKS:%=bench-%)

help:
	@echo "make demo    set up, then compile a small transformer and show what happened"
	@echo "make test    set up, check, then run the whole suite (ARGS=... goes to pytest)"
	@echo "make test-browser   install Chromium and look at the site and a report in it"
	@echo "make test-libraries   install accelerate, Lightning, peft, tlparse, pyright... and run what needs them"
	@echo "make check   ruff, mypy, the registry of breaks, clang-format"
	@echo "make format  let ruff and clang-format rewrite the files"
	@echo "make build   set up and build the core"
	@echo "make matrix  the suite on every Python and torch this machine can have (ARGS=... goes to tools/matrix.py)"
	@echo "make wheels  wheels for the Pythons this machine can have, and a source distribution, in dist/"
	@echo "make sweep   real models against eager"
	@echo "make sweep-newest  real models in eval mode on the newest torch: all equal, none given up"
	@echo "make sweep-ops  all operations and layers of torch's own tests, against torch.compile"
	@echo "make sweep-cpython   CPython's own tests, every test method compiled (MODULES=\"test_int ...\", ARGS=\"--wider --traced\")"
	@echo "make stress  four threads that compile and call at once, for 60 seconds (SECONDS=10)"
	@echo "make fuzz    random programs, from where the last run stopped (ARGS=\"--seconds 600\")"
	@echo "make bench   $(BENCHMARKS:%=bench-%)"
	@echo "make bench-gpu  programs with real backends on a GPU (ARGS=--quick), next to torch.compile"
	@echo "make bench-pythons  dispatch on each Python that has an environment, as ratios to .venv's"
	@echo "make clean   remove .venv, the build and the caches"

demo: build
	$(BIN)/python examples/demo.py

test: check
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

# The rest of the suite says loudly when these were skipped for want of a browser.
test-browser: build
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	    apt-get install --yes chromium chromium-driver || \
	    { echo "no Chromium: install the packages chromium and chromium-driver" >&2; exit 1; }
	$(BIN)/python -m pytest tests/tools/site/test_browser.py $(ARGS)

# What other people's libraries and tools make of suture, with these installed; the rest of the suite
# says loudly that they were skipped.
test-libraries: build
	$(BIN)/python -c "import torch; print('torch==' + torch.__version__)" > $(VENV)/constraints.txt
	$(PIP) install --constraint $(VENV)/constraints.txt --no-build-isolation --editable ".[libraries]"
	$(BIN)/python -m pytest tests/switches/test_libraries.py tests/switches/test_torch_reports.py \
	    tests/api/test_types.py $(ARGS)

check: build
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m suture registry check
ifneq ($(C_FILES),)
	$(BIN)/clang-format --dry-run -Werror $(C_FILES)
endif

format: build
	$(BIN)/python -m ruff check --fix --quiet . || true
	$(BIN)/python -m ruff format .
ifneq ($(C_FILES),)
	$(BIN)/clang-format -i $(C_FILES)
endif

wheels: build
	$(BIN)/python tools/wheels.py $(ARGS)

matrix:
	$(PYTHON) tools/matrix.py --write $(ARGS)

sweep-ops: build
	$(PIP) install expecttest
	$(BIN)/python benchmarks/sweep_ops.py $(ARGS)
	$(BIN)/python benchmarks/sweep_modules.py $(ARGS)

sweep: build $(VENV)/.made-sweep
	cd benchmarks && ../$(BIN)/python -m sweep $(ARGS)

# The models' own libraries, without letting them choose another torch.
$(VENV)/.made-sweep: benchmarks/sweep/requirements.txt $(VENV)/.made-torch
	$(BIN)/python -c "import torch; print('torch==' + torch.__version__)" > $(VENV)/constraints.txt
	$(PIP) install --constraint $(VENV)/constraints.txt --requirement $<
	@touch $@

# The models in eval mode on the newest torch, in an environment of its own: equal, none given up.
sweep-newest:
	$(MAKE) sweep VENV=.matrix/sweep-$(NEWEST_TORCH) PYTHON=$(NEWEST_PYTHON) TORCH=$(NEWEST_TORCH) \
	    ARGS="--modes eval --frontends suture --strict --again \
	    --out ../build/sweep-$(NEWEST_TORCH) $(ARGS)"

sweep-cpython: build
	$(BIN)/python benchmarks/sweep_cpython.py $(MODULES) $(ARGS)

stress: build
	$(BIN)/python tests/core/stress_threads.py $(or $(SECONDS),60)

fuzz: build
	$(BIN)/python -m tests.programs.fuzz $(ARGS)

bench-gpu: build
	$(BIN)/python benchmarks/gpu.py $(ARGS)

# Of .venv and of the environments that `make matrix` made; others: PYTHONS="/path/to/python ...".
PYTHONS ?= $(wildcard .matrix/3.*-2.*/bin/python)
bench-pythons: build
	$(BIN)/python benchmarks/pythons.py $(BIN)/python $(PYTHONS) $(ARGS)

bench: $(BENCHMARKS:%=bench-%)

$(BENCHMARKS:%=bench-%): bench-%: build
	$(BIN)/python benchmarks/$*.py $(ARGS)

build: $(VENV)/.made-core

# One stamp per step of the set-up: what has not changed is not done again.

$(VENV)/.made-venv:
	@PYTHON="$(PYTHON)" sh tools/require.sh
	rm -rf $(VENV)
	$(PYTHON) -m venv $(if $(SYSTEM_TORCH),--system-site-packages) $(VENV)
	@touch $@

$(VENV)/.made-torch: $(VENV)/.made-venv
ifeq ($(SYSTEM_TORCH),)
	$(PIP) install torch==$(TORCH)
else
	@# By path, because PYTHON may itself be in a virtual environment, which venv looks through.
	@$(PYTHON) -c "import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))" \
	    > $(VENV)/torch.pth || { echo "SYSTEM_TORCH=1, but $(PYTHON) has no torch" >&2; exit 1; }
	mv $(VENV)/torch.pth $$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")
	$(BIN)/python -c "import torch; print('using torch', torch.__version__)"
endif
	@touch $@

$(VENV)/.made-tools: $(VENV)/.made-torch pyproject.toml
	$(PIP) install "setuptools>=77"
	$(PIP) install --no-build-isolation --editable ".[test,check]"
	@touch $@

$(VENV)/.made-core: $(VENV)/.made-tools $(wildcard setup.py) $(C_FILES)
	$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	rm -f suture/*.so
	find suture tests -name __pycache__ -type d -prune -exec rm -rf {} +
