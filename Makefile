# What people call. Everything that is slow to make is kept outside of the clone, in $(CACHE).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ostler
# Builds are shared between clones: the dependencies are compiled once on a machine.
export CARGO_TARGET_DIR ?= $(CACHE)/target
RAY := $(CACHE)/ray-2.60.0
step = @printf '\n==> %s\n' "$(1)"

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: ray-env ## A real Ray cluster that grows and shrinks, in about two minutes
	$(call step,building ostler (some minutes the first time))
	cargo build --release --package ostler-cli
	$(call step,the demo)
	$(RAY)/bin/python tools/demo/ray.py $(CARGO_TARGET_DIR)/release/ostler

demo-polars: ## A Polars cluster that goes from 0 to 8, 3 and 0 workers, in half a minute
	$(call step,building ostler (some minutes the first time))
	cargo build --release --package ostler-cli
	$(call step,the demo)
	python3 tools/polars/demo.py $(CARGO_TARGET_DIR)/release/ostler

demo-kubernetes: kube-lab ## A real Kubernetes control plane that gets its nodes, in about a minute
	$(call step,building ostler (some minutes the first time))
	cargo build --release --package ostler-cli
	cargo build --release --package ostler-e2e --example kubernetes_demo
	$(call step,the demo)
	$(CARGO_TARGET_DIR)/release/examples/kubernetes_demo $(CARGO_TARGET_DIR)/release/ostler

test: lint test-rust test-ray test-polars test-kubernetes ## Everything, as CI does it

lint: ## Format and lints
	$(call step,format)
	cargo fmt --all --check
	$(call step,lints)
	cargo clippy --workspace --all-targets -- -D warnings

test-rust: ## All tests that need no other system
	$(call step,tests of the pure core and the rim)
	cargo test --workspace --no-fail-fast --exclude ostler-e2e --exclude ostler-workload-ray \
		--exclude ostler-provider-kwok --exclude ostler-workload-kubernetes

test-ray: ray-env ## Tests with real Ray clusters
	$(call step,the client of Ray against real Rays)
	cargo test --package ostler-workload-ray
	$(call step,Ostler in front of real Rays and schedulers)
	cargo build --package ostler-cli
	OSTLER_BIN=$(CARGO_TARGET_DIR)/debug/ostler cargo test --package ostler-e2e --test e2e --test polars

test-kubernetes: kube-lab helm ## Tests with a real Kubernetes control plane
	$(call step,the control plane and simulated nodes)
	cargo test --package ostler-testkit --features kube --test kube
	cargo test --package ostler-provider-kwok --package ostler-workload-kubernetes
	$(call step,Ostler in front of a real Kubernetes control plane)
	cargo build --package ostler-cli
	OSTLER_BIN=$(CARGO_TARGET_DIR)/debug/ostler cargo test --package ostler-e2e --test kubernetes
	$(call step,the chart)
	cargo test --package xtask --test deploy
	$(call step,100 random worlds in front of the real scheduler)
	cargo test --package ostler-e2e --test worlds -- --nocapture

test-polars: polars-env ## The scaling service of Polars: a client of another language, a fuzzer
	cargo build --package ostler-cli
	$(call step,clients of another language)
	$(CACHE)/polars-env/bin/python tools/polars/test.py $(CARGO_TARGET_DIR)/debug/ostler

polars-env: ## The Python environment with gRPC tools and an HTTP fuzzer, outside of the clone
	tools/polars/make-env.sh

kube-lab: ## A Kubernetes control plane for the tests, outside of the clone (10 minutes the first time)
	$(call step,Kubernetes)
	tools/kube-lab/build.sh

helm: ## Helm for the test of the chart, outside of the clone (a minute the first time)
	$(call step,Helm)
	tools/helm/build.sh

ray-env: ## The Python environments with the real Rays, outside of the clone
	$(call step,Ray environments)
	tools/ray-env/make.sh

fuzz-ray: ray-env ## Compare ray-exact with the real Ray on fresh inputs (SEEDS=FROM..TO or MINUTES=N)
	$(call step,building the oracle)
	cargo build --release --package xtask
	$(RAY)/bin/python tools/ray/fuzz.py $(if $(MINUTES),--minutes $(MINUTES),--seeds $(or $(SEEDS),100000..105000))

