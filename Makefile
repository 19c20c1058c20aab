.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
DATA ?= data
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check
export TOKENIZERS_PARALLELISM := false
export HF_HUB_OFFLINE := 1

.PHONY: help demo test test-all lint format train-verifier bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ArbGraph needs Python 3.11 or newer; run: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# torch comes first and pinned: left to the resolver, another build may be taken.
$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -q "$$(grep '^torch==' constraints.txt)"
	$(PIP) install -q -c constraints.txt -e '.[offline]'
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) install -q -c constraints.txt -e '.[offline,llm,train,eval,onnx,bench,dev]'
	@touch $@

demo: $(VENV)/.core ## install and arbitrate the shipped example
	@$(BIN)/arbgraph arbitrate examples/east_asia_summit.json

test: lint ## everything that CI runs: lint, types and the default tests
	$(BIN)/pytest

test-all: lint ## the default tests and the slow ones
	$(BIN)/pytest -m "not gpu"

lint: $(VENV)/.dev ## ruff and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --level error

format: $(VENV)/.dev ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

train-verifier: $(VENV)/.dev ## train the relation verifier with the shipped recipe (DATA=folder)
	$(BIN)/python -m train.data.conflicts --config configs/train/conflicts/default.yaml --data $(DATA) --out $(DATA)/conflicts
	$(BIN)/python -m train.data.neighbours --documents $(DATA)/multihop_train/hotpotqa.jsonl.gz --pairs 6000 --out $(DATA)/conflicts/neighbours.jsonl.gz
	$(BIN)/python -m train.verifier fit --config configs/train/verifier/minilm_conflicts.yaml --data.root $(DATA) --model.output outputs/verifier-minilm-conflicts
	$(BIN)/python -m train.verifier fit --config configs/train/verifier/minilm_general.yaml --data.root $(DATA)

bench: $(VENV)/.dev ## speed and memory against named peers
	$(BIN)/python -m benchmarks.pair_mining
	$(BIN)/python -m benchmarks.propagation
	$(BIN)/python -m benchmarks.verifier
	$(BIN)/python -m benchmarks.chat
	$(BIN)/python -m benchmarks.injections

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
