# Everything that is done with the checkout starts here. `make help` lists it.
# Each target is a few lines; what is longer is in scripts/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
BINARIES := berth berthd berth-node

# TEST narrows `make test` to some packages: make test TEST=./internal/spec/...
TEST ?= ./...

# RACE is the race detector. It comes with checks of pointer arithmetic; SQLite,
# which is C that was translated to Go, does nothing else and is not ours to check.
RACE := -race -gcflags=modernc.org/...=-d=checkptr=0
# A program with the race detector sleeps a second before it ends, in case another
# thread still has something to report; the tests start hundreds of them.
export GORACE ?= atexit_sleep_ms=50

.PHONY: help
help: ## Print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: up
up: ## Set up, build, start Berth, deploy the example and change it under load
	@scripts/up

.PHONY: down
down: ## Stop what `make up` started (VOLUMES=delete removes its data as well)
	@scripts/down $(if $(filter delete,$(VOLUMES)),--volumes)

.PHONY: setup
setup: ## Install what is missing on this machine and start Docker
	@scripts/setup

.PHONY: build
build: ## Build the binaries into bin/
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ $(addprefix ./cmd/,$(BINARIES))

.PHONY: images
images: ## Build the example's images into the local Docker engine
	@$(GO) run ./test/images/build

.PHONY: test
test: ## Vet, and run unit, real-engine and short end-to-end tests with the race detector
	@scripts/setup
	$(GO) vet $(TEST)
	@# The models of the planner and of the providers take their steps without the
	@# race detector, which makes them up to twenty times slower; with it, they take fewer below.
	@$(GO) run ./internal/tools/testsum -count=1 -timeout 5m -run 'History|Crash|Cut|Model|Broken|Moment' \
		./internal/dockerprovider ./provider/memory ./provider/providertest ./backend/hosting
	@# Of these packages nearly all is such models, cut points and stories of one goroutine.
	@$(GO) run ./internal/tools/testsum -count=1 -timeout 5m \
		./internal/reconcile/application ./instances ./instances/group ./instances/storage
	@# Three packages at once on two cores: those on the real engine wait for it most of their time.
	@BERTH_TEST_DOCKER=1 BERTH_TEST_BRIEF=1 $(GO) run ./internal/tools/testsum $(RACE) -p 3 -count=1 -timeout 8m $(TEST)

.PHONY: conformance
conformance: ## Hold provider, backend and a machine's engine to every case of their suites, on the real engine
	@scripts/setup
	@BERTH_TEST_DOCKER=1 $(GO) run ./internal/tools/testsum $(RACE) -count=1 -timeout 20m ./provider/docker
	@BERTH_TEST_DOCKER=1 $(GO) run ./internal/tools/testsum $(RACE) -count=1 -timeout 20m -run 'Conforms|KeepTheContract' \
		./test/e2ebackend ./instances/hub ./instances/infra/netns

.PHONY: test-short
test-short: ## Run the tests that need neither Docker nor the race detector
	@$(GO) run ./internal/tools/testsum -short $(TEST)

.PHONY: soak
soak: ## Run the model tests with a million steps each; takes hours
	@scripts/soak

.PHONY: bench
bench: ## Measure against the targets of docs/benchmarks.md
	@scripts/setup
	@$(MAKE) --no-print-directory build
	@$(GO) run ./test/bench

.PHONY: e2e-zero-drop
e2e-zero-drop: ## Change a service 20 times under load while the control plane is killed
	@scripts/setup
	@$(MAKE) --no-print-directory build
	@$(GO) run ./test/zerodrop

.PHONY: e2e-backend
e2e-backend: ## Hold leases of a backend on the real engine while it is killed
	@scripts/setup
	@$(GO) run ./test/e2ebackend

.PHONY: e2e-machines
e2e-machines: ## Change an app on a group of machines that are killed, replaced and removed
	@scripts/setup vm
	@$(GO) run ./test/e2emachines

.PHONY: vm
vm: ## Boot a virtual machine, emulated in software, that joins and runs a container
	@scripts/setup vm
	@BERTH_TEST_VM=1 $(GO) test -count=1 -timeout 16m -v ./test/vm
	@BERTH_TEST_VM=1 $(GO) run ./internal/tools/testsum $(RACE) -count=1 -timeout 5m ./instances/infra/qemu

.PHONY: lint
lint: ## Run the linters (the first run builds them)
	@scripts/lint
