# From a fresh clone, with Python 3.11+, a C compiler, Java 17+ and Maven at hand:
#
#   make demo     read real captures, messages, segments and snapshots of samples/, and make a report of them
#   make test     everything: linters, types, import order, tests, real Kafka (fetched through Maven by name)
#
# The network is used for pip and mvn only, and only for what is not there yet.

PYTHON ?= python3
comma := ,
VENV := .venv
BIN := $(VENV)/bin
CORES := $(shell getconf _NPROCESSORS_ONLN)
# Tests wait a good part of their time, for brokers and for what they start.
WORKERS ?= $(shell echo $$(($(CORES) < 5 ? $(CORES) + 2 : 6)))
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# What has been compiled before is not compiled again: of Python, as tests start kcli hundreds of times, and pytest reads
# each of their files in several processes; and, be it in another folder, of the core: from Cython into C, and from there
# where ccache is installed.
export PYTHONDONTWRITEBYTECODE :=
export CYTHON_CACHE_DIR ?= $(CURDIR)/build/cython
ifeq ($(origin CC)$(shell command -v ccache > /dev/null && echo +),default+)
export CC := ccache gcc
export CCACHE_NOHASHDIR := 1
endif
CORE := setup.py $(foreach kind,pyx pxd pxi h,$(wildcard kcli/core/*/*.$(kind)))

.PHONY: help demo test check suite unit real bench fuzz sanitized soak churn quorums layouts man tables metrics docs sbom hashes dist format clean
.DEFAULT_GOAL := help

help:  ## This list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(VENV)/built $(foreach extra,broker payloads report spark sql tls,$(VENV)/extra-$(extra))  ## Run the tour (docs/tutorial/tour.md) on samples/; it ends with a report, build/demo/report.html
	@$(BIN)/python tools/examples.py show docs/tutorial/tour.md

test: check suite  ## Linters, then every test

suite: $(VENV)/built $(VENV)/extra-dev  ## Every test, real Kafka included, in WORKERS=n processes (two more than cores)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

check: $(VENV)/built $(VENV)/extra-dev  ## Style, types, import order
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(VENV)/built $(VENV)/extra-dev  ## The tests that need neither Java nor Maven
	$(BIN)/python -m pytest -m 'not real'

real: $(VENV)/built $(VENV)/extra-dev  ## The tests against Apache Kafka's own classes and brokers
	$(BIN)/python -m pytest -m real

bench: $(VENV)/built $(VENV)/extra-dev $(VENV)/extra-bench  ## Each bench with its peer beside it, in one run (ONLY=name for some of them; OLD=a wheel or a revision: beside that kcli; CPU=1: processor time)
	$(BIN)/python benchmarks/run.py $(if $(CPU),--cpu) $(if $(OLD),--old $(OLD)) $(ONLY) -- $(ARGS)

fuzz: $(VENV)/built $(VENV)/extra-dev $(if $(SANITIZE),sanitized)  ## Damage real bytes for MINUTES=10 or SECONDS=n (SEED=n; SANITIZE=1: on a core that checks itself)
	$(BIN)/python -m tests.fuzz.$(if $(SANITIZE),sanitized,run) $(if $(SECONDS),$(SECONDS)s,$(or $(MINUTES),10)) $(SEED)

sanitized: $(VENV)/built
	$(BIN)/python -c 'from tests.fuzz.sanitized import build; build()'

soak: $(VENV)/built $(VENV)/extra-dev  ## 50,000 histories of fetch sessions; every option of every command on ever other damage, MINUTES=10 (SEED=n)
	KCLI_HISTORIES=50000 $(BIN)/python -m pytest -q tests/sessions/test_histories.py -k without_a_disagreement
	$(BIN)/python -m tests.matrix.run $(or $(MINUTES),10) $(SEED)

churn: $(VENV)/built $(VENV)/extra-dev  ## A real quorum whose nodes are stopped, killed and frozen, and what verify --replay and drift say of it, MINUTES=60 (SEED=n)
	$(BIN)/python -m tests.real.churn $(or $(MINUTES),60) $(or $(SEED),1)

quorums: $(VENV)/built $(VENV)/extra-dev  ## Real quorums in every trouble, and what doctor and Kafka's own tool say of each, as root (RELEASES=4.4.0,3.9.1 NODES=3,5)
	$(BIN)/python -m tests.real.quorums $(or $(RELEASES),4.4.0$(comma)3.9.1) $(or $(NODES),3$(comma)5)

layouts: $(VENV)/built  ## Write the core's table of offsets anew from the grammars
	$(BIN)/python -m tools.layouts

man: $(VENV)/built  ## Write man/ anew from the commands
	$(BIN)/python tools/manpages.py man

tables: $(VENV)/built  ## Write the page of all tables anew from their definitions
	$(BIN)/python -m kcli.sql.reference > docs/reference/tables.md

metrics: $(VENV)/built  ## Write the page of all metrics and the dashboard anew from their definitions
	$(BIN)/python -m kcli.metrics.reference > docs/reference/metrics.md
	$(BIN)/python -m kcli.metrics.dashboard > deploy/grafana-dashboard.json

docs: $(VENV)/built $(foreach extra,docs sql,$(VENV)/extra-$(extra))  ## The site in build/site: docs/, and pages made of the message tables and the rules of diagnose
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/python -m mkdocs build --strict --quiet

sbom: $(VENV)/built $(VENV)/extra-dev $(VENV)/extra-release  ## What kcli stands on, as a CycloneDX file, build/sbom.json
	@mkdir -p build
	$(BIN)/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible --output-file build/sbom.json

# pip takes hashes from requirements (-r), not from constraints (-c), and then of everything: hence a file of its own.
hashes: $(VENV)/extra-release  ## The hashes of all that constraints.txt pins, constraints-hashed.txt
	$(BIN)/uv pip compile constraints.txt --no-deps --generate-hashes --python-version 3.11.9 --quiet \
		--no-header --no-annotate --no-emit-index-url --output-file constraints-hashed.txt

dist: $(VENV)/built $(VENV)/extra-dev  ## A wheel and an sdist in dist/
	$(BIN)/python -m build --no-isolation

format: $(VENV)/extra-dev  ## Put every file into its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove what make has made
	rm -rf $(VENV) build dist kcli/core/*/*.c kcli/core/*/*.so *.egg-info

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kcli needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt setuptools wheel cython
	KCLI_WITHOUT_CORE=1 $(PIP) install -c constraints.txt --no-build-isolation -e .
	@touch $@

$(VENV)/built: $(VENV)/installed $(CORE)
	$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

# What an extra needs, without building kcli again.
$(VENV)/extra-%: $(VENV)/installed
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$*"], sep="\n")' > $@.txt
	$(PIP) install -c constraints.txt -r $@.txt
	@touch $@
