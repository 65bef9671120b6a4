# Every target sets up .venv by itself, and again only when the pins or the project's own requirements change.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: reproduce test check bench clean

reproduce: $(READY)
	$(BIN)/lengthwise reproduce $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest $(ARGS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(VENV)/ready-bench
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

$(READY): constraints.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: needs Python 3.11 or later; name one with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test,check]'
	touch $@

$(VENV)/ready-bench: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) build dist
