# What the README, CI and people call. Every target sets up .venv, after which .venv/bin/farloop is the command.
#
#   make demo    build, run eight algorithms through one bottleneck, print the table, name the report
#   make test    build, run every test of the Rust crates and of the Python package (its parts: test-rust, test-python, test-site, test-live)
#   make test FAST=1  within a minute or three: the tests that are closest to the files changed since the last commit (SINCE=main: since another)
#   make accept  write what tests compare with (digests, snapshots, tables of pages), for a change that moves it
#   make test-dataframes  the tests that read and write tables, with pandas and polars installed
#   make statements  repeat the commands that show why a paper's statement fails (those below ten seconds; docs/findings/statements.md)
#   make validate  the simulator beside ns-3, htsim, Linux and theory (docs/validation.md)
#   make lint    formatting, clippy, rustdoc, ruff, mypy, spelling, prose
#   make site    the documentation as a site in out/site (FIGURES=out/papers: with the pictures of a reproduction)
#   make man     manual pages of all commands in out/man (MANPATH=out/man: man farloop-run)
#   make test-web  open the playground in Chromium (docs/playground.md)
#   make web     the playground, a page with the simulator in WebAssembly, as out/web/playground.html (docs/playground.md; needs what scripts/web-tools.sh says)
#   make wheels  wheels and a source distribution in dist/, tried where the repository is not (docs/install.md)
#   make bench   speed of the simulator, in packet-hops per second
#   make guard   instructions per packet-hop, held to baselines (needs valgrind; TOLERANCE=1 for one percent; `make guard-accept` stores new ones)
#   make mutants mutation tests of algorithms, TCP and switches (hours; MUTANTS='-f dctcp.rs' for a part)
#   make fuzz    random scenarios, many more than the tests have (FUZZ_CASES=2000 FUZZ_SEED=1), also in the module
#   make fuzz-importers  ten minutes of bytes for what reads the files of other programs (needs a C++ compiler); FUZZ_SECONDS=600, and part of make fuzz
#   make fuzz-kernel  ten minutes of random events and bytes for what runs in the kernel or reads its bytes (needs clang with libFuzzer); FUZZ_SECONDS=600
#   make kernel  compile the programs for the Linux kernel (docs/kernel.md; needs clang and libbpf's headers, and nothing else here needs them)
#   make deny    licences, sources and known flaws of the Rust dependencies (needs cargo-deny)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
PIP := $(CURDIR)/$(VENV)/bin/python -m pip --disable-pip-version-check --quiet
FARLOOP := $(VENV)/bin/farloop

# What tests and timings are made of is no part of the module.
NATIVE_SOURCES := $(shell find crates \( -name tests -o -name fuzz -o -name benches \) -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print) Cargo.toml Cargo.lock pyproject.toml

# An algorithm outside of the workspace: it builds against what the crates make public, and shares their build directory.
PLUGIN := --manifest-path examples/plugin-algorithm/Cargo.toml
PLUGIN_CARGO := CARGO_TARGET_DIR=$(CURDIR)/target cargo

# The crates with tests: one set, so that no command compiles what they share with other features. Tests of the module are in Python.
TESTED := --workspace --exclude farloop-py --exclude farloop-benches

.PHONY: help demo test test-module test-rust test-python test-site test-live accept test-dataframes statements validate lint lint-rust lint-python lint-types lint-text site man web test-web wheels bench guard guard-program guard-accept faults mutants fuzz fuzz-scenarios fuzz-importers importers-program fuzz-kernel kernel deny build environment environment-web clean prerequisites

help:
	@sed -n 's/^#   //p' Makefile

man: build
	@$(VENV)/bin/python scripts/man_pages.py out/man

demo: build
	@if command -v $(CLANG) > /dev/null && [ -e /usr/include/bpf/bpf_helpers.h ]; then $(MAKE) -s kernel; fi
	@$(VENV)/bin/python scripts/demo.py

# The module that ships, if it is up to date (.ci/run builds it first); else a build that takes a third of the time and runs nearly as fast.
TEST_PROFILE = $(shell test -e $(VENV)/.native-release && test -z "$$(find $(NATIVE_SOURCES) -newer $(VENV)/.native-release -print -quit)" && echo release || echo quick)
WORKERS ?= auto
SINCE ?= HEAD
# Seconds of each case, from which FAST=1 chooses.
TIMES := target/pytest.xml
ifdef FAST
test: $(VENV)/.dev
	@$(VENV)/bin/python scripts/fast_tests.py --since $(SINCE) --times $(TIMES) --workers $(WORKERS)
