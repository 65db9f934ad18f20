# Everything a fresh machine needs: `make demo` and `make test` set up .venv themselves.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Tests run in as many processes as there are cores: with threads of their own these would wait for each other.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest

.PHONY: setup demo test test-browser lint proof lock clean

setup: $(READY)

$(READY): pyproject.toml requirements.lock
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -r requirements.lock
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --no-deps -e .
	touch $(READY)

demo: setup
	$(BIN)/askwise demo

test: setup lint
	$(PYTEST) -m "not proof" -n auto --dist worksteal

# The page in a real browser; `make test` runs these too where it finds one.
BROWSER := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chrome)
test-browser: setup
	@test -n "$(BROWSER)" || { echo "No browser was found: install Chromium (Debian, Ubuntu: apt-get install chromium; macOS: brew install chromium) and run make test-browser again" >&2; exit 2; }
	$(PYTEST) tests/service/test_page.py -rs

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Long proofs: many kills, a million rows. Minutes to an hour.
proof: setup
	$(PYTEST) -m proof

# The lock names no index, host or path, and torch without the build tag of one machine; while it is made, torch is the
# CPU build, which needs no CUDA packages.
lock:
	sed -i 's/^\(torch==[0-9.]*\)$$/\1+cpu/' requirements.lock
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip compile --quiet pyproject.toml --all-extras --python-version 3.11 \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" -o requirements.lock
	sed -i 's/^\(torch==[0-9.]*\)+.*/\1/' requirements.lock

clean:
	rm -rf $(VENV) askwise-demo
