# `make help` lists the targets.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO ?= go
# Lets an older Go download the toolchain that go.mod requires.
export GOTOOLCHAIN ?= auto
# Without the paths of the checkout in what is built, all checkouts share the build cache.
export GOFLAGS := $(GOFLAGS) -trimpath
# hack/prerequisites.sh installs a toolchain here if the machine's Go is too old even for that.
export PATH := $(or $(FETTLE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fettle)/go/bin:$(PATH)

MODULE := github.com/fettle-dev/fettle
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# grpcnotrace leaves out gRPC's web page, whose templates make the linker keep all methods.
TAGS := grpcnotrace
LDFLAGS := -s -w -X $(MODULE)/internal/version.linked=$(VERSION)
COMMANDS := manager nodeagent fettle kubectl-fettle
# The images of `make image`, install.yaml and the chart: a registry, a name and a tag.
IMAGE_MANAGER ?= fettle-manager:$(VERSION)
IMAGE_AGENT ?= fettle-nodeagent:$(VERSION)
ARCHES ?= amd64 arm64
# The time of the last commit, so that a commit gives the same files whenever it is built.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

# Tools are pinned in a separate module file, so that their dependencies do not affect go.mod.
TOOL := $(GO) tool -modfile=go.tools.mod
CONTROLLER_GEN := $(TOOL) controller-gen
GOLANGCI_LINT := $(TOOL) golangci-lint
GINKGO := $(TOOL) ginkgo
GREMLINS_PATH := $(TOOL) -n gremlins

# The packages to test and flags. RACE=1 needs a C compiler.
PKG ?= ./...
TESTFLAGS ?=
# Ends packages that hang, and prints where, before CI ends everything. It says nothing about slow ones: no test may fail
# because a machine is slow or busy.
TESTTIMEOUT ?= 1h
# Packages that are tested at the same time: more than CPUs, because many wait for an API server or a machine.
TESTPROCS ?= $(shell echo $$(($$(nproc) + 1)))
ifdef RACE
TESTFLAGS += -race
else
# As the programs are built, so that tests and programs share the cache of builds.
export CGO_ENABLED ?= 0
endif

# Submodules pin programs or contain code for developers.
SUBMODULES := $(patsubst %/go.mod,%,$(wildcard hack/*/go.mod test/*/go.mod sdk/*/go.mod))

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make TARGET [NAME=value ...]" } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z0-9-]*:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: install-prerequisites
install-prerequisites: ## Install the prerequisites of tests and demo (Debian and Ubuntu, as root); quick if nothing is missing.
	@hack/prerequisites.sh

.PHONY: clean
clean: ## Remove build results. The cached control plane is outside the checkout and stays.
	rm -rf bin dist cover

##@ Develop

.PHONY: generate
generate: ## Generate Go code: accessors and deepcopy functions of the API kinds.
	$(GO) generate ./...
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...

.PHONY: manifests
manifests: ## Generate YAML (CRDs, roles, chart), the pages of the kinds in docs/kinds, and the picture in docs/architecture.md.
	$(CONTROLLER_GEN) crd paths=./api/v1alpha1/... output:crd:artifacts:config=config/crd
	$(CONTROLLER_GEN) rbac:roleName=fettle-manager paths=./controllers/... output:rbac:artifacts:config=config/rbac
	$(GO) run ./hack/manifests
	$(GO) run ./hack/kindpages docs/kinds
	$(GO) run ./hack/architecture
	for type in dnszone dnsrecord; do $(GO) run ./cmd/fettle type build examples/dns/$$type.yaml || exit; done >examples/dns/types.yaml

.PHONY: fmt
fmt: ## Format the Go code (gofumpt, grouped imports).
	$(GOLANGCI_LINT) fmt

.PHONY: vet
vet: ## Run go vet on all modules.
	$(GO) vet -tags e2e,gitops,rare ./...
	@for dir in $(SUBMODULES); do hack/vet-submodule.sh "$$dir"; done

.PHONY: lint
lint: ## Run the linters, including the check of imports.
	$(GOLANGCI_LINT) run

.PHONY: man
man: ## Write the manual pages of fettle and kubectl fettle to dist/man/man1.
	$(GO) run ./hack/manpages dist/man/man1

.PHONY: docs
docs: ## Render docs/ as a site into dist/site, with a search and without requests to other servers.
	@CGO_ENABLED=0 $(GO) -C hack/docs tool hugo --quiet --noBuildLock --cleanDestinationDir --destination $(CURDIR)/dist/site
	@echo "dist/site/index.html"

.PHONY: new-type
new-type: ## Scaffold a resource type: make new-type KIND=Sysctl.
	@: $${KIND:?set KIND, for example: make new-type KIND=Sysctl}
	$(GO) run ./hack/newtype -kind "$(KIND)"
	@$(MAKE) generate manifests

##@ Test

# The tests are bound by the processor, and a tenth of their time went into collecting garbage.
test rare-faults: export GOGC ?= 400

.PHONY: test
test: install-prerequisites vet ## Run the tests, with a real API server. PKG=./internal/... selects packages.
	@assets=$$(hack/controlplane/build.sh) && export KUBEBUILDER_ASSETS=$$assets && \
		echo "KUBEBUILDER_ASSETS=$$assets $(GO) test -vet=off -p $(TESTPROCS) -timeout $(TESTTIMEOUT) $(TESTFLAGS) $(PKG)" && \
		$(GO) test -vet=off -p $(TESTPROCS) -timeout $(TESTTIMEOUT) $(TESTFLAGS) $(PKG)
	@$(if $(filter ./...,$(PKG)),$(GO) -C hack/image test $(TESTFLAGS) ./...)
	@$(if $(filter ./...,$(PKG)),$(GO) -C sdk/go test $(TESTFLAGS) ./...)
	@$(if $(filter ./...,$(PKG)),$(GO) -C test/alerts test -count=1 $(TESTFLAGS) ./...) # as those of the pages
	@$(if $(filter ./...,$(PKG)),$(GO) -C hack/docs test -count=1 $(TESTFLAGS) ./...) # pages are outside of its module, where go test sees no changes

# How many times as many kills, races and random inputs.
TIMES ?= 1
.PHONY: rare-faults
rare-faults: install-prerequisites ## Search for rare faults by kills, races and random inputs. PKG=./test/suites/crash TIMES=8 searches longer there.
	@assets=$$(hack/controlplane/build.sh) && KUBEBUILDER_ASSETS=$$assets FETTLE_RARE_FAULTS=$(TIMES) \
		hack/rare-faults.sh -p $(TESTPROCS) -timeout $(TESTTIMEOUT) $(TESTFLAGS) $(filter-out ./...,$(PKG))

# The flags and labels of Ginkgo, such as E2EFLAGS='--label-filter=outage'.
E2EFLAGS ?=
# How many specs run at the same time, each on a cluster of its own: two, unless there is only room for one.
E2EPROCS ?= $(shell bin/cluster room 2)

.PHONY: e2e
e2e: install-prerequisites bin/cluster ## Run Fettle on real clusters of its own, as root. E2EFLAGS=--label-filter=drift selects specs, E2EPROCS=1 starts one cluster.
	$(GINKGO) --tags e2e --procs $(E2EPROCS) --fail-on-pending --timeout $(TESTTIMEOUT) -v $(E2EFLAGS) ./test/suites/e2e

.PHONY: e2e-findings
e2e-findings: install-prerequisites bin/cluster ## Check that the specs of past findings fail with the commits before their fixes: COMMIT=..., as root.
	@hack/findings.sh

.PHONY: gitops
gitops: install-prerequisites ## Apply the examples of docs/gitops.md with the code of Flux and Argo CD, which a first run builds.
	@assets=$$(hack/controlplane/build.sh) && KUBEBUILDER_ASSETS=$$assets \
		$(GO) test -tags gitops -count=1 -timeout $(TESTTIMEOUT) -v $(TESTFLAGS) ./test/gitops

# Takes up to an hour. `make rare-faults` does the same with 20 nodes.
.PHONY: chaos
chaos: TESTTIMEOUT = 3h
chaos: install-prerequisites ## Interrupt manager, API server and etcd during changes of 500 nodes. FETTLE_RARE_FAULTS_SEED=n selects the moments.
	@assets=$$(hack/controlplane/build.sh) && KUBEBUILDER_ASSETS=$$assets FETTLE_CHAOS_NODES=$${FETTLE_CHAOS_NODES:-500} FETTLE_CHAOS_KILLS=$${FETTLE_CHAOS_KILLS:-50} \
		FETTLE_CHAOS_TURNS=$${FETTLE_CHAOS_TURNS:-5} FETTLE_CHAOS_OUTAGE=$${FETTLE_CHAOS_OUTAGE:-60} \
		hack/rare-faults.sh -timeout $(TESTTIMEOUT) -v $(TESTFLAGS) ./test/suites/chaos

# Each mutant is one edit, such as < to <=, for which a test of the same package has to fail. The time
# limit of a mutant is a multiple of what the tests take unchanged, so that a busy machine kills none.
# docs/mutation.md has results. `go tool` would put its own go before the one in hack/mutate.
.PHONY: mutate
mutate: install-prerequisites ## List edits that no test detects: make mutate PKG=./internal/seal. Takes hours for ./...
	@assets=$$(hack/controlplane/build.sh) && gremlins=$$($(GREMLINS_PATH)) && \
		KUBEBUILDER_ASSETS=$$assets PATH="$(CURDIR)/hack/mutate:$$PATH" \
		"$$gremlins" unleash --workers 1 --timeout-coefficient 20 --invert-logical --invert-loopctrl \
		--exclude-files '(^|/)(hack|[a-z]*test)/' --exclude-files 'zz_generated' $(MUTATEFLAGS) $(patsubst %/...,%,$(PKG))

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10m); PKG=./internal/accounts selects packages.
	@FUZZTIME="$(or $(FUZZTIME),10m)" hack/fuzz.sh $(PKG)

.PHONY: deflake
deflake: install-prerequisites ## Run Ginkgo suites in random order until one fails: make deflake PKG=./controllers/...
	@KUBEBUILDER_ASSETS=$$(hack/controlplane/build.sh) \
		$(GINKGO) --until-it-fails --randomize-all --fail-on-pending $(TESTFLAGS) $(PKG)

.PHONY: verify
verify: lint verify-imports verify-generated verify-modules verify-prose ## Run all checks of CI except the tests.

.PHONY: verify-prose
verify-prose: ## Fail if docs, comments, messages or test names break the rules in hack/prose.txt.
	@hack/verify-prose.sh

.PHONY: structure
structure: ## Print how files refer to each other. make structure PKG=./controllers lists references that run back up.
	@$(GO) run ./hack/structure $(if $(filter-out ./...,$(PKG)),$(PKG))

.PHONY: verify-imports
verify-imports: ## Fail if the linter allows or denies the wrong imports.
	@hack/verify-imports.sh

.PHONY: verify-generated
verify-generated: ## Fail if generated files are out of date.
	@hack/verify-generated.sh

.PHONY: verify-modules
verify-modules: ## Fail if a module file is not tidy.
	@hack/verify-modules.sh

# Flags of `go run ./test/benchmarks/peers`.
BENCHFLAGS ?=

.PHONY: bench-peers
bench-peers: install-prerequisites bin/fettle bin/nodeagent ## Compare fettle with Puppet and CFEngine in a disposable root (as root); updates docs/benchmarks.md.
	$(GO) build -o bin/bench ./test/benchmarks/peers
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./test/benchmarks/peers/floor ./test/benchmarks/peers/meter
	bin/bench -bin bin -out docs/benchmarks.md $(BENCHFLAGS)

# Flags of `go run ./test/benchmarks/promise`.
PROMISEFLAGS ?=

.PHONY: bench-promise
bench-promise: install-prerequisites ## Count wrong plans of Fettle, Puppet and Ansible with random pairs of a manifest and a host (as root); updates docs/benchmarks.md.
	$(GO) build -o bin/bench-promise ./test/benchmarks/promise
	bin/bench-promise -progress dist/promise.jsonl -out docs/benchmarks.md $(PROMISEFLAGS)

# Flags of `go run ./test/benchmarks/fleet`.
FLEETFLAGS ?=

.PHONY: bench-fleet
bench-fleet: install-prerequisites bin/manager ## Measure a manager with 100, 1,000 and 5,000 nodes on a real API server; updates docs/benchmarks.md.
	$(GO) build -o bin/bench-fleet ./test/benchmarks/fleet
	KUBEBUILDER_ASSETS=$$(hack/controlplane/build.sh) bin/bench-fleet -manager bin/manager -out docs/benchmarks.md $(FLEETFLAGS)

# Flags of `go run ./test/benchmarks/rollout`.
ROLLOUTFLAGS ?=

.PHONY: bench-rollout
bench-rollout: install-prerequisites bin/manager ## Measure a rollout over 1,000 and 5,000 nodes on a real API server; updates docs/benchmarks.md.
	$(GO) build -o bin/bench-rollout ./test/benchmarks/rollout
	KUBEBUILDER_ASSETS=$$(hack/controlplane/build.sh) bin/bench-rollout -manager bin/manager -out docs/benchmarks.md $(ROLLOUTFLAGS)

# Flags of `go run ./test/benchmarks/authors`.
AUTHORSFLAGS ?=
.PHONY: bench-authors
bench-authors: ## Measure how often it is found out which process changed a file (as root); updates docs/benchmarks.md.
	$(GO) build -o bin/bench-authors ./test/benchmarks/authors
	bin/bench-authors -out docs/benchmarks.md $(AUTHORSFLAGS)

# Flags of `go run ./test/benchmarks/drift`.
DRIFTFLAGS ?=
.PHONY: bench-drift
bench-drift: install-prerequisites bin/nodeagent bin/fettle ## Measure how soon drift is corrected on a disposable machine (as root); updates docs/benchmarks.md.
	$(GO) build -o bin/bench-drift ./test/benchmarks/drift
	KUBEBUILDER_ASSETS=$$(hack/controlplane/build.sh) bin/bench-drift -agent bin/nodeagent -fettle bin/fettle -out docs/benchmarks.md $(DRIFTFLAGS)

# Flags of `go run ./test/benchmarks/glance`.
GLANCEFLAGS ?=
.PHONY: bench-glance
bench-glance: install-prerequisites bin/manager bin/nodeagent bin/kubectl-fettle ## Measure kubectl fettle with 5,000 nodes (as root); updates docs/benchmarks.md and docs/transcript.md.
	$(GO) build -o bin/bench-glance ./test/benchmarks/glance
	KUBEBUILDER_ASSETS=$$(hack/controlplane/build.sh) bin/bench-glance -out docs/benchmarks.md -transcript docs/transcript.md $(GLANCEFLAGS)

# Flags of `go run ./test/benchmarks/pods`.
PODSFLAGS ?=

.PHONY: bench-pods
bench-pods: install-prerequisites ## Measure the pods of Fettle on a real cluster of its own (as root); updates docs/benchmarks.md.
	@$(MAKE) image ARCHES=amd64 IMAGE_MANAGER=localhost/fettle-manager:bench IMAGE_AGENT=localhost/fettle-nodeagent:bench
	$(GO) build -o bin/bench-pods ./test/benchmarks/pods
	bin/bench-pods -out docs/benchmarks.md $(PODSFLAGS)

##@ Build and run

.PHONY: build
build: $(COMMANDS:%=bin/%) ## Build the static binaries into bin/.

# Phony, because Go decides whether a binary is up to date.
.PHONY: $(COMMANDS:%=bin/%)
$(COMMANDS:%=bin/%): bin/%:
	CGO_ENABLED=0 $(GO) build -trimpath -tags $(TAGS) -ldflags "$(LDFLAGS)" -o $@ ./cmd/$*

.PHONY: cross
cross: ## Build the static binaries for all ARCHES into dist/bin.
	@for arch in $(ARCHES); do for command in $(COMMANDS); do \
		echo "dist/bin/$$arch/$$command"; \
		CGO_ENABLED=0 GOARCH=$$arch $(GO) build -trimpath -tags $(TAGS) -ldflags "$(LDFLAGS)" -o "dist/bin/$$arch/$$command" "./cmd/$$command"; \
	done; done

.PHONY: bin/image
bin/image:
	@$(GO) -C hack/image build -o $(CURDIR)/bin/image .

comma := ,
empty :=
IMAGE_FLAGS = -arch $(subst $(empty) $(empty),$(comma),$(strip $(ARCHES))) -created $(SOURCE_DATE_EPOCH) \
	-label org.opencontainers.image.version=$(VERSION) -label org.opencontainers.image.revision=$(shell git rev-parse HEAD 2>/dev/null) \
	-label org.opencontainers.image.source=https://$(MODULE) -label org.opencontainers.image.licenses=Apache-2.0

.PHONY: image
image: cross bin/image ## Build the images of manager and agent into dist/images, without a container engine. ARCHES=amd64 is quicker.
	@bin/image $(IMAGE_FLAGS) -name $(IMAGE_MANAGER) -entrypoint /manager -label org.opencontainers.image.title=fettle-manager \
		-out dist/images/fettle-manager-{arch}.tar -oci dist/images/fettle-manager.oci.tar -sbom dist/images/fettle-manager-{arch}.spdx.json dist/bin/{arch}/manager
	@bin/image $(IMAGE_FLAGS) -name $(IMAGE_AGENT) -entrypoint /nodeagent -user 0:0 -label org.opencontainers.image.title=fettle-nodeagent \
		-out dist/images/fettle-nodeagent-{arch}.tar -oci dist/images/fettle-nodeagent.oci.tar -sbom dist/images/fettle-nodeagent-{arch}.spdx.json dist/bin/{arch}/nodeagent dist/bin/{arch}/fettle

.PHONY: verify-arm64
verify-arm64: cross ## Run the programs for arm64 under qemu, which is unpacked into the cache.
	@hack/arm64.sh dist/bin/arm64

.PHONY: install-yaml
install-yaml: ## Write dist/install.yaml, the manifests of config/default with IMAGE_MANAGER and IMAGE_AGENT.
	@mkdir -p dist
	@$(GO) run ./hack/installyaml -manager "$(IMAGE_MANAGER)" -agent "$(IMAGE_AGENT)" >dist/install.yaml
	@echo "dist/install.yaml: $(IMAGE_MANAGER), $(IMAGE_AGENT)"

.PHONY: release
release: image install-yaml man ## Write binaries, images, install.yaml, chart, CRDs, SBOMs, manual pages, a manifest for krew, changelog and checksums to dist/release.
	@VERSION="$(VERSION)" IMAGE_MANAGER="$(IMAGE_MANAGER)" IMAGE_AGENT="$(IMAGE_AGENT)" ARCHES="$(ARCHES)" hack/release.sh

.PHONY: cluster
cluster: install-prerequisites bin/cluster ## Start a real cluster of three systemd machines in the background; a first build takes a quarter of an hour.
	@bin/cluster start

.PHONY: cluster-down
cluster-down: bin/cluster ## End the cluster that make cluster started.
	@bin/cluster stop

.PHONY: bin/cluster
bin/cluster:
	@$(GO) build -o $@ ./test/cluster/cmd

.PHONY: demo
demo: install-prerequisites ## Demonstrate Fettle on two real systemd machines; KEEP=1 leaves them running, CLUSTER=1 runs it in pods on real kubelets.
	@KEEP="$(KEEP)" CLUSTER="$(CLUSTER)" hack/demo/run.sh