else
test:
	@for part in test-rust test-python test-site test-live; do \
		begin=$$SECONDS; $(MAKE) --no-print-directory $$part; echo "make $$part took $$((SECONDS - begin)) s"; done
endif

test-module:
	@$(MAKE) --no-print-directory build PROFILE=$(TEST_PROFILE)

test-rust:
	cargo test $(TESTED)
	$(PLUGIN_CARGO) test $(PLUGIN)

test-python: test-module $(VENV)/.dev
	@mkdir -p $(dir $(TIMES))
	$(VENV)/bin/python -m pytest -m "not live and not record and not browser and not site" -n $(WORKERS) --dist loadfile --junitxml=$(TIMES)

# What a reader of the documentation runs: the tour, the notebooks, the demo, the packages.
test-site: test-module $(VENV)/.dev
	$(VENV)/bin/python -m pytest -m site -n $(WORKERS) --dist loadfile

# Tests of the live kernel come by themselves: real packets wait for real processors. Their last line says how many ran, and why others did not
# (scripts/live-tools.sh installs what they need; FARLOOP_LIVE_REQUIRED=1: a missing program fails them).
test-live: test-module $(VENV)/.dev
	$(VENV)/bin/python -m pytest -m live

# Writes what tests compare with: digests, snapshots, tables of pages that are made from the code. `git diff` shows what has changed.
accept: test-module $(VENV)/.dev
	FARLOOP_ACCEPT=1 cargo test $(TESTED) --test suite --test defaults stored
	$(VENV)/bin/python -m farloop.results.fields docs/outputs.md
	$(VENV)/bin/python -m farloop.commands.declarations docs/how-to.md
	$(VENV)/bin/python -m farloop.results.page_measures crates/web/page/measures.json
	$(VENV)/bin/python scripts/tally.py

# Results do not depend on what else is installed. The packages are in a directory of their own, before all others for these tests alone.
DATAFRAMES := $(CURDIR)/$(VENV)/dataframes
test-dataframes: test-module $(VENV)/.dataframes
	FARLOOP_DATAFRAMES=$(DATAFRAMES) PYTHONPATH=$(DATAFRAMES) $(VENV)/bin/python -m pytest -n $(WORKERS) \
		tests/running/test_installed_packages.py::test_packages_that_work_change_nothing tests/results/test_frames.py \
		tests/formats/test_flow_list.py tests/results/test_metrics.py tests/results/test_outputs_page.py tests/sweep/test_study_findings.py \
		tests/sweep/test_sweep.py::test_other_programs_read_the_dataset tests/commands/test_faults.py::test_what_needs_no_tables_does_not_load_them \
		tests/commands/test_faults.py::test_what_python_gives_in_other_forms

# Simulations of the papers' figures, five minutes of processor time: they show what the record says, not whether the code is right.
statements: test-module $(VENV)/.dev
	$(VENV)/bin/python -m pytest -m record -n $(WORKERS) tests/papers

validate: build
	$(FARLOOP) validate --no-report --quiet

lint: lint-rust lint-python

lint-rust:
	cargo fmt --all --check
	cargo fmt --check $(PLUGIN)
	cargo clippy --workspace --all-targets -- -D warnings
	$(PLUGIN_CARGO) clippy --all-targets $(PLUGIN) -- -D warnings
	RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps

# Two halves that take as long as each other, each on a processor of its own.
lint-python: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint-types lint-text

lint-types:
	$(VENV)/bin/mypy

