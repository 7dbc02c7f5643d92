# Everything runs in .venv, made on first use. `make help` lists the targets.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)
ARGS ?=

VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
PARALLEL := -n auto --dist loadfile
PIP := PIP_CONSTRAINT="$(CURDIR)/constraints.txt" PIP_DISABLE_PIP_VERSION_CHECK=1 $(RUN) -m pip install --quiet

.DEFAULT_GOAL := help
.PHONY: setup train test test-all lint types bench play serve board report wheel clean help

setup: $(VENV)/.dev ## make .venv with everything, the tools of development included

train: $(VENV)/.core ## the main job; ARGS="minutes=2 seed=1" overrides settings
	$(BIN)/deltaw train $(ARGS)

test: $(VENV)/.dev ## the tests, without the slow ones; ARGS="-k backgammon"
	$(RUN) -m pytest $(PARALLEL) $(ARGS)

test-all: $(VENV)/.dev ## all tests
	$(RUN) -m pytest -m '' $(PARALLEL) $(ARGS)

lint: $(VENV)/.dev ## formatting and lint, changing nothing
	$(RUN) -m ruff format --check
	$(RUN) -m ruff check

types: $(VENV)/.dev build/types ## static types
	$(RUN) -m mypy

bench: $(VENV)/.core ## speed and strength on this machine
	$(RUN) -m benchmarks.run $(ARGS)

play: $(VENV)/.core ## play backgammon against the shipped evaluator
	$(BIN)/deltaw play $(or $(ARGS),backgammon)

serve: $(VENV)/.core ## the web board on this machine; ARGS="connect_four othello"
	$(BIN)/deltaw serve $(ARGS)

board: $(VENV)/.core ## TensorBoard on the runs in outputs/; ARGS="--port 6007"
	@echo "strength with its interval: http://localhost:6006/#custom_scalars"
	$(BIN)/tensorboard --logdir outputs $(ARGS)

report: $(VENV)/.core ## a run as one HTML page; ARGS=outputs/backgammon/RUN
	$(BIN)/deltaw report $(ARGS)

wheel: $(VENV)/.dev ## dist/*.whl
	$(RUN) -m build --wheel

clean: ## delete .venv and what was built; outputs/ stays
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "make %-9s %s\n", $$1, $$2 }'

# --- the environment -------------------------------------------------------------------------------------

build/types: # mypy finds packages by folders: here deltaw/envs is a link to envs, and so on
	@mkdir -p $@/deltaw
	@ln -sf $(CURDIR)/deltaw/*.py $(CURDIR)/deltaw/py.typed $@/deltaw/
	@for folder in envs search learn conf checkpoints; do ln -sfn $(CURDIR)/$$folder $@/deltaw/$$folder; done

RANGE := import sys; v = sys.version_info[:2]; \
	sys.exit(0 if (3, 11) <= v <= (3, 13) else "error: Python 3.11 to 3.13 is needed; this one is %d.%d" % v)

$(VENV)/.torch: constraints.txt
	@test -n "$(PYTHON)" || \
		{ echo "error: no Python 3.11, 3.12 or 3.13 found; name one: make PYTHON=/path/to/python3.12" >&2; exit 2; }
	@test -x $(RUN) || { $(PYTHON) -c '$(RANGE)' && echo "making $(VENV) with $(PYTHON) ..." && \
		{ $(PYTHON) -m venv "$(VENV)" || { rm -rf "$(VENV)"; exit 2; }; }; }
	@$(RUN) -c '$(RANGE)'
	@$(RUN) -m pip freeze | grep -E '^torch==$(TORCH)(\+|$$)' > /dev/null || { \
		echo "installing torch $(TORCH), the CPU build (200 MB) from $(TORCH_INDEX) ..."; \
		$(PIP) -qq --no-deps --extra-index-url $(TORCH_INDEX) --timeout 15 --retries 1 'torch==$(TORCH)+cpu'; } || { \
		echo "No CPU build found there: taking PyPI's build, which on Linux brings 2-3 GB of CUDA. To avoid that, stop now" \
			"and run: make TORCH_INDEX=<an index with torch $(TORCH)+cpu>"; \
		$(PIP) 'torch==$(TORCH)'; }
	@touch $@

$(VENV)/.core: $(VENV)/.torch pyproject.toml
	@echo "installing deltaw ..."
	@$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "installing the tools of development ..."
	@$(PIP) -e '.[dev]'
	@touch $@
