# Everything a developer or a newcomer types. `make help` lists it.
PYTHON ?= python3
FUZZ_SECONDS ?= 600
SOAK_KILLS ?= 200
SOAK_SECONDS ?= 600
DIST ?= dist
INSTALLED ?= .venv/release
SITE ?= $(CURDIR)/site
BIN := .venv/bin
INSTALL := PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check docs reference release format bench fuzz soak pictures clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.demo ## Score a sample project on this machine, show the result, write its report (DEMO=--serve also serves it)
	@$(BIN)/hunkwatch demo $(DEMO)

test: .venv/.test ## Run the tests; those that need Postgres skip unless HUNKWATCH_TEST_POSTGRES names one
	@$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

check: .venv/.check ## Lint, formatting, types and the layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

docs: .venv/.docs ## Build the documentation as a site into site/; a warning or a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file .mkdocs.yml --site-dir $(SITE)

reference: .venv/.demo ## Write what follows from the types of the settings: docs/settings.md and the schema of the Helm chart
	@$(BIN)/python docs/reference.py

release: .venv/.deploy ## Build the wheel, the sdist, and the bill of materials of what is installed with them into dist/
	@rm -rf $(DIST) $(INSTALLED)
	@$(BIN)/python -m build --quiet --no-isolation --outdir $(DIST) >/dev/null
	@$(PYTHON) -m venv --without-pip $(INSTALLED)
	@$(BIN)/python -m pip --python $(INSTALLED)/bin/python install --quiet --disable-pip-version-check --constraint constraints.txt \
	    "$$(ls $(DIST)/*.whl)[postgres]"
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type application --output-reproducible --output-format JSON \
	    --output-file $(DIST)/hunkwatch.cdx.json $(INSTALLED)/bin/python

format: .venv/.check ## Mend what the linter can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: .venv/.bench ## Measure speed and size against what else does the job, as ratios in one run
	@$(BIN)/python tests/bench/run.py

fuzz: .venv/.fuzz ## Fuzz finding and reading under coverage guidance (FUZZ_SECONDS each, 600 unless told)
	@for target in discover unwrap grammar; do \
	    $(BIN)/python tests/fuzz/fuzz.py $$target -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 || exit 1; \
	done

soak: .venv/.test ## Kill the worker SOAK_KILLS times on each database, then let traces arrive for SOAK_SECONDS; Postgres as for the tests
	@SOAK_KILLS=$(SOAK_KILLS) SOAK_SECONDS=$(SOAK_SECONDS) $(BIN)/python -m pytest -q -s --timeout 0 tests/process/soak.py

pictures: .venv/.test ## Take the README's pictures from the demo with Chromium
	@$(BIN)/python tests/browser/pictures.py

clean: ## Remove the virtual environment and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist site

# Each stamp is made once and again when the package or a pin changes, so a second run needs no network.
.venv/.python: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; name one with PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(INSTALL) pip
	@touch $@

.venv/.demo: .venv/.python pyproject.toml
	@$(INSTALL) --editable '.[demo]'
	@touch $@

.venv/.test: .venv/.demo
	@$(INSTALL) --editable '.[demo,postgres,bulk]' --group test
	@touch $@

# The SDK for servers before 4.59, in an environment of its own: the sandbox is held against both.
.venv/.sdk4: .venv/.python
	@test -x .venv/sdk4/bin/python || $(PYTHON) -m venv .venv/sdk4
	@grep -v '^langfuse==' constraints.txt > .venv/sdk4/constraints.txt
	@.venv/sdk4/bin/python -m pip install --quiet --disable-pip-version-check --constraint .venv/sdk4/constraints.txt 'langfuse==4.18.0'
	@touch $@

.venv/.ray: .venv/.test
	@$(INSTALL) --editable '.[demo,postgres,bulk,ray]'
	@touch $@

.venv/.check: .venv/.test
	@$(INSTALL) --group check
	@touch $@

# What the deployments, the release and the hooks are tried with.
# The wheels are what an image, a hook and an action install from there, so that their tests need no network.
.venv/.deploy: .venv/.check
	@$(INSTALL) --group deploy
	@rm -rf .venv/wheels
	@PIP_BUILD_CONSTRAINT=constraints.txt $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --constraint constraints.txt \
	    --wheel-dir .venv/wheels pip hatchling '.[postgres]'
	@rm .venv/wheels/hunkwatch-*.whl
	@touch $@

.venv/.docs: .venv/.test
	@$(INSTALL) --group docs
	@touch $@

.venv/.bench: .venv/.test
	@$(INSTALL) --group bench
	@touch $@

.venv/.fuzz: .venv/.test
	@$(INSTALL) --group fuzz
	@touch $@