lint-text:
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/typos
	git ls-files '*.md' | xargs $(VENV)/bin/proselint check
	$(VENV)/bin/python scripts/prose.py
	$(VENV)/bin/python scripts/commit_subjects.py
	$(VENV)/bin/shellcheck .ci/run scripts/*.sh

# scripts/build_site.py says what it is made of. A link that leads nowhere fails it.
FIGURES ?=
site: build $(VENV)/.site
	@scripts/web-cargo.sh --version > /dev/null && $(MAKE) --no-print-directory web || echo "site: without the playground"
	@$(VENV)/bin/python scripts/build_site.py $(FIGURES)

# The module and the page around it. scripts/web-cargo.sh finds the standard library of its target, or says in one line what is missing.
WEB_MODULE := target/wasm32-unknown-unknown/web/farloop_web.wasm
web: $(WEB_MODULE) $(VENV)/.runtime
	@$(VENV)/bin/python scripts/build_playground.py $<

$(WEB_MODULE): $(NATIVE_SOURCES)
	@scripts/web-cargo.sh rustc -p farloop-web --lib --profile web --target wasm32-unknown-unknown --crate-type cdylib
	@touch $@

# FARLOOP_WEB_REQUIRED=1: what is missing fails it (.ci/run); else tests that lack something are skipped, and say what.
test-web: build $(VENV)/.web
	@$(MAKE) --no-print-directory web || { test -z "$$FARLOOP_WEB_REQUIRED"; }
	@rm -f out/web/measured.txt
	$(VENV)/bin/python -m pytest -m browser -rs -n $(WORKERS) --dist worksteal tests/web

# Neither what is built here nor what is installed gets into a package. Options of the script: WHEELS='--only x86_64 --quick'.
WHEELS ?=
wheels: $(VENV)/.packages
	@$(VENV)/bin/python scripts/build_packages.py $(WHEELS)

bench: build
	@$(FARLOOP) bench

# scripts/guard.py says what is counted, and why it may skip.
TOLERANCE ?= 3
GUARD_PROFILE ?= release
guard:
	@$(PYTHON) scripts/guard.py --tolerance $(TOLERANCE) --profile $(GUARD_PROFILE)

guard-program:
	@$(PYTHON) scripts/guard.py --build --profile $(GUARD_PROFILE)

# The message of the commit that stores new baselines says what the cost is paid for.
guard-accept:
	@$(PYTHON) scripts/guard.py --accept
	@$(PYTHON) scripts/guard.py --accept --profile quick

FAULTS ?=
faults: test-module $(VENV)/.dev
	nice $(VENV)/bin/python scripts/python_faults.py $(FAULTS)

# Not part of CI: docs/mutation-testing.md. The algorithms, TCP, and where the network decides about packets.
MUTANTS_VERSION := 27.1.0
MUTANTS ?= -f 'crates/cc/src/**' -f 'crates/tcp/src/**' -f 'crates/net/src/switch/**' -f 'crates/net/src/port/**'
mutants:
	@cargo mutants --version >/dev/null 2>&1 || { echo "farloop's mutation tests need cargo-mutants; install it with: cargo install cargo-mutants --locked --version $(MUTANTS_VERSION)" >&2; exit 1; }
	nice env FARLOOP_CASES=full cargo mutants $(MUTANTS)

# With overflow checks and assertions (as tests have them); then the module that Python imports must give the same without them. Then cut into
# parts: the same again. A failure prints the seed that repeats it.
FUZZ_CASES ?= 2000
FUZZ_SEED ?= 1
FUZZ_DIGESTS := $(CURDIR)/target/fuzz-digests
FUZZ := FARLOOP_FUZZ_CASES=$(FUZZ_CASES) FARLOOP_FUZZ_SEED=$(FUZZ_SEED) cargo test $(TESTED)
fuzz: fuzz-scenarios fuzz-importers

fuzz-scenarios: test-module
	rm -rf $(FUZZ_DIGESTS) && mkdir -p $(FUZZ_DIGESTS)
	FARLOOP_FUZZ_DIGESTS=$(FUZZ_DIGESTS) $(FUZZ) --test fuzz -- --nocapture
	$(VENV)/bin/python scripts/fuzz_scenarios.py $(FUZZ_DIGESTS)
	$(FUZZ) --test threads random -- --nocapture

# Readers of other programs' files. libFuzzer sees the coverage of the Rust ones, which the stable compiler counts; the sanitizers of nightly
# ones are not needed where nothing is unsafe.
FUZZ_IMPORTERS := target/fuzz-importers
SANCOV := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1
RUST_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
importers-program:
	RUSTFLAGS="$(SANCOV)" cargo build --release --locked --manifest-path crates/job/fuzz/Cargo.toml --target-dir $(FUZZ_IMPORTERS) --target $(RUST_HOST)

fuzz-importers: test-module importers-program
	$(VENV)/bin/python scripts/fuzz_importers.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) \
		--program $(FUZZ_IMPORTERS)/$(RUST_HOST)/release/importers

# Compiled once for all kernels (CO-RE); wheels that are built afterwards bring the objects. Debugging information is not needed, types (.BTF) are.
CLANG ?= clang
LLVM_STRIP ?= $(shell command -v llvm-strip || ls /usr/lib/llvm-*/bin/llvm-strip 2>/dev/null | tail -n 1)
# What runs for each ACK in one piece, rare cases behind it (docs/kernel.md, Time per ACK): from clang 14 on.
LAYOUT = $(shell $(CLANG) -mllvm -enable-ext-tsp-block-placement=true -x c -c /dev/null -o /dev/null 2> /dev/null && echo -mllvm -enable-ext-tsp-block-placement=true)
KERNEL_OBJECTS := python/farloop/kernel/objects
KERNEL_PROGRAMS := gemini cubic dctcp vegas flows switch gear options rows rollout
vpath %.bpf.c linux linux/testbed $(KERNEL_PROGRAMS:%=linux/%)
kernel: $(KERNEL_PROGRAMS:%=$(KERNEL_OBJECTS)/%.bpf.o)

