# Tidegate's chores. `make` alone lists them.

GO      ?= go
BIN     := bin/tidegate
VERSION ?= $(or $(shell git describe --tags --always --dirty 2>/dev/null),devel)
# Versions are stamped by -ldflags, so the build works in a tree that git will not read.
BUILD_FLAGS := -buildvcs=false -ldflags '-X main.version=$(VERSION)'

# Tools are pinned in a module of their own: see docs/decisions.md, 1.
TOOL := $(GO) tool -modfile=go.tools.mod

# The packages that decide and are pure; the race detector watches these.
RACE_FOLDERS := api nodegroups snapshot scheduling estimator plan

BENCH       ?= .
BENCH_COUNT ?= 1
FUZZ_TIME   ?= 10s

# From outside the repository: scenario folders, with the checker that compares them, and
# the openb trace.
SCENARIOS        ?= ../shared/scenarios
OPENB            ?= ../shared/data/openb
SCENARIO_NUMBERS := 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 22 23 24 25 26 27 28 29 30
SCENARIO_FOLDERS  = $(foreach n,$(SCENARIO_NUMBERS),$(wildcard $(SCENARIOS)/$(n)-*)) \
                    $(patsubst %/expect.json,%,$(wildcard plan/testdata/scenarios/*/expect.json))

# One hash over everything that git sees as changed or new.
TREE_STATE = { git diff HEAD; git ls-files --others --exclude-standard; \
               git ls-files --others --exclude-standard -z | xargs -0 -r cat; } | git hash-object --stdin

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## build bin/tidegate
	$(GO) build $(BUILD_FLAGS) -o $(BIN) ./cmd/tidegate

.PHONY: run
run: build ## build, then plan the built-in example
	$(BIN) plan --example

.PHONY: generate
generate: ## write generated files and format all Go code
	$(GO) generate ./...
	gofmt -s -w .

.PHONY: lint
lint: ## run the linters, go vet among them (settings: .golangci.yml)
	$(TOOL) golangci-lint run ./...

.PHONY: test
test: ## run all tests
	$(GO) test ./...

.PHONY: race
race: ## run the tests of the pure packages under the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 30m $(foreach f,$(wildcard $(RACE_FOLDERS)),./$(f)/...)

.PHONY: bench
bench: ## run benchmarks; BENCH=pattern, BENCH_COUNT=n
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCH_COUNT) ./...

.PHONY: benchstat
benchstat: ## compare two files of benchmark results: OLD=file NEW=file
	$(TOOL) benchstat $(OLD) $(NEW)

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZ_TIME (10s)
	@grep -roE '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' . | sed 's/:func / /' | sort | \
	while read -r file name; do \
		echo "$$name in $${file%/*}"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZ_TIME) "$${file%/*}" </dev/null || exit 1; \
	done

.PHONY: scenarios
ifeq ($(wildcard $(SCENARIOS)/check),)
scenarios: ## plan every scenario and compare with what is expected; SCENARIOS=folder
	@echo "scenarios skipped: no checker at $(SCENARIOS)/check (our own run in make test)"
else
scenarios: build
	$(SCENARIOS)/check $(BIN) $(SCENARIO_FOLDERS)
endif

.PHONY: e2e
e2e: ## carry scenario plans out on a real control plane, built once; E2E_RUN=pattern
	@bin=$$(GO=$(GO) e2e/control-plane/build.sh) && \
	TIDEGATE_E2E_BIN=$$bin TIDEGATE_SCENARIOS=$(abspath $(SCENARIOS)) TIDEGATE_OPENB=$(abspath $(OPENB)) \
	$(GO) test -tags e2e -count 1 -timeout 30m -v $(if $(E2E_RUN),-run '$(E2E_RUN)') ./e2e

.PHONY: verify
verify: ## generate, lint and test; fails if generated files or go.mod were stale
	@before=$$($(TREE_STATE)) && $(MAKE) --no-print-directory generate && \
	if [ "$$before" != "$$($(TREE_STATE))" ]; then \
		git status --short; echo "verify: make generate changed files; look at them and run it again" >&2; exit 1; \
	fi
	$(GO) mod tidy -diff
	@$(MAKE) --no-print-directory lint test

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
	find . -name '*.test' -type f -not -path './.git/*' -delete
	find . -name '*.prof' -type f -not -path './.git/*' -delete
