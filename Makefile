# Everything a person needs. Each target sets up its own virtual environment.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test check bench reproduce docs clean

run: .venv/ready  ## be the user: ten films, your picks, what it learns
	@$(BIN)/variegate try

test: check  ## lint, types, import directions, then every test
	$(BIN)/python -m pytest -n auto

check: .venv/ready  ## lint, types and import directions
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready  ## measure speed against the peers, as ratios in one run
	$(BIN)/python -m benchmarks

reproduce: .venv/ready  ## every experiment of the paper, with a report of which claims hold
	$(BIN)/variegate reproduce --out out/reproduction

docs: .venv/ready  ## make the command reference and the pictures of the documents anew
	$(BIN)/python -m variegate.cli.reference docs/cli.md
	$(BIN)/variegate simulate --rounds 2000 --runs 20 --out docs/pictures/regret.png

clean:  ## remove the virtual environment and everything made
	rm -rf .venv out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "variegate needs Python 3.11 or newer: make PYTHON=python3.13 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up .venv (once; a minute or two)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m variegate.policies.warming
	@touch $@
