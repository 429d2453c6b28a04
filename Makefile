# edemux: what a user and a developer run. `make help` lists the targets.

GO        ?= go
PREFIX    ?= /usr/local
DESTDIR   ?=
FUZZTIME  ?= 10m
FUZZJOBS  ?= 1
BENCH     ?= .
BENCHTIME ?= 200ms

# Go's own archives unpack here, and a login shell may not know it yet.
export PATH := $(PATH):/usr/local/go/bin

# git refuses a work tree of another user, and then the go command cannot stamp
# the version; a build without the stamp is better than none.
VCS := $(shell git rev-parse --verify -q HEAD >/dev/null 2>&1 || echo -buildvcs=false)

# DPDK needs its headers and a C compiler; without either the build is pure Go.
DPDK := $(shell pkg-config --exists libdpdk 2>/dev/null && command -v cc >/dev/null 2>&1 && echo yes)

GOBUILD = $(GO) build -trimpath $(VCS)

.DEFAULT_GOAL := build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: need-go ## build without cgo and replay a capture of a web and a name server; needs only Go
	CGO_ENABLED=0 $(GOBUILD) -o bin/edemux ./app/edemux
	bin/edemux replay web=testdata/pcap/http.pcap dns=testdata/pcap/dns.pcap

build: need-go ## bin/edemux, with DPDK when libdpdk is installed
ifeq ($(DPDK),yes)
	CGO_ENABLED=1 $(GOBUILD) -tags dpdk -o bin/edemux ./app/edemux
else
	CGO_ENABLED=0 $(GOBUILD) -o bin/edemux ./app/edemux
endif

test: need-go ## everything; as root on Debian it installs the tools that it lacks
	@.ci/test.sh

lint: need-go ## formatting, vet, staticcheck, imports and lengths
	@.ci/test.sh format vet staticcheck repo

golden: need-go ## write the golden files of testdata/pcap again (read the difference!)
	CGO_ENABLED=0 $(GOBUILD) -o bin/edemux ./app/edemux
	@.ci/golden.sh bin/edemux

bench: need-go ## Go benchmarks: BENCH=regexp, BENCHTIME=200ms
	CGO_ENABLED=0 $(GO) test -run '^$$' -bench '$(BENCH)' -benchtime '$(BENCHTIME)' -benchmem ./...

pgo: install ## profile the walk for the compiler again (app/edemux/default.pgo), with what is installed
	'$(DESTDIR)$(PREFIX)/bin/edemux' bench pipeline --rounds 3 --cpuprofile app/edemux/default.pgo

fuzz: need-go ## every fuzz target for FUZZTIME=10m, FUZZJOBS=1 at a time
	@.ci/fuzz.sh '$(FUZZTIME)' '$(FUZZJOBS)'

install: build ## bin/edemux to DESTDIR/PREFIX/bin
	install -D -m 755 bin/edemux '$(DESTDIR)$(PREFIX)/bin/edemux'

clean: ## remove what was built
	rm -rf bin dist

need-go:
	@command -v $(GO) >/dev/null 2>&1 || { \
		echo "make: Go is missing: edemux needs Go 1.26. Get it from https://go.dev/dl/ and unpack it into /usr/local" >&2; \
		echo "      (Go 1.21 or newer, from wherever, fetches 1.26 by itself; Debian 12's own 1.19 is too old)" >&2; \
		exit 1; }

.PHONY: help demo build test lint golden bench pgo fuzz install clean need-go
