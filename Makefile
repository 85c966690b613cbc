# Joypod: `make up` runs the platform, `make test` proves it. `make` alone lists what there is.
# Node comes with the npm packages, so their programs go first.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
# What Node compiled is kept for the next program, which starts in half the time.
export NODE_COMPILE_CACHE ?= $(CURDIR)/node_modules/.cache/node
SHELL := /bin/bash
.DEFAULT_GOAL := help
# What a full disk cut off is not built.
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

programSources := $(shell find api/src packages/runtime/src packages/archive/src packages/s3/src packages/kube/src operator/src node-agent/src session/packer/src packages/contracts/src tools/bundle -type f -not -path 'api/src/generated/*' 2>/dev/null)
webSources := $(shell find web packages/contracts/src -type f -not -path 'web/dist/*' 2>/dev/null)

##@ Run the platform
.PHONY: up
up: ## bring everything up: cluster, images, chart, demo player and games; prints where to play
	@tools/platform/up.sh

.PHONY: down
down: ## stop the platform and keep its data; `make up` starts it again
	@tools/platform/down.sh

.PHONY: clean-cluster
clean-cluster: ## remove the cluster, its data and its credentials (caches stay)
	@tools/cluster/delete.sh

##@ Prove it
.PHONY: test
test: ready built ## everything: lint, types, generated files, known vulnerabilities, unit, integration, e2e; ends with `N passed, N failed`
	@node tools/test/run.ts

.PHONY: fmt
fmt: packages ## format every source file
	@tools/fmt.sh

.PHONY: lint
lint: ready ## formatting, code style, types, import ranks, shell scripts
	@tools/fmt.sh --check
	@npm run --silent lint
	@tools/test/lintShell.sh
	@tools/test/lintWorkflows.sh

.PHONY: typecheck
typecheck: ready ## TypeScript, strict
	@npm run --silent typecheck

.PHONY: verify
verify: ready ## generated files are what the generators make
	@tools/manifests/verify.sh

.PHONY: audit
audit: ## check npm packages and Go programs for known vulnerabilities
	@tools/supplyChain/audit.sh

.PHONY: unit
unit: ready ## unit tests (seconds)
	@npm run --silent unit

.PHONY: integration
integration: ready built prerequisites ## integration tests on real Postgres, Redis, MinIO, etcd and kube-apiserver
	@tools/programs/build.sh etcd kube-apiserver kubectl helm minio turn
	@npm run --silent integration

.PHONY: soak
soak: ready built prerequisites ## what takes many minutes by its nature: the longest and the largest uploads
	@tools/programs/build.sh etcd kube-apiserver minio
	@npm run --silent soak

.PHONY: test-long
test-long: ready built prerequisites ## what `make test` leaves out: faults, floods and variations; hundreds of histories of saves; a fault at each write of each program; many combinations of the chart's values; the longest uploads; Schemathesis and openapi-ts, installed in the cache, on all of /openapi.json; disks that lose their power; on a cluster, the install guide, an upgrade, more hostile games, shared GPUs, the accelerated display, faults
	@tools/ensureDebian.sh coturn
	@tools/programs/build.sh etcd kube-apiserver helm minio turn
	@tools/test/long.sh

.PHONY: e2e
e2e: ready prerequisites ## end-to-end tests in a real browser against `JOYPOD_HELM_VALUES=test/e2e/values.yaml make up`
	@npm run --silent e2e

.PHONY: bench
bench: ready built prerequisites ## measure the running platform: id, ours, peer, limit, ratio, target, PASS or FAIL; ONLY=launch,A5: these parts alone, LONG=1: R5 too
	@npm run --silent bench
	@[ -n "$(ONLY)" ] || npm run --silent bench:measured

##@ Make parts
.PHONY: manifests
manifests: ready ## write CRDs, RBAC, field tables and docs/http.md from the code
	@npm run --silent manifests

.PHONY: programs
programs: ## build every program of tools/programs from its pinned Go module
	@tools/programs/build.sh

.PHONY: images
images: ready built ## build the images whose inputs changed
	@tools/images/build.sh

.PHONY: sbom
sbom: ## write what the images install from npm to dist/sbom (CycloneDX)
	@tools/supplyChain/sbom.sh

.PHONY: release
release: packages ## write a release to dist/release: images, chart, command lines, SBOMs, checksums; REGISTRY=host/path: publish it there
	@VERSION='$(VERSION)' REGISTRY='$(REGISTRY)' tools/release/release.sh

.PHONY: publish
publish: packages ## put dist/release into REGISTRY=host/path
	@REGISTRY='$(REGISTRY)' tools/release/publish.sh

.PHONY: packages
packages: ## install the npm packages of package-lock.json
	@tools/ensurePackages.sh

.PHONY: prerequisites
prerequisites: ## install the Debian packages that tests need
	@tools/test/prerequisites.sh

.PHONY: help
help: ## this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nVariables: JOYPOD_CLUSTER (name, default joypod; joypod-test for make test), JOYPOD_WEB_PORT, JOYPOD_GAME_NODES (of a new cluster, default 2), JOYPOD_CACHE, JOYPOD_FROM_SOURCE (yes or no; else what the machine can do), JOYPOD_HELM_VALUES (a file), JOYPOD_DEMO_GAMES (folders of games/), JOYPOD_KUBE_CONTEXT with JOYPOD_IMAGE_REPOSITORY and JOYPOD_BASE_URL, JOYPOD_KEEP (tests keep their cluster)\n'

# node_modules and what is generated into the source tree but not committed.
.PHONY: ready
ready: packages
	@$(MAKE) --silent api/src/generated/client.ts

# Prisma wants to see an engine before it generates, and then uses none.
api/src/generated/client.ts: api/prisma/schema.prisma package-lock.json
	@npm run --silent generate >/dev/null 2>&1 || npm run generate
	@touch $@

# What the control plane's image runs and serves.
.PHONY: built
built: web/dist/index.html api/dist/programs/api.js

api/dist/programs/api.js: $(programSources) api/prisma/schema.prisma package-lock.json | ready
	@node tools/bundle/controlPlane.ts
	@touch $@

web/dist/index.html: $(webSources) package-lock.json | ready
	@npm run --silent build:web -- --logLevel warn
	@touch $@
