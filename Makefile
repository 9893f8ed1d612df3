# Everything that is done to this repository is done from here: `make help`.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO ?= go
# A Go older than go.mod asks for fetches the right one, unless told not to.
export GOTOOLCHAIN ?= auto
# Where the machine's own Go is too old even for that, hack/prerequisites.sh puts one here.
export PATH := $(or $(FETTLE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fettle)/go/bin:$(PATH)

MODULE := github.com/fettle-dev/fettle
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X $(MODULE)/internal/version.linked=$(VERSION)
COMMANDS := manager nodeagent fettle
IMAGE ?= fettle:$(VERSION)

# Tools are pinned in a module file of their own: their dependencies stay out of ours.
TOOL := $(GO) tool -modfile=go.tools.mod
CONTROLLER_GEN := $(TOOL) controller-gen
GOLANGCI_LINT := $(TOOL) golangci-lint
GINKGO := $(TOOL) ginkgo
GREMLINS_PATH := $(TOOL) -n gremlins

# What to test, how, and how long one package may take. RACE=1 needs a C compiler.
PKG ?= ./...
TESTFLAGS ?=
TESTTIMEOUT ?= 30m
ifdef RACE
TESTFLAGS += -race
endif

# Submodules pin programs or hold code that only developers run.
SUBMODULES := $(patsubst %/go.mod,%,$(wildcard hack/*/go.mod test/*/go.mod))

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make TARGET [NAME=value ...]" } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z-]*:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: install-prerequisites
install-prerequisites: ## Install what tests and demo need (Debian and Ubuntu, as root); quick if nothing is missing.
	@hack/prerequisites.sh

.PHONY: clean
clean: ## Remove what was built. The control plane's cache stays: it lies outside the checkout.
	rm -rf bin dist cover

##@ Develop

.PHONY: generate
generate: ## Write the generated Go code: what all API kinds share, and their deepcopy functions.
	$(GO) generate ./...
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: manifests
manifests: ## Write the generated YAML: CRDs from api/, roles from controllers/ and the kinds.
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:artifacts:config=config/crd
	$(CONTROLLER_GEN) rbac:roleName=fettle-manager paths=./controllers/... output:rbac:artifacts:config=config/rbac
	$(GO) run ./hack/manifests

.PHONY: fmt
fmt: ## Format the Go code (gofumpt, grouped imports).
	$(GOLANGCI_LINT) fmt

.PHONY: vet
vet: ## Run go vet on all modules.
	$(GO) vet ./...
	@for dir in $(SUBMODULES); do hack/vet-submodule.sh "$$dir"; done

.PHONY: lint
lint: ## Run the linters, the import table among them.
	$(GOLANGCI_LINT) run

.PHONY: man
man: ## Write fettle's manual pages to dist/man/man1, from its help.
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GO) run ./hack/manpages dist/man/man1

.PHONY: new-type
new-type: ## Scaffold a resource type: make new-type KIND=Sysctl.
	@: $${KIND:?say which, for example: make new-type KIND=Sysctl}
	$(GO) run ./hack/newtype -kind "$(KIND)"
	@$(MAKE) generate manifests

##@ Test

.PHONY: test
test: install-prerequisites vet ## Run all tests, on a real API server where they need one. PKG=./internal/... narrows.
	@assets=$$(hack/controlplane/build.sh) && export KUBEBUILDER_ASSETS=$$assets && \
		echo "KUBEBUILDER_ASSETS=$$assets $(GO) test -timeout $(TESTTIMEOUT) $(TESTFLAGS) $(PKG)" && \
		$(GO) test -timeout $(TESTTIMEOUT) $(TESTFLAGS) $(PKG)

.PHONY: crash
crash: install-prerequisites ## Kill a run at 200 random moments and have the next make it good: FETTLE_CRASH_SEED=n chooses them.
	FETTLE_CRASH_ROUNDS=$${FETTLE_CRASH_ROUNDS:-200} \
		$(GO) test -count=1 -timeout $(TESTTIMEOUT) -v -run TestARunThatIsKilled $(TESTFLAGS) ./test/suites/crash

# Of an hour at most; `make test` runs the same with 20 nodes.
.PHONY: chaos
chaos: install-prerequisites ## Take manager, API server and etcd from 500 nodes in the middle of changes: FETTLE_CHAOS_SEED=n chooses the moments.
	@KUBEBUILDER_ASSETS=$$(hack/controlplane/build.sh) FETTLE_CHAOS_NODES=$${FETTLE_CHAOS_NODES:-500} FETTLE_CHAOS_KILLS=$${FETTLE_CHAOS_KILLS:-50} \
		FETTLE_CHAOS_TURNS=$${FETTLE_CHAOS_TURNS:-5} FETTLE_CHAOS_OUTAGE=$${FETTLE_CHAOS_OUTAGE:-60} \
		$(GO) test -count=1 -timeout 2h -v $(TESTFLAGS) ./test/suites/chaos

