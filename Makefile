# The verbs of the project: the same at the desk and in CI. `make` lists them.
# Every verb sets up what it needs: an environment under .venv (or .build) that holds exactly what requirements/ pins.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
WORKERS ?= 3
wheel: WORKERS = 2 # for CI runs it beside `lowest`
# `make test ARGS="tests/model -k tree"` passes words on to pytest.
ARGS ?=
FUZZ_S ?= 60
export WORKERS ARGS
PYTEST := $(BIN)/python -m pytest
COG_FILES := README.md $(wildcard docs/*.md docs/*/*.md)

.PHONY: help setup demo test lint fix snap bench bench-grounding instructions fuzz fuzzserve chaos docs coverage wheel lowest collector e2e check nightly nightly-list record lock clean

help: ## list the verbs
	@grep -hE '^[a-z0-9]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9]+):.*## /make \1\t/' | expand -t 16

setup: ## make the environment .venv (every verb does this first)
	@scripts/venv .venv requirements/dev.txt

demo: setup ## run a small real agent, show its tree and its scores (no key, no network)
	@$(BIN)/spanwise demo

test: setup ## run the tests (ARGS="tests/model -k tree" for some of them)
	@$(PYTEST) -n $(WORKERS) --dist worksteal $(ARGS)

lint: setup ## check format, lint, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-cache & imports=$$!; $(BIN)/pyright && wait $$imports

fix: setup ## format, and repair what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python -m cogapp -r -I scripts $(COG_FILES)

snap: setup ## accept new snapshots and show what changed
	@$(PYTEST) -p no:xdist --inline-snapshot=create,fix $(ARGS) || true
	@git diff --stat -- tests && git diff -- tests

bench: setup ## measure speed and memory, as ratios within one run
	@$(BIN)/python -m bench $(ARGS)

bench-grounding: setup ## measure grounding: how right it is, what each feature is worth, how fast it reads
	@$(BIN)/python -m bench grounding $(ARGS)

instructions: setup ## count the instructions of capture and scoring, against the kept counts (ARGS=--record keeps new ones)
	@scripts/valgrind
	@$(BIN)/python -m bench.instructions $(ARGS)

fuzz: setup ## run the property tests long (FUZZ_EXAMPLES=5000 each)
	@HYPOTHESIS_PROFILE=fuzz $(PYTEST) -n $(WORKERS) -m hypothesis --timeout 3600 $(ARGS)

fuzzserve: setup ## send damaged requests to both receivers of the service (FUZZ_S=60 seconds)
	@$(BIN)/python scripts/fuzz_service.py $(FUZZ_S) 1

chaos: setup ## send scores to a stand-in of Langfuse that fails in every way, and count what arrived (two minutes)
	@$(BIN)/python -m tests.sinks.langfuse_chaos $(ARGS)

docs: setup ## check the documentation: generated parts, code blocks, links, every built-in described
	@$(PYTEST) tests/meta/test_docs.py tests/meta/test_plugins.py tests/meta/test_verbs.py

coverage: setup ## measure branch coverage of the core, model to run (the bar is 100 %)
	@scripts/coverage

wheel: setup ## build the wheel and run the tests on it, without extras and without its compiled part
	@scripts/installed wheel requirements/base-test.txt '' pure

lowest: setup ## run the tests on the wheel with the lowest versions that pyproject.toml allows
	@scripts/installed lowest requirements/lowest.txt cli,cost

collector: ## build the OpenTelemetry Collector of collector/manifest.yaml with Go (minutes, once), and say where it is
	@scripts/collector

e2e: setup ## install the wheel elsewhere, use it on the recordings, and as scorers behind a real Collector
	@scripts/e2e

check: ## everything that CI runs
	@.ci/run

record: setup ## record the corpus of spans again, each framework in an environment of its own
	@$(BIN)/python scripts/record/record.py --out .build/recordings $(ARGS)

nightly: nightly-lowest nightly-receivers nightly-newest nightly-fuzz nightly-leaks nightly-service nightly-peers ## what is too long for every change

nightly-list:
	@grep -hE '^nightly-[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

nightly-lowest: ## the tests with the lowest versions, those with them that need no second run at each change
	@MARKED="once or not once" $(MAKE) lowest

nightly-receivers: ## the service's tests with the lowest grpcio and uvicorn
	@scripts/lowest-serve

nightly-newest: ## the tests with the newest versions there are, unpinned
	@scripts/newest

nightly-fuzz: setup ## the property tests, 5000 examples each (half an hour)
	@FUZZ_EXAMPLES=5000 $(MAKE) fuzz

nightly-leaks: setup ## memory after many rounds over the corpus, and after a million traces of a live app
	@$(BIN)/python scripts/leaks.py
	@$(BIN)/python scripts/leaks_live.py

nightly-service: setup ## the service behind a real Collector, the backend away for a minute; damaged requests for ten minutes
	@FUZZ_S=600 $(MAKE) fuzzserve
	@SPANWISE_AWAY_S=60 $(PYTEST) -s tests/service/test_collector_config.py tests/service/test_collector_scorers.py

nightly-peers: setup ## the benchmark with all its rounds, against the peers
	@$(BIN)/python -m bench --full

lock: setup ## compile requirements/ again, to the newest versions allowed
	@scripts/lock

clean: ## remove environments, caches and what was built
	@rm -rf .venv .build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
