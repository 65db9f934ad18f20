# Everything a fresh machine needs: each target sets up .venv itself. `make help` lists them.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Some tests only, as in `make test TESTS="tests/core tests/data"`.
TESTS ?=
# Tests run in as many processes as there are cores: with threads of their own these would wait for each other.
THREADS := OMP_NUM_THREADS=1
PYTEST := $(THREADS) $(BIN)/pytest
IN_PARALLEL := -m "not proof" -n auto --dist worksteal

.PHONY: setup help demo test test-browser lint coverage proof lock clean

setup: $(READY) ## Make .venv with the locked dependencies and this checkout

$(READY): pyproject.toml requirements.lock
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -r requirements.lock
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --no-deps -e .
	touch $(READY)

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: setup ## Train on an embedded table and show the result in ./askwise-demo/
	$(BIN)/askwise demo

test: setup lint ## Lint, then all tests but the long proofs; prints the ten slowest
	$(PYTEST) $(IN_PARALLEL) --durations=10 $(TESTS)

BROWSER := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chrome)
test-browser: setup ## The page in a real browser; `make test` does this too if it finds one
	@test -n "$(BROWSER)" || { echo "No browser was found: install Chromium (Debian, Ubuntu: apt-get install chromium; macOS: brew install chromium) and run make test-browser again" >&2; exit 2; }
	$(PYTEST) tests/service/test_page.py -rs

lint: setup ## Check style, types and the layers of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The report comes even if a test fails; the exit status tells of both.
coverage: setup ## Line coverage of src by the tests of `make test`, subprocesses counted; slower than `make test`
	mkdir -p build/coverage && rm -f build/coverage/data*
	@status=0; \
	$(THREADS) $(BIN)/coverage run -m pytest $(IN_PARALLEL) $(TESTS) || status=$$?; \
	$(BIN)/coverage combine --quiet || status=$$?; \
	$(BIN)/python .ci/coverage_report.py || status=$$?; \
	exit $$status

proof: setup ## The long proofs: many kills, a million rows; minutes to an hour
	$(PYTEST) -m proof $(TESTS)

# The lock names no index, host or path, and torch without the build tag of one machine; while it is made, torch is the
# CPU build, which needs no CUDA packages.
lock: ## Write requirements.lock anew from pyproject.toml
	sed -i 's/^\(torch==[0-9.]*\)$$/\1+cpu/' requirements.lock
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip compile --quiet pyproject.toml --all-extras --python-version 3.11 \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" -o requirements.lock
	sed -i 's/^\(torch==[0-9.]*\)+.*/\1/' requirements.lock

clean: ## Remove .venv, build and the demo's files
	rm -rf $(VENV) build askwise-demo
