# Everything a newcomer needs: `make run`, `make test`. Both make the virtual environment first, if there is none.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := check
.PHONY: help run test test-fast faults lint check bench bench-redis bench-postgres bench-close bench-edge bench-access bench-audit bench-waits bench-live bench-voids bench-matches bench-people sync docs format clean

help:                  ## List what can be made.
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 18

run: .venv/installed   ## Start the service on http://127.0.0.1:8080 with the demo configuration.
	$(BIN)/keepscore serve --config examples/demo.toml

test: .venv/tested     ## Run all tests, three at a time: some wait for servers while others compute.
	@tools/find_chromium
	$(BIN)/python -m pytest -n 3 --dist worksteal $$(tools/find_chromium --ignore)

test-fast: .venv/tested   ## Run the tests that need no server, in under a minute.
	$(BIN)/python -m pytest -n 2 tests/unit src

faults: .venv/tested   ## Kill, cut and stop everything under load for ten minutes; prints what was survived.
	$(BIN)/python -m tests.faults --minutes 10

lint: .venv/linted     ## Check style, types and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/write_sync.py --check
	$(BIN)/python tools/write_docs.py --check
	$(BIN)/lint-imports --no-cache

check: lint test

bench: .venv/benched   ## Measure speed; prints a table and writes benchmarks/results/.
	@command -v wrk >/dev/null || { echo "make bench needs wrk: apt-get install wrk"; exit 1; }
	$(BIN)/python -m benchmarks

bench-redis: .venv/benched   ## Measure the engine on Redis beside bare Redis and other libraries.
	@command -v wrk >/dev/null || { echo "make bench-redis needs wrk: apt-get install wrk"; exit 1; }
	$(BIN)/python -m benchmarks.redis_engine

bench-postgres: .venv/benched   ## Measure the ledger in PostgreSQL, with the engine on Redis, beside bare asyncpg; and a rebuild.
	@command -v wrk >/dev/null || { echo "make bench-postgres needs wrk: apt-get install wrk"; exit 1; }
	$(BIN)/python -m benchmarks.postgres_ledger

bench-close: .venv/benched .venv/tested   ## Measure how long clients wait while a window of a million players is closed, and archives beside bare inserts.
	$(BIN)/python -m benchmarks.closing

bench-edge: .venv/benched   ## Measure the HTTP layer beside raw ASGI and Starlette, on one constant answer; and what the metrics cost.
	@command -v wrk >/dev/null || { echo "make bench-edge needs wrk: apt-get install wrk"; exit 1; }
	$(BIN)/python -m benchmarks.edge

bench-access: .venv/benched   ## Measure what a key, limits and rules cost, on single writes and rank reads.
	@command -v wrk >/dev/null || { echo "make bench-access needs wrk: apt-get install wrk"; exit 1; }
	$(BIN)/python -m benchmarks.access

bench-audit: .venv/benched .venv/tested   ## Measure how long the chain of an audit of a million entries takes to verify.
	$(BIN)/python -m benchmarks.audit

bench-waits: .venv/benched   ## Measure how long others wait at most while a batch, an import or the keeper is at work.
	$(BIN)/python -m benchmarks.waits

bench-matches: .venv/benched   ## Measure matches beside single writes.
	@command -v wrk >/dev/null || { echo "make bench-matches needs wrk: apt-get install wrk"; exit 1; }
	$(BIN)/python -m benchmarks.matches

bench-live: .venv/benched   ## Measure live subscribers of one board while scores arrive: delays, memory, and what writers keep.
	$(BIN)/python -m benchmarks.live

bench-voids: .venv/benched   ## Measure a void of 10,000 events on a board with a million players on Redis, and how long others wait.
	$(BIN)/python -m benchmarks.voids

bench-people: .venv/benched   ## Measure what names cost a page, what a segment from the profile costs a write, and ranks among friends.
	$(BIN)/python -m benchmarks.people

sync: .venv/linted     ## Generate the blocking library and client from the async ones.
	$(BIN)/python tools/write_sync.py

docs: .venv/linted     ## Write the tables of board fields in docs/configuration.md from the source.
	$(BIN)/python tools/write_docs.py

format: .venv/linted
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv data benchmarks/results benchmarks/.others .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Keepscore needs Python 3.11 or newer: make PYTHON=python3.12 …" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[all]'
	@touch $@

.venv/tested: .venv/installed
	$(PIP) --editable '.[test]'
	@touch $@

.venv/linted: .venv/installed
	$(PIP) --editable '.[lint]'
	@touch $@

.venv/benched: .venv/installed
	$(PIP) --editable '.[bench]'
	@touch $@
