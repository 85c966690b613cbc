# `make up` runs the platform, `make test` tests it, `make` lists all targets.
# Node 24 is one of the npm packages.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
# With a compile cache, Node programs start in half the time.
export NODE_COMPILE_CACHE ?= $(CURDIR)/node_modules/.cache/node
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Remove targets that a failed command left incomplete.
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

programSources := $(shell find api/src packages/runtime/src packages/archive/src packages/s3/src packages/kube/src operator/src node-agent/src session/packer/src packages/contracts/src tools/bundle -type f -not -path 'api/src/generated/*' 2>/dev/null)
webSources := $(shell find web packages/contracts/src -type f -not -path 'web/dist/*' 2>/dev/null)

##@ Run
.PHONY: up
up: ## start everything: cluster, images, chart, demo player and games
	@tools/platform/up.sh

.PHONY: down
down: ## stop the platform and keep its data; `make up` starts it again
	@tools/platform/down.sh

.PHONY: clean-cluster
clean-cluster: ## remove the cluster, its data and its credentials (caches stay)
	@tools/cluster/delete.sh

##@ Test
.PHONY: test
test: ready built ## run all checks and tests; ends with `N passed, N failed`
	@node tools/test/run.ts

.PHONY: fmt
fmt: packages ## format all source files
	@tools/fmt.sh

.PHONY: lint
lint: ready ## check formatting, style, imports, shell scripts and workflows
	@tools/fmt.sh --check
	@npm run --silent lint
	@tools/test/lintShell.sh
	@tools/test/lintWorkflows.sh

.PHONY: typecheck
typecheck: ready ## check types
	@npm run --silent typecheck

.PHONY: verify
verify: ready ## fail if generated files are stale
	@tools/manifests/verify.sh

.PHONY: audit
audit: ## check npm packages and Go programs for known vulnerabilities
	@tools/supplyChain/audit.sh

.PHONY: unit
unit: ready ## run unit tests (seconds)
	@npm run --silent unit

.PHONY: integration
integration: ready built prerequisites ## run integration tests on real stores and a real API server
	@tools/programs/build.sh etcd kube-apiserver kubectl helm minio turn
	@npm run --silent integration

.PHONY: soak
soak: ready built prerequisites ## run the longest and largest uploads (12 minutes)
	@tools/programs/build.sh etcd kube-apiserver minio
	@npm run --silent soak

.PHONY: test-long
test-long: ready built prerequisites ## run faults, floods and variations that `make test` leaves out
	@tools/ensureDebian.sh coturn
	@tools/programs/build.sh etcd kube-apiserver helm minio turn
	@tools/test/long.sh

.PHONY: e2e
e2e: ready prerequisites ## run end-to-end tests against a running platform
	@npm run --silent e2e

.PHONY: bench
bench: ready built prerequisites ## compare the running platform with peers and targets
	@npm run --silent bench
	@[ -n "$(ONLY)" ] || npm run --silent bench:measured

##@ Build
.PHONY: manifests
manifests: ready ## generate CRDs, RBAC and field tables
	@npm run --silent manifests

.PHONY: programs
programs: ## build the programs of tools/programs from pinned Go modules
	@tools/programs/build.sh

.PHONY: images
images: ready built ## build the images whose inputs changed
	@tools/images/build.sh

.PHONY: sbom
sbom: ## write CycloneDX documents of npm packages to dist/sbom
	@tools/supplyChain/sbom.sh

.PHONY: release
release: packages ## write a release to dist/release; with REGISTRY, publish it
	@VERSION='$(VERSION)' REGISTRY='$(REGISTRY)' tools/release/release.sh

.PHONY: publish
publish: packages ## publish dist/release to REGISTRY
	@REGISTRY='$(REGISTRY)' tools/release/publish.sh

.PHONY: packages
packages: ## install the npm packages
	@tools/ensurePackages.sh

.PHONY: prerequisites
prerequisites: ## install the Debian packages that tests need
	@tools/test/prerequisites.sh

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nVariables\n'
	@printf '  %-38s %s\n' \
	  'JOYPOD_CLUSTER' 'name of the cluster (default joypod; make test: joypod-test)' \
	  'JOYPOD_WEB_PORT' 'port of the page' \
	  'JOYPOD_GAME_NODES' 'game nodes of a new cluster (default 2)' \
	  'JOYPOD_CACHE' 'cache folder (default ~/.cache/joypod)' \
	  'JOYPOD_FROM_SOURCE' 'yes or no: build the cluster from source (default: automatic)' \
	  'JOYPOD_HELM_VALUES' 'file with chart values' \
	  'JOYPOD_DEMO_GAMES' 'demo games to upload: folders of games/' \
	  'JOYPOD_KUBE_CONTEXT' 'use this cluster; also set JOYPOD_IMAGE_REPOSITORY, JOYPOD_BASE_URL' \
	  'JOYPOD_KEEP' 'if set, tests keep their cluster' \
	  'JOYPOD_VULN_DB' 'URL of the Go vulnerability database (default https://vuln.go.dev)' \
	  'ONLY (make test)' 'parts to run: checks,unit,integration,e2e' \
	  'ONLY, LONG=1 (make bench)' 'rows to measure, such as launch,A5; include slow rows'

# npm packages and generated sources that are not committed.
.PHONY: ready
ready: packages
	@$(MAKE) --silent api/src/generated/client.ts

# Prisma requires an engine binary to generate, but does not run it.
api/src/generated/client.ts: api/prisma/schema.prisma package-lock.json
	@npm run --silent generate >/dev/null 2>&1 || npm run generate
	@touch $@

# Contents of the control plane's image.
.PHONY: built
built: web/dist/index.html api/dist/programs/api.js

api/dist/programs/api.js: $(programSources) api/prisma/schema.prisma package-lock.json | ready
	@node tools/bundle/controlPlane.ts
	@touch $@

web/dist/index.html: $(webSources) package-lock.json | ready
	@npm run --silent build:web -- --logLevel warn
	@touch $@
