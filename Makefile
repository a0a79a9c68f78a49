# The few commands of this repository. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test soak lint lab lab-down bench

# Where rustup puts cargo, also when the shell was started before it did.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

RUNNER := target/release/runner
SCRIPTS := .ci/run lab/up lab/down lab/cloud lab/host/entrypoint lab/instance/entrypoint lab/instance/poweroff scripts/setup
# OpenSSL goes into the program itself: to load the shared one takes longer than all the rest of a start.
static_openssl = directory=$$(pkg-config --variable=libdir openssl); \
	if [ -e "$$directory/libcrypto.a" ]; then \
	    export OPENSSL_STATIC=1 OPENSSL_LIB_DIR="$$directory"; \
	    OPENSSL_INCLUDE_DIR=$$(pkg-config --variable=includedir openssl); export OPENSSL_INCLUDE_DIR; \
	fi
engine_answers = timeout 20 docker version >/dev/null 2>&1

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: ## set up, build, and run a short experiment on the lab, or on this machine without Docker
	@scripts/setup build
	@echo "demo: building runner (the first time takes minutes)"
	@$(static_openssl); cargo build --release --locked --quiet
	@if $(engine_answers); then \
	    scripts/setup lab; \
	    lab/up; \
	    echo "demo: running experiments/docker-vs-native.yaml on the lab, 2 repetitions instead of 10 and 5"; \
	    arguments="experiments/docker-vs-native.yaml --hosts lab/hosts.yaml --repetitions 2"; \
	else \
	    echo "demo: no Docker Engine answers, so there is no lab: running experiments/quickstart.yaml on this machine alone"; \
	    arguments="experiments/quickstart.yaml"; \
	fi; \
	code=0; \
	report=$$($(RUNNER) run $$arguments --results demo-results) || code=$$?; \
	if [ -n "$$report" ]; then echo "demo: the report is $$report"; fi; \
	exit $$code

test: ## set up, bring up the lab, and run every test; without Docker all but the live ones
	@scripts/setup test
	@tests=all; \
	if $(engine_answers); then \
	    lab/up; \
	    lab/cloud; \
	elif [ "$${CI:-}" = true ]; then \
	    echo "test: error: no Docker Engine answers, and with CI=true no test may be skipped" >&2; \
	    exit 1; \
	else \
	    tests=here; \
	    echo "test: no Docker Engine answers, so there is no lab; these live tests are skipped:"; \
	    cat tests/live/*.rs tests/live/*/*.rs | awk '/^ *#\[(tokio::)?test/ { found = 1 } found && match($$0, /fn [a-z0-9_]+/) { print "  " substr($$0, RSTART + 3, RLENGTH - 3); found = 0 }'; \
	fi; \
	if command -v cargo-nextest >/dev/null; then \
	    echo "test: running them with cargo nextest"; \
	    case $$tests in \
	    all) cargo nextest run --locked ;; \
	    here) cargo nextest run --locked --lib --bins --test it ;; \
	    esac; \
	else \
	    echo "test: cargo-nextest is not installed: running them with cargo test"; \
	    case $$tests in \
	    all) cargo test --locked --lib --bins --tests ;; \
	    here) cargo test --locked --lib --bins --test it ;; \
	    esac; \
	fi

soak: ## run the tests that take minutes: many kills, long runs
	@scripts/setup test
	@lab/up
	@lab/cloud
	@echo "soak: running the ignored live tests"
	@cargo test --locked --test live -- --ignored

lint: ## check format, clippy, and, where installed, cargo-deny and shellcheck
	@echo "lint: cargo fmt --check"
	@cargo fmt --check
	@echo "lint: cargo clippy"
	@cargo clippy --locked --all-targets --quiet -- -D warnings
	@if command -v cargo-deny >/dev/null; then \
	    echo "lint: cargo deny check bans licenses sources"; \
	    cargo deny check bans licenses sources; \
	else \
	    echo "lint: cargo-deny is not installed: dependencies are not checked"; \
	fi
	@if command -v shellcheck >/dev/null; then \
	    echo "lint: shellcheck"; \
	    shellcheck $(SCRIPTS); \
	else \
	    echo "lint: shellcheck is not installed: scripts are not checked"; \
	fi

lab: ## bring up the lab: three boards and a server as containers, reached over SSH, and a cloud of emulators
	@scripts/setup lab cloud
	@lab/up
	@lab/cloud

lab-down: ## remove the lab's machines, network and cloud
	@lab/down

bench: ## run the benchmarks
	@scripts/setup build
	@echo "bench: cargo bench"
	@$(static_openssl); cargo bench --locked
