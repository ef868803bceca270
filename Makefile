# What the README, CI and people call. Every target sets up .venv, after which .venv/bin/farloop is the command.
#
#   make demo    build, run seven algorithms through one bottleneck, print the table, name the report
#   make test    build, run every test of the Rust crates and of the Python package
#   make lint    formatting, clippy, ruff, mypy
#   make bench   speed of the simulator, in packet-hops per second
#   make mutants mutation tests of algorithms, TCP and switches (hours; MUTANTS='-f dctcp.rs' for a part)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
PIP := $(CURDIR)/$(VENV)/bin/python -m pip --disable-pip-version-check --quiet
FARLOOP := $(VENV)/bin/farloop

DEMO_ALGORITHMS := gear,hpcc,dctcp,gemini,timely,dcqcn,annulus
NATIVE_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml

.PHONY: help demo test lint bench mutants build clean prerequisites

help:
	@sed -n 's/^#   //p' Makefile

demo: build
	@$(FARLOOP) compare papers/gear/fig09.toml --algorithms $(DEMO_ALGORITHMS) --out out/demo

test: build $(VENV)/.dev
	cargo test --workspace --exclude farloop-py
	$(VENV)/bin/python -m pytest

lint: build $(VENV)/.dev
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

bench: build
	@$(FARLOOP) bench

# Not part of CI: docs/mutation-testing.md. The algorithms, TCP, and where the network decides about packets.
MUTANTS_VERSION := 27.1.0
MUTANTS ?= -f 'crates/cc/src/**' -f 'crates/tcp/src/**' -f crates/net/src/switch.rs -f crates/net/src/port.rs
mutants:
	@cargo mutants --version >/dev/null 2>&1 || { echo "farloop's mutation tests need cargo-mutants; install it with: cargo install cargo-mutants --locked --version $(MUTANTS_VERSION)" >&2; exit 1; }
	nice cargo mutants $(MUTANTS)

build: $(VENV)/.native

clean:
	cargo clean
	rm -rf $(VENV) out

prerequisites:
	@PYTHON=$(PYTHON) scripts/check-prerequisites.sh

$(VENV)/bin/python: | prerequisites
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements/runtime.txt requirements/build.txt | $(VENV)/bin/python
	@echo "installing Python packages into $(VENV)"
	$(PIP) install -r requirements/runtime.txt -r requirements/build.txt
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	$(PIP) install -r requirements/dev.txt
	@touch $@

# An editable install: changes of Python files count at once, changes of Rust files when make runs again.
$(VENV)/.native: $(NATIVE_SOURCES) $(VENV)/.runtime | prerequisites
	@echo "building the simulator (a few minutes the first time)"
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@
