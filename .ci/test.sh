#!/usr/bin/env bash
# Runs test groups one after the other: `.ci/test.sh` all, `.ci/test.sh unit
# race` these. Each has a heading with its time; a table comes last. A group
# that lacks a tool is skipped, or failed when EDEMUX_STRICT=1.
set -uo pipefail
cd "$(dirname "$0")/.."

strict=${EDEMUX_STRICT:-0}
groups=(tools format vet staticcheck repo build unit race golden captures cli judge dpdk arm64 s390x)

# Packages outside ./..., because testdata is not searched for packages.
tooling=./testdata/record/peer
module=$(go list -m) || exit 1

# A group returns 0, 1, or $lacking after it said what it needs.
lacking=77

need() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || { echo "needs $tool"; return "$lacking"; }
	done
}

need_dpdk() {
	need pkg-config cc || return
	pkg-config --exists libdpdk || { echo "needs libdpdk-dev"; return "$lacking"; }
}

# The whole program and the repository are tested by the package at the root,
# which builds the program itself and must see the files as they are now.
root_tests() { CGO_ENABLED=0 go test -count=1 -timeout 9m -run "$1" .; }

# Packages with tests, without those that have a group of their own: the one at
# the root and the judge. Further arguments of go list are allowed.
packages() {
	go list "$@" -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... |
		grep -vxE "$module(/cli/judge.*)?"
}

# Packages that need no operating system of their own, no terminal, no clock that
# keeps pace and no program beside them.
pure_packages() {
	packages | grep -vE "^$module/(app|dataplane/dpdk|cli/(bench|completion|daemon|shell|top))(/|\$)"
}

# Lines of `go test` that say nothing.
quiet() { sed -E '/^\?|^ok .*\[no tests to run\]/d'; }

about_tools="Debian packages that the tests use"
group_tools() {
	.ci/tools.sh || return "$lacking"
}

about_format="gofmt"
group_format() {
	local bad
	bad=$(git -c safe.directory='*' ls-files '*.go' 2>/dev/null || find . -name '*.go')
	bad=$(gofmt -l $bad) || return 1
	[ -z "$bad" ] || { echo "gofmt -w is due: $bad"; return 1; }
}

about_vet="go vet, without and with DPDK"
group_vet() {
	CGO_ENABLED=0 go vet ./... "$tooling" || return 1
	need_dpdk || return
	CGO_ENABLED=1 go vet -tags dpdk ./...
}

about_staticcheck="staticcheck, without and with DPDK"
group_staticcheck() {
	CGO_ENABLED=0 go tool staticcheck ./... "$tooling" || return 1
	need_dpdk || return
	CGO_ENABLED=1 go tool staticcheck -tags dpdk ./...
}

about_repo="import direction, lengths, comments, documents"
group_repo() { root_tests '^TestRepo'; }

about_build="builds without cgo: this machine, arm64, s390x"
group_build() {
	local arch
	for arch in "$(go env GOARCH)" arm64 s390x; do
		CGO_ENABLED=0 GOARCH=$arch go build ./... || return 1
	done
}

about_unit="unit tests and fuzz seeds, without cgo"
group_unit() { CGO_ENABLED=0 go test -shuffle=on -timeout 9m $(packages) | quiet; }

# Tests of how long something takes or how much memory it needs say nothing
# under the race detector or an emulator.
measuring='Hostile|Bounded'

about_race="the same under the race detector"
group_race() {
	need cc || return
	CGO_ENABLED=1 go test -race -timeout 9m -skip "$measuring" $(packages) | quiet
}

about_golden="golden replays of testdata/pcap"
group_golden() { root_tests '^TestGolden'; }

about_captures="real captures of EDEMUX_CAPTURES"
group_captures() { root_tests '^TestCaptures'; }

about_cli="the command line, also in a terminal; what the README shows"
group_cli() { root_tests '^Test(Script|Readme)'; }

about_judge="the running kernel decides the same, in namespaces of our own"
group_judge() {
	[ "$(id -u)" -eq 0 ] || { echo "needs root"; return "$lacking"; }
	CGO_ENABLED=0 go test -count=1 -timeout 9m ./cli/judge/... | quiet
}

about_dpdk="packages that link DPDK, on virtual devices"
group_dpdk() {
	need_dpdk || return
	local linked
	linked=$(CGO_ENABLED=1 go list -tags dpdk -test -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}} {{join .Deps " "}}' ./... |
		awk -v dpdk="$module/dataplane/dpdk" '$1 == dpdk || index($0 " ", " " dpdk " ") { sub(/_test$|\.test$/, "", $1); print $1 }' | sort -u)
	linked=$(grep -xF "$linked" <(CGO_ENABLED=1 packages -tags dpdk))
	[ -n "$linked" ] || { echo "no package with tests links DPDK"; return 1; }
	CGO_ENABLED=1 go build -tags dpdk ./... || return 1
	CGO_ENABLED=1 go test -tags dpdk -timeout 9m $linked | quiet
}

# Emulation is slow and its signals are fragile: short tests, no preemption by
# signal. Tests that compare with programs of this machine say nothing about the
# byte order and are left out.
emulated() { # GOARCH QEMU
	need "$2" || return
	CGO_ENABLED=0 GOARCH=$1 GODEBUG=asyncpreemptoff=1 go test -short -timeout 9m -exec "$2" \
		-skip "$measuring|Mutations|Against|Tshark|Stress|Soak" $(pure_packages) | quiet
}

about_arm64="pure packages on arm64 under qemu-user"
group_arm64() { emulated arm64 qemu-aarch64-static; }

about_s390x="pure packages on s390x (big-endian) under qemu-user"
group_s390x() { emulated s390x qemu-s390x-static; }

[ $# -eq 0 ] || groups=("$@")
summary=()
failed=0
begin=$SECONDS
for g in "${groups[@]}"; do
	about=about_$g
	[ "$(type -t "group_$g")" = function ] || { echo "test.sh: no group $g" >&2; exit 2; }
	printf '\n=== %s: %s\n' "$g" "${!about}"
	from=$SECONDS
	"group_$g"
	code=$?
	took=$((SECONDS - from))
	case $code in
	0) word=ok ;;
	"$lacking")
		word=skipped
		[ "$strict" != 1 ] || { word="FAILED (lacks a tool)"; failed=1; }
		;;
	*) word=FAILED failed=1 ;;
	esac
	printf -- '--- %s: %s, %d s\n' "$g" "$word" "$took"
	summary+=("$(printf '%-12s %5d s  %-8s %s' "$g" "$took" "$word" "${!about}")")
done

printf '\n=== summary, %d s\n' $((SECONDS - begin))
printf '%s\n' "${summary[@]}"
exit "$failed"