$(KERNEL_OBJECTS)/%.bpf.o: %.bpf.c $(wildcard linux/*.h linux/*/*.h)
	@command -v $(CLANG) > /dev/null || { echo "$(CLANG) is missing: install clang, and libbpf's headers (libbpf-dev)" >&2; exit 1; }
	@mkdir -p $(@D)
	$(CLANG) -target bpf -mcpu=v3 -O2 $(LAYOUT) -g -Wall -Wextra -Werror -Wno-unused-parameter -ffile-prefix-map=$(CURDIR)=. -c $< -o $@
	$(if $(LLVM_STRIP),$(LLVM_STRIP) -g $@)

# The cores in C under libFuzzer, what is found beside the corpus that is kept; then GEMINI's cores against each other, and the readers of rows and records.
FUZZ_SECONDS ?= 600
FUZZ_KERNEL := target/fuzz-kernel
FUZZ_SANITIZERS := fuzzer,address,undefined,unsigned-integer-overflow
fuzz-kernel: test-module
	mkdir -p $(FUZZ_KERNEL)/found
	$(CLANG) -g -O1 -fsanitize=$(FUZZ_SANITIZERS) -fno-sanitize-recover=all -fsanitize-ignorelist=linux/fuzz/wraps.txt -o $(FUZZ_KERNEL)/fuzz linux/fuzz/fuzz.c
	$(FUZZ_KERNEL)/fuzz -max_total_time=$(FUZZ_SECONDS) -len_control=0 -max_len=2048 -artifact_prefix=$(FUZZ_KERNEL)/ $(FUZZ_KERNEL)/found linux/fuzz/corpus
	$(VENV)/bin/python scripts/fuzz_kernel.py --seconds $$(($(FUZZ_SECONDS) / 5)) --seed $(FUZZ_SEED) --cargo

deny:
	@command -v cargo-deny > /dev/null || { echo "cargo-deny is missing: install it with 'cargo install --locked cargo-deny'" >&2; exit 1; }
	cargo deny --all-features check

# The module stands in the package; each profile keeps a copy of its own, so that no target builds again what another has built.
PROFILE ?= release
MODULE := python/farloop/_native.abi3.so
BUILT = target/module/$(PROFILE)/_native.abi3.so
build: $(VENV)/.native-$(PROFILE)
	@cmp -s $(BUILT) $(MODULE) || { rm -f $(MODULE) && cp $(BUILT) $(MODULE); }

clean:
	cargo clean
	rm -rf $(VENV) out dist

prerequisites:
	@PYTHON=$(PYTHON) scripts/check-prerequisites.sh

$(VENV)/bin/python: | prerequisites
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements/runtime.txt requirements/build.txt | $(VENV)/bin/python
	@echo "installing Python packages into $(VENV)"
	$(PIP) install --require-hashes -r requirements/runtime.txt -r requirements/build.txt
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

# All that is installed for these tests: pip writes into the environment once, not beside another pip.
environment: $(VENV)/.dev
environment-web: $(VENV)/.dev $(VENV)/.site $(VENV)/.web

$(VENV)/.dataframes: requirements/dataframes.txt $(VENV)/.dev
	rm -rf $(DATAFRAMES)
	$(PIP) install --require-hashes --no-deps --target $(DATAFRAMES) -r requirements/dataframes.txt
	@touch $@

$(VENV)/.site: requirements/site.txt $(VENV)/.runtime
	$(PIP) install --require-hashes -r requirements/site.txt
	@touch $@

# axe-core, which looks for what keeps people from using a page, comes from npm; without npm its tests are skipped.
$(VENV)/.web: requirements/web.txt tests/web/package-lock.json $(VENV)/.dev
	$(PIP) install --require-hashes -r requirements/web.txt
	if command -v npm > /dev/null; then cd tests/web && npm ci --ignore-scripts --no-audit --no-fund; fi
	@touch $@

$(VENV)/.packages: requirements/packages.txt $(VENV)/.runtime
	$(PIP) install --require-hashes -r requirements/packages.txt
	@touch $@

# An editable install: changes of Python files count at once, changes of Rust files when make runs again.
$(VENV)/.native-$(PROFILE): $(NATIVE_SOURCES) $(VENV)/.runtime | prerequisites
	@echo "building the simulator (profile $(PROFILE); a few minutes the first time)"
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" MATURIN_PEP517_ARGS="--profile $(PROFILE)" $(PIP) install --no-build-isolation --no-deps --editable .
	@mkdir -p $(dir $(BUILT)) && cp $(MODULE) $(BUILT)
	@touch $@
