# netwhy: what can be done here. "make" alone prints it.

.DEFAULT_GOAL := help
.PHONY: help demo setup build install package test lint fuzz bench large microbench profile accuracy licenses clean

GO        ?= go
BIN       := bin/netwhy
BENCH     ?= ../shared/bench/make-bench.sh
SCALE     ?= 1
FUZZTIME  ?= 10s
TESTFLAGS ?=
DEMO      ?= fixtures/captures/slow-database.pcap
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Without the part of a library that writes manuals from Markdown: ours is written
# otherwise, and its tables cost each start 6 of 100 instructions.
TAGS      := urfave_cli_no_docs
LDFLAGS   := -X netwhy/cmd/netwhy/internal/cli.release=$(VERSION)

help: ## print this help
	@echo "netwhy: why a connection is slow, broken or refused"
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'
	@echo
	@echo "  DEMO=FILE, FUZZTIME=10s, SCALE=0.1, TESTFLAGS='-run TestX -v' change what they do"

demo: build ## install what is missing, build, and replay a faulty capture
	@echo "\$$ netwhy replay $(DEMO)"
	@$(BIN) replay $(DEMO)

setup: ## install what building needs (apt-get; sudo only when not root)
	@sh .ci/setup

# A file as the linker wrote it lies in the page cache in pieces of megabytes, each of
# which counts as a process's memory once a byte of it is touched: 10 MiB more than a copy.
build: setup ## build bin/netwhy
	@$(GO) build -pgo=auto -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN).linked ./cmd/netwhy
	@install -m 0755 $(BIN).linked $(BIN)
	@echo "built $(BIN)"

install: build ## copy netwhy to /usr/local/bin (PREFIX=... for elsewhere)
	install -D -m 0755 $(BIN) $(DESTDIR)$(or $(PREFIX),/usr/local)/bin/netwhy

package: setup ## make dist/: a .deb, and a static binary without libpcap
	@GO='$(GO)' TAGS='$(TAGS)' sh .ci/package '$(VERSION)'

test: setup ## run all tests, with the race detector
	$(GO) test -pgo=off -race -timeout 15m $(TESTFLAGS) ./...

lint: setup ## go vet and golangci-lint (built on first use)
	@sh .ci/lint

fuzz: setup ## run every fuzz target for FUZZTIME
	@sh .ci/fuzz $(FUZZTIME)

bench: build large ## build large captures, run netwhy, tshark and tcptrace in turn, print ratios
	@mkdir -p fixtures/bench
	$(GO) run ./cmd/bench -netwhy $(BIN) -table fixtures/bench/table.txt bench-out/*.pcap
	$(GO) run ./cmd/bench shares bench-out/*.pcap

large:
	@ls bench-out/*.pcap >/dev/null 2>&1 || { test -f $(BENCH) && sh $(BENCH) "$$PWD/bench-out" $(SCALE); } || \
		{ echo "no captures: put some large ones in bench-out/, or name a script that makes them (BENCH=...)"; exit 1; }

profile: setup large ## tell the compiler what is hot: profile replays of large captures (cmd/netwhy/default.pgo)
	NETWHY_BENCH="$$(echo $$PWD/bench-out/*.pcap)" $(GO) test -trimpath -pgo=off -run '^$$' -bench '^BenchmarkReplay$$' -benchtime 8s \
		-cpuprofile $$PWD/cmd/netwhy/default.pgo -o $$PWD/bench-out/profile.test ./cmd/netwhy/internal/run
	rm -f bench-out/profile.test

microbench: setup ## run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

accuracy: setup ## judge the labelled captures, and tshark's expert info on them
	NETWHY_ALL=1 $(GO) test -count=1 -run '^TestAccuracy$$' -v ./rules

licenses: ## list the licences of everything linked in
	@sh .ci/licenses

clean: ## remove what was built
	rm -rf bin dist bench-out
