# Every target makes its own environment in .venv on a fresh machine (Python 3.11 or newer, no GPU needed).
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PIP_INSTALL := python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-slow check lint types layers docs site play packages check-pythons check-lowest fuzz bench clean

demo: $(READY)  ## train on small handwritten digits, compare, draw pictures: about half a minute
	$(BIN)/python examples/digits.py

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal

test: $(READY)  ## the quick tests and the examples in docstrings, a process for each core and one thread for each process
	$(PYTEST) -m "not slow"

test-slow: $(READY)  ## the tests that take longer
	$(PYTEST) -m slow tests

check: $(READY) .venv/.site  ## everything that has to hold before a change lands; what keeps one core busy goes two at a time
	$(MAKE) --jobs=2 lint types layers docs site packages
	$(MAKE) test
	$(MAKE) test-slow

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports --no-logo

docs: $(READY)  ## every number of README and docs is from a record, and their style is plain
	$(BIN)/python docs/numbers.py --check
	$(BIN)/python docs/style.py

site: .venv/.site play  ## the documentation site, in build/site: a warning is an error, and so is an example of the gallery that fails; drawn anew where it changed
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -E -q -W --keep-going -d build/doctrees docs build/site
	if [ -d build/play ]; then cp -r build/play build/site; fi

play: $(READY)  ## the page to play on, in build/play, by onnxruntime-web from npm: half a minute; python -m http.server -d build/play shows it
	OMP_NUM_THREADS=1 $(BIN)/python docs/play/build_page.py build/play

.venv/.site: $(READY)
	$(BIN)/$(PIP_INSTALL) -c constraints.txt -e '.[dev,site]'
	touch $@

packages: $(READY)  ## wheels and sdists, in build/packages: each wheel is built from its sdist, looked through and used
	rm -rf build/packages
	for project in . paper; do $(BIN)/python -m build --no-isolation --outdir build/packages $$project || exit 1; done
	$(BIN)/python .ci/packages.py

check-pythons: packages  ## the wheels, in a new environment of each Python that is installed
	for version in 3.11 3.12 3.13 3.14; do \
	  python$$version --version >/dev/null 2>&1 || { echo "$$version: not installed, not checked"; continue; }; \
	  python$$version -m venv --clear build/pythons/$$version && \
	  build/pythons/$$version/bin/$(PIP_INSTALL) -c constraints.txt build/packages/*.whl && \
	  build/pythons/$$version/bin/python .ci/smoke.py && echo "$$version: works" || exit 1; \
	done

FLOORS := 's/^  "\([a-z-]*\)\(\[[a-z]*\]\)\{0,1\}>=\([0-9.]*\)",.*/\1==\3/p'
LOWEST := build/lowest

check-lowest: packages  ## the wheels and tests, with the oldest Python and libraries of pyproject.toml; gigabytes to load
	python3.11 -m venv --clear $(LOWEST)
	sed -n $(FLOORS) pyproject.toml > $(LOWEST)/floors.txt
	$(LOWEST)/bin/$(PIP_INSTALL) -c $(LOWEST)/floors.txt build/packages/*.whl beartype onnxruntime onnxscript pandas polars pytest
	$(LOWEST)/bin/python .ci/smoke.py
	$(LOWEST)/bin/python -m pytest -q -m "not slow" -W ignore::DeprecationWarning $(addprefix tests/,models inference tabular estimators)

fuzz: $(READY)  ## 10,000 damaged tables and 10,000 damaged models and trainings, watched, with the record: some minutes
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/fuzz.py --record

bench: $(READY)  ## the short form of the benchmarks, ratios only; --record in each writes benchmarks/results
	$(BIN)/python benchmarks/likelihood.py --rows 100
	$(BIN)/python benchmarks/training.py --steps 20
	$(BIN)/python benchmarks/muon.py
	$(BIN)/python benchmarks/sampling.py --rows 100
	$(BIN)/python benchmarks/scaling.py --short

$(READY): pyproject.toml paper/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/$(PIP_INSTALL) -c constraints.txt -e '.[dev]' -e ./paper
	touch $@

clean:
	rm -rf .venv build docs/gallery docs/reference .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
