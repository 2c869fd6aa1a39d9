# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python

# Many small matrix products: threads of the BLAS only get into each other's way.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Images of containers like to set this. With it every test process compiles every library it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-collect test test-all check mutate bench bench-quick docs web clean core extras tools

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip uv

# `make demo` needs the core only.
$(VENV)/.core: pyproject.toml | $(BIN)/uv
	$(UV) -e .
	@touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.core | $(BIN)/uv
	$(UV) -e '.[geo,design,service,live,aggregates,test]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.test | $(BIN)/uv
	$(UV) -e '.[geo,design,service,live,aggregates,test,dev]'
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.test | $(BIN)/uv
	$(UV) -e '.[geo,design,service,live,aggregates,test,bench]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/uv
	$(UV) -e '.[docs]'
	@touch $@

core: $(VENV)/.core
extras: $(VENV)/.test
tools: $(VENV)/.dev

demo: $(VENV)/.core  ## protect an embedded sample and say where the files are
	$(BIN)/python -m sfumato.cli.tracks.demo demo-output

test: $(VENV)/.test  ## the tests, in minutes, without ../shared, a browser or a database
	$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder -m "not slow and not service and not browser and not postgres and not spark"

test-all: $(VENV)/.test  ## every test this machine can run
	$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

check: $(VENV)/.dev  ## style, types, layers, and the house in numbers
	$(BIN)/ruff check src tests benchmarks scripts docs/contributing/*.py clients/js/make_api.py hatch_build.py mkdocs_math.py
	$(BIN)/ruff format --check src tests benchmarks scripts docs/contributing/*.py clients/js/make_api.py hatch_build.py mkdocs_math.py
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/house.py --check
	$(BIN)/python scripts/architecture.py --check  # walks the six journeys, too
	$(BIN)/python scripts/papers_coverage.py --check

mutate: $(VENV)/.test  ## break every function the papers' rows name, and see its named test fail (about an hour)
	$(BIN)/python scripts/papers_coverage.py --mutate

bench: $(VENV)/.bench  ## every benchmark, each a ratio against something real in the same run, and a table of them
	$(BIN)/python benchmarks/run.py

bench-quick: $(VENV)/.bench  ## the same with small sizes, for a weekly look that every one of them still runs whole
	$(BIN)/python benchmarks/run.py --quick

docs: $(VENV)/.docs  ## build the pages, and look at each of them on a phone where a browser is there
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python scripts/docs_phone.py site

web: $(VENV)/.core  ## check the TypeScript, build the pages' bundle (packed into the wheel when present) and web/dist-page (needs Node)
	$(BIN)/python scripts/page_table.py web/src/page/table.json
	cd clients/js && npm install --no-audit --no-fund --no-package-lock && npm run check && npm run build
	cd web && npm install --no-audit --no-fund --no-package-lock && npm run check && npm run build

demo-collect: $(VENV)/.test
	$(BIN)/python -m sfumato.cli.collect.demo_collect

clean:
	rm -rf $(VENV) demo-output test-output dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