# The modules of other versions than the newest are beside it.
KUBE := $(or $(VERSION),1.37)
KUBE_FLAGS := $(if $(filter 1.37,$(KUBE)),,-modfile=go-$(KUBE).mod -tags kube$(subst .,,$(KUBE)))
oracle-kube: ## Compare the judge of pods and nodes with kube-scheduler's filters (SEED=N, CASES=N, VERSION=1.34|1.36, WEIGH=1)
	$(call step,kube-scheduler's filters (the first build takes some minutes))
	mkdir -p $(CACHE)
	cd tools/kube-oracle && nice go run -trimpath $(KUBE_FLAGS) . --seed $(or $(SEED),$$RANDOM) --cases $(or $(CASES),20000) \
		>$(CACHE)/kube-oracle-$(KUBE).jsonl
	$(call step,the comparison)
	cargo run --quiet --release --package xtask -- oracle kube $(CACHE)/kube-oracle-$(KUBE).jsonl $(if $(WEIGH),--weigh)

bench-ray: ray-env ## Time planning against Ray's own scheduler (QUICK=1 for a subset)
	$(call step,building the benchmark)
	cargo build --release --package xtask
	$(RAY)/bin/python tools/ray/bench.py $(if $(QUICK),--quick)

bench-kubernetes: ## Plan nodes for thousands of pods, beside what others were recorded to make of such problems (FILES=DIR for other files)
	$(call step,building the benchmark)
	cargo build --release --package xtask
	python3 tools/bench-kubernetes/bench.py $(CARGO_TARGET_DIR)/release/xtask $(if $(FILES),--files $(FILES))

bench-kubernetes-load: kube-lab ## A real control plane with 1,000 simulated nodes and 10,000 pods: who spends what (SIZE=NODES:PODS)
	$(call step,building ostler and the benchmark)
	cargo build --release --package ostler-cli
	cargo build --release --package ostler-e2e --example kubernetes_load
	$(call step,$(or $(SIZE),1000:10000) simulated nodes and pods)
	$(CARGO_TARGET_DIR)/release/examples/kubernetes_load $(CARGO_TARGET_DIR)/release/ostler $(or $(SIZE),1000:10000)

bench-kubernetes-idle: ## What Ostler costs beside 10,000 nodes and 100,000 pods while hardly anything happens (SIZE=NODES:PODS)
	$(call step,building ostler and the benchmark)
	cargo build --release --package ostler-cli
	cargo build --release --package ostler-e2e --example kubernetes_idle
	$(call step,$(or $(SIZE),10000:100000) nodes and pods of a scripted API server)
	$(CARGO_TARGET_DIR)/release/examples/kubernetes_idle $(CARGO_TARGET_DIR)/release/ostler $(or $(SIZE),10000:100000)

bench-latency: ray-env ## From a new task to the launch, beside Ray's own autoscaler
	$(call step,building ostler)
	cargo build --release --package ostler-cli
	$(RAY)/bin/python tools/ray/latency.py $(CARGO_TARGET_DIR)/release/ostler

bench-idle: ## What the daemon costs while nothing happens, with 100 nodes (two minutes)
	$(call step,building ostler and the benchmark)
	cargo build --release --package ostler-cli
	cargo build --release --package ostler-e2e --example idle_cost
	$(call step,100 nodes in a scripted GCS)
	OSTLER_BIN=$(CARGO_TARGET_DIR)/release/ostler $(CARGO_TARGET_DIR)/release/examples/idle_cost

docs: ## Write the generated pages of docs/reference again
	UPDATE_DOCS=1 cargo test --workspace --exclude ostler-e2e --exclude ostler-workload-ray -- reference stale docs

.PHONY: help demo demo-polars demo-kubernetes test lint test-rust test-ray test-polars test-kubernetes polars-env kube-lab helm ray-env \
	fuzz-ray oracle-kube bench-ray bench-latency bench-idle bench-kubernetes bench-kubernetes-load bench-kubernetes-idle docs
