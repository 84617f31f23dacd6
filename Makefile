# rye. `make` alone explains itself; `make quickstart` and `make test` are the two
# commands to begin with. Needs Go and nothing else; writes into bin/, dist/ and man/.

GO      ?= go
PREFIX  ?= /usr/local
FUZZTIME ?= 30s
EXE     := $(shell $(GO) env GOEXE)
PROGRAMS := $(notdir $(wildcard cmd/*))

# All programs carry one build id, and refuse those with another.
# It is a digest of the sources, so that the same tree gives the same programs.
SOURCES := find . -name '.?*' -prune -o -name bin -prune -o -name dist -prune -o -type f \
	\( -name '*.go' ! -name '*_test.go' -o -name go.mod -o -name go.sum -o -path './stdlib/*' -o -path './scaffold/*' \) -print
SHA256  := { sha256sum 2>/dev/null || shasum -a 256 2>/dev/null || cksum; }
BUILD   := $(shell $(SOURCES) | LC_ALL=C sort | xargs cat | $(SHA256) | cut -c1-24)
VERSION := $(shell cat VERSION)

LDFLAGS := -s -w -X github.com/rye-os/rye/internal/build.version=v$(VERSION) -X github.com/rye-os/rye/internal/build.id=$(BUILD)
# urfave_cli_no_docs leaves out a Markdown library that costs each start 0.3 of 3.0 ms.
GOBUILD := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -tags urfave_cli_no_docs -ldflags '$(LDFLAGS)'

# Every go command compiles in the same way, because each other way compiles all modules once
# more. Names of files in messages are those of -trimpath, which begin with the module.
export GOFLAGS := -trimpath -tags=urfave_cli_no_docs $(GOFLAGS)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## the programs, into bin/
	$(GOBUILD) -o bin/ ./cmd/...

.PHONY: quickstart
quickstart: build ## the main job on real input, each step shown
	@$(GO) run ./internal/tools/quickstart -bin bin

# Without go vet, which reads all modules once more; make check and .ci/run run all of it.
TESTS ?= ./...
.PHONY: test
test: ## every test, as quickly as they go
	CGO_ENABLED=0 $(GO) test -vet=off -timeout 20m $(TESTS)

.PHONY: race
race: ## the same with the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -timeout 20m ./...

.PHONY: check
check: fmt vet tidy docs-check race cross-check ## all that a change must pass
	@echo "check: all passed"

.PHONY: fmt
fmt: # the sources are formatted
	@out=$$(gofmt -l $$(find . -name '.?*' -prune -o -name '*.go' -print)); \
	 test -z "$$out" || { echo "not formatted (gofmt -w):"; echo "$$out"; exit 1; }

.PHONY: vet
vet: # for every system that rye runs on, tests included
	@for os in linux darwin windows; do echo "vet $$os"; GOOS=$$os CGO_ENABLED=0 $(GO) vet ./... || exit 1; done

.PHONY: tidy
tidy: # go.mod says exactly what is used
	$(GO) mod tidy -diff

.PHONY: cross-check
cross-check: # every package builds for every system
	@for os in linux darwin windows; do echo "build $$os"; GOOS=$$os CGO_ENABLED=0 $(GO) build ./... || exit 1; done

.PHONY: cross
cross: ## the programs for every system, into dist/
	@for t in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do \
	   os=$${t%/*}; arch=$${t#*/}; dir=dist/rye-$(VERSION)-$$os-$$arch; echo $$dir; mkdir -p $$dir; \
	   GOOS=$$os GOARCH=$$arch $(GOBUILD) -o $$dir/ ./cmd/... || exit 1; cp LICENSE README.md $$dir/; done

.PHONY: man
man: ## the manual pages, into man/
	@$(GO) run ./internal/tools/man -o man
	@if command -v mandoc >/dev/null; then mandoc -T lint -W warning man/*.1; else echo "man: not linted, there is no mandoc here"; fi

.PHONY: install
install: build man ## the programs and the manual, into $(PREFIX)/bin (PREFIX=... to choose)
	mkdir -p '$(DESTDIR)$(PREFIX)/bin'
	cp $(PROGRAMS:%=bin/%$(EXE)) '$(DESTDIR)$(PREFIX)/bin/'
	mkdir -p '$(DESTDIR)$(PREFIX)/share/man/man1'
	cp man/*.1 '$(DESTDIR)$(PREFIX)/share/man/man1/'

.PHONY: bench
bench: build ## ours beside the peer's, interleaved, medians
	@$(GO) run ./internal/tools/bench -bin bin

.PHONY: bench-grow
bench-grow: build ## the same up to 100,000 items (an hour's quarter, 2 GB of disk)
	@$(GO) run ./internal/tools/bench -bin bin -sizes 100,1000,10000,100000

.PHONY: peers
peers: ## programs of others in the sandbox, where they are, git hosts, the SDKs of models, the MCP suite, its SDKs and clients
	@out=$$(RYE_PEERS=1 CGO_ENABLED=0 $(GO) test -count=1 -timeout 20m -v -run 'TestPeers' ./cmd/rye ./serve/mcp ./chain/primitive) && ok=1; \
	 echo "$$out" | sed -n 's/^ *[a-z_]*_test\.go:[0-9]*: //p'; test -n "$$ok" || { echo "$$out" | tail -5; exit 1; }
	@cd internal/tools/sdkpeers && echo "the SDKs of model providers:" && CGO_ENABLED=0 $(GO) test -mod=mod -count=1 ./...

.PHONY: live
live: build ## a cheap thread against each real service whose key is in the environment
	@$(GO) run ./internal/tools/live -bin bin

.PHONY: soak
soak: ## the long tests, then a minute of fuzzing for each parser
	RYE_SOAK=1 CGO_ENABLED=0 $(GO) test -count=1 -timeout 120m -v $$(grep -rl --include='*_test.go' RYE_SOAK . | xargs -n1 dirname | sort -u)
	$(MAKE) fuzz FUZZTIME=60s

.PHONY: mutants
mutants: ## break the program in many places: the test of each must notice
	@$(GO) run ./internal/tools/mutants

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (30s)
	@grep -rHo --include='*_test.go' 'func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file func; do \
	   name=$${func#func }; echo "fuzz $${file%/*} $$name"; \
	   CGO_ENABLED=0 $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$${file%/*}" || exit 1; done

.PHONY: golden
golden: ## rewrite the golden files; read the diff before you commit it
	$(GO) test $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update

.PHONY: docs
docs: ## rewrite what is generated below docs/
	$(GO) run ./internal/tools/docs
	$(GO) run ./internal/tools/schemas

.PHONY: docs-check
docs-check: # what is generated below docs/ is up to date
	$(GO) test -count=1 -run Docs ./internal/tools/docs ./internal/tools/schemas

.PHONY: stdlib-sign
stdlib-sign: ## sign a changed standard library with a key that is then thrown away
	$(GO) run ./internal/tools/stdlibsign

.PHONY: clean
clean: ## remove bin/, dist/ and man/
	rm -rf bin dist man
