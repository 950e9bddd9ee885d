# Start here, on a machine with nothing but Python 3.11 or newer and make: `demo` and `test` install
# what they need first. PYTHON=/path/to/python chooses the Python.

VENV := .venv
BIN := $(VENV)/bin
DATA ?=
MODELS ?=
WORK ?=
QUICK ?=
CASES ?= 100000
SEED ?= 0
# Separate from the other environment, because torch is not in the lock files.
TABLES := .venv-tables
DOCS := .venv-docs
OLDEST := .venv-oldest
RECIPES := .venv-recipes

# Tests start many processes, and each would compile the whole package anew.
unexport PYTHONDONTWRITEBYTECODE

# Homebrew installs its libraries where only Homebrew's own Python finds them.
ifneq ($(wildcard /opt/homebrew/lib),)
export DYLD_FALLBACK_LIBRARY_PATH := /opt/homebrew/lib:/usr/local/lib:/usr/lib
endif

.PHONY: help demo docs pictures test test-all test-oldest lint fuzz faults bench tables recipes lock clean setup-run setup-dev setup-docs
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

demo: setup-run ## Audit the sample model and write a bundle
	@$(BIN)/recourse-audit demo

docs: setup-docs ## Build the documentation into build/docs, with every warning an error
	@rm -rf build/docs docs/gallery
	@$(DOCS)/bin/sphinx-build --nitpicky --fail-on-warning --keep-going --quiet docs build/docs
	@echo "build/docs/index.html"

pictures: setup-dev ## Take the pictures of the documentation from the demo's bundle
	@test -d recourse-audit-demo/bundle/pages || $(BIN)/recourse-audit demo
	@$(BIN)/python scripts/pictures.py recourse-audit-demo/bundle

test: lint ## Check style and types, then run the tests, with a short form of each that takes long
	@$(BIN)/python -m pytest -n auto --dist worksteal

test-all: lint ## The same with the long forms: whole samples, more faults and damage, every language
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "long or not long"

test-oldest: setup-dev ## Run the tests with the oldest versions of all packages that pyproject.toml allows
	@test "$(OLDEST)/ready" -nt requirements/oldest.txt || { \
		"$(or $(PYTHON),python3)" -m venv --clear $(OLDEST) && \
		$(OLDEST)/bin/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements/oldest.txt && \
		$(OLDEST)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e . && touch $(OLDEST)/ready; }
	@$(OLDEST)/bin/python -m pytest -n auto --dist worksteal

faults: setup-dev ## Let commands fail at every step that writes, and rerun them
	@$(BIN)/python -m tests.faults

lint: setup-dev ## Check style and types only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

fuzz: setup-dev ## Try damaged and hostile files; CASES=100000 SEED=0, failures are kept in fuzz-failures/
	@$(BIN)/python -m tests.fuzz --cases $(CASES) --seed $(SEED)

bench: setup-dev ## Measure speed and scale; DATA=folder MODELS=folder adds real graphs
	@$(BIN)/python -m benchmarks $(if $(DATA),--data "$(DATA)") $(if $(MODELS),--models "$(MODELS)")

tables: ## Reproduce the paper's tables; needs DATA=folder WORK=folder, QUICK=1 takes ten minutes
	@test -n "$(DATA)" && test -n "$(WORK)" || \
		{ echo "make tables needs DATA=folder with the data sets and WORK=folder for models and results" >&2; exit 2; }
	@test "$(TABLES)/ready" -nt pyproject.toml || { \
		"$(or $(PYTHON),python3)" -m venv $(TABLES) && \
		$(TABLES)/bin/python -m pip install --quiet -e '.[tables]' && touch $(TABLES)/ready; }
	@$(TABLES)/bin/python -m benchmarks.paper --data "$(DATA)" --work "$(WORK)" $(if $(QUICK),--quick)

recipes: ## Run the export recipes and their traps (docs); creates .venv-recipes with torch
	@test "$(RECIPES)/ready" -nt pyproject.toml || { \
		"$(or $(PYTHON),python3)" -m venv $(RECIPES) && \
		$(RECIPES)/bin/python -m pip install --quiet -e '.[samples]' && touch $(RECIPES)/ready; }
	@set -e; for recipe in recipes/*.py; do \
		test $$recipe = recipes/check.py || { echo "== $$recipe"; \
		OMP_NUM_THREADS=1 $(RECIPES)/bin/python $$recipe build/recipes; }; done

lock: ## Pin all packages to the newest versions that pyproject.toml allows (needs uv)
	@sh scripts/lock.sh

clean: ## Remove the virtual environments and all build files
	@rm -rf $(VENV) $(TABLES) $(OLDEST) $(RECIPES) $(DOCS) build dist docs/gallery .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One depends on the other, so that `make -j demo test` never installs twice at the same time.
setup-run:
	@PYTHON="$(PYTHON)" sh scripts/setup.sh run

setup-dev: setup-run
	@PYTHON="$(PYTHON)" sh scripts/setup.sh dev

setup-docs:
	@PYTHON="$(PYTHON)" sh scripts/setup.sh docs
