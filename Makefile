# Everything starts here, on a machine with nothing but Python 3.11 or newer and make:
# `demo` and `test` set up what they need first. PYTHON=/path/to/python chooses the Python.

VENV := .venv
BIN := $(VENV)/bin
DATA ?=
MODELS ?=
WORK ?=
QUICK ?=
# Apart from the other one: torch is in no lock.
TABLES := .venv-tables

# Homebrew's libraries lie where only Homebrew's own Python looks for them.
ifneq ($(wildcard /opt/homebrew/lib),)
export DYLD_FALLBACK_LIBRARY_PATH := /opt/homebrew/lib:/usr/local/lib:/usr/lib
endif

.PHONY: help demo test lint bench tables lock clean setup-run setup-dev
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' Makefile

demo: setup-run ## Audit the sample model and write a bundle
	@$(BIN)/recourse-audit demo

test: lint ## Check style and types, then run every test
	@$(BIN)/python -m pytest

lint: setup-dev ## Check style and types only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: setup-dev ## Measure speed and scale; DATA=folder MODELS=folder adds real graphs
	@$(BIN)/python -m benchmarks $(if $(DATA),--data "$(DATA)") $(if $(MODELS),--models "$(MODELS)")

tables: ## Make the paper's tables again; DATA=folder WORK=folder, QUICK=1 for ten minutes
	@test -n "$(DATA)" && test -n "$(WORK)" || \
		{ echo "make tables needs DATA=folder of data sets and WORK=folder for models and results" >&2; exit 2; }
	@test "$(TABLES)/ready" -nt pyproject.toml || { \
		"$(or $(PYTHON),python3)" -m venv $(TABLES) && \
		$(TABLES)/bin/python -m pip install --quiet -e '.[tables]' && touch $(TABLES)/ready; }
	@$(TABLES)/bin/python -m benchmarks.paper --data "$(DATA)" --work "$(WORK)" $(if $(QUICK),--quick)

lock: ## Pin every package again, to the newest that pyproject.toml allows (needs uv)
	@sh scripts/lock.sh

clean: ## Remove the virtual environment and everything that was built
	@rm -rf $(VENV) $(TABLES) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One after the other, so that `make -j demo test` never has two installers in one environment.
setup-run:
	@PYTHON="$(PYTHON)" sh scripts/setup.sh run

setup-dev: setup-run
	@PYTHON="$(PYTHON)" sh scripts/setup.sh dev
