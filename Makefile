# Everything a person needs. Each target sets up its own virtual environment.
PYTHON ?= python3
BIN := .venv/bin
# Tests start many processes, which would compile the source each time without byte code.
unexport PYTHONDONTWRITEBYTECODE
# More than the cores: many tests wait for the processes that they start. Each worker gets tests
# that follow each other, so that few workers make the same fixtures.
WORKERS := $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

.PHONY: run test check programs attack fuzz load bench reproduce docs pictures dist clean

run: .venv/ready  ## the service and its demo page in a browser, with the site if `make docs` has built it
	@mkdir -p out
	@$(BIN)/variegate serve --store sqlite:///out/variegate.db --log-level warning --open $(if $(wildcard out/site/index.html),--documentation out/site)

test: check programs  ## lint, types, import directions, then every test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: .venv/ready  ## lint, types and import directions
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

# RUNLEVEL=1: no installed server is started.
programs:  ## install the browsers, the load balancer, the pooler and the clock of the tests, where possible
	@for program in chromium firefox-esr haproxy pgbouncer faketime; do \
	  command -v $$program >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { echo "Installing $$program"; apt-get update -qq >/dev/null 2>&1; RUNLEVEL=1 apt-get install -y -qq $$program >/dev/null 2>&1; } || \
	  echo "$$program could not be installed: its tests will be skipped"; \
	done

attack: .venv/ready  ## kill and stop three replicas and PostgreSQL for ten minutes, and check every fact
	$(BIN)/python -m tools.attack --minutes 10

fuzz: .venv/ready  ## more hypothesis examples, and compiled loops with bounds checks
	$(BIN)/python -m pytest -n auto -m hypothesis --hypothesis-profile=long
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=out/fuzz $(BIN)/python -m tests.kernels.hostile 300

load: .venv/ready  ## measure the service five times with each store, and write docs/explanation/load.md
	$(BIN)/python -m tools.loadtest.page

bench: .venv/ready  ## measure speed against the peers, as ratios in one run
	$(BIN)/python -m benchmarks

reproduce: .venv/ready  ## the paper's experiments, with a report of which claims hold
	$(BIN)/python -m experiments --out out/reproduction

docs: .venv/ready  ## generate the command reference and a plot, and build the site into out/site
	$(BIN)/python -m tools.command_reference docs/reference/cli.md
	$(BIN)/variegate simulate --rounds 2000 --runs 20 --out docs/pictures/regret.png
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "The site: out/site/index.html"

pictures: .venv/ready  ## retake the screenshots of the page
	$(BIN)/python -m tools.screenshots --out docs/pictures/page

dist: .venv/ready  ## build sdist and wheel into dist/, and run the README from the wheel
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dist]'
	$(BIN)/python -m tools.dist

clean:  ## remove the virtual environment and everything made
	rm -rf .venv out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "variegate needs Python 3.11 or newer: make PYTHON=python3.13 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up .venv (once; a minute or two)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m variegate.policies.warmup
	@touch $@