# Each mutant is one edit, such as < to <=, for which a test of the same package has to fail. The time
# limit of a mutant is a multiple of what the tests take unchanged, so that a busy machine kills none.
# docs/mutation.md has results. `go tool` would put its own go before the one in hack/mutate.
.PHONY: mutate
mutate: install-prerequisites ## Report the source edits that no test notices: make mutate PKG=./internal/seal. Takes hours for ./...
	@assets=$$(hack/controlplane/build.sh) && gremlins=$$($(GREMLINS_PATH)) && \
		KUBEBUILDER_ASSETS=$$assets PATH="$(CURDIR)/hack/mutate:$$PATH" \
		"$$gremlins" unleash --workers 1 --timeout-coefficient 20 --invert-logical --invert-loopctrl \
		--exclude-files '(^|/)(hack|[a-z]*test)/' --exclude-files 'zz_generated' $(MUTATEFLAGS) $(patsubst %/...,%,$(PKG))

# `make test` compares 2,000 resources.
.PHONY: agree
agree: ## Hold validate, plan and apply to the same verdict on odd resources for ten minutes: AGREE_SEED=n chooses them.
	FETTLE_AGREE_SEED=$${AGREE_SEED:-$$(date +%s)} FETTLE_AGREE_TIME=$${AGREE_TIME:-10m} \
		$(GO) test -count=1 -timeout 30m -v -run TestValidatePlanAndApplyAgree $(TESTFLAGS) ./internal/cli

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10m) each; PKG=./internal/accounts narrows.
	@FUZZTIME="$(or $(FUZZTIME),10m)" hack/fuzz.sh $(PKG)

.PHONY: deflake
deflake: install-prerequisites ## Run Ginkgo suites, shuffled, until one fails: make deflake PKG=./controllers/...
	@KUBEBUILDER_ASSETS=$$(hack/controlplane/build.sh) \
		$(GINKGO) --until-it-fails --randomize-all --fail-on-pending $(TESTFLAGS) $(PKG)

.PHONY: verify
verify: lint verify-imports verify-generated verify-modules ## Check what CI checks beside the tests.

.PHONY: verify-prose
verify-prose: ## Fail if docs, comments, messages or test names are worded as hack/prose/rules/rules.txt advises against.
	@$(GO) run ./hack/prose

.PHONY: structure
structure: ## Print how the packages are put together: make structure PKG=./controllers lists what runs back up.
	@$(GO) run ./hack/structure $(if $(filter-out ./...,$(PKG)),$(PKG))

.PHONY: verify-imports
verify-imports: ## Fail if the linter's import table is not the design's.
	@hack/verify-imports.sh

.PHONY: verify-generated
verify-generated: ## Fail if generated files are not what the sources say.
	@hack/verify-generated.sh

.PHONY: verify-modules
verify-modules: ## Fail if a module file is not tidy.
	@hack/verify-modules.sh

# Each program runs this often; see `go run ./test/benchmarks/peers -h`.
BENCHFLAGS ?=

.PHONY: bench-peers
bench-peers: install-prerequisites bin/fettle bin/nodeagent ## Measure fettle beside Puppet and CFEngine in a disposable root (as root); writes into docs/benchmarks.md.
	$(GO) build -o bin/bench ./test/benchmarks/peers
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./test/benchmarks/peers/floor ./test/benchmarks/peers/meter
	bin/bench -bin bin -out docs/benchmarks.md $(BENCHFLAGS)

# How many nodes, and more: see `go run ./test/benchmarks/fleet -h`.
FLEETFLAGS ?=

.PHONY: bench-fleet
bench-fleet: install-prerequisites bin/manager ## Measure a manager with 100, 1,000 and 5,000 nodes on a real API server; writes into docs/benchmarks.md.
	$(GO) build -o bin/bench-fleet ./test/benchmarks/fleet
	KUBEBUILDER_ASSETS=$$(hack/controlplane/build.sh) bin/bench-fleet -manager bin/manager -out docs/benchmarks.md $(FLEETFLAGS)

##@ Build and run

.PHONY: build
build: $(COMMANDS:%=bin/%) ## Build the static binaries into bin/.

# Go knows best whether a binary is up to date.
.PHONY: $(COMMANDS:%=bin/%)
$(COMMANDS:%=bin/%): bin/%:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $@ ./cmd/$*

.PHONY: image
image: build ## Build the container image from bin/ (BASE=scratch works offline).
	$${CONTAINER_TOOL:-docker} build --target prebuilt $(if $(BASE),--build-arg BASE=$(BASE)) -t $(IMAGE) .

.PHONY: demo
demo: install-prerequisites ## Show it on two real systemd machines; KEEP=1 leaves them running.
	@KEEP="$(KEEP)" hack/demo/run.sh
