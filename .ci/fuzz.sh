#!/usr/bin/env bash
# Runs every fuzz target: .ci/fuzz.sh [TIME EACH] [HOW MANY AT ONCE]. What one
# finds stays in its package's testdata/fuzz and is a test from then on.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10m} jobs=${2:-1}

targets() {
	local pkg
	for pkg in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
		CGO_ENABLED=0 go test -list '^Fuzz' "$pkg" | awk -v pkg="$pkg" '/^Fuzz/ { print pkg, $1 }'
	done
}

# Cores are shared out: each target has as many workers as its share.
cores=$(nproc)
share=$((cores / jobs > 0 ? cores / jobs : 1))
fuzz_one() {
	echo "=== $1 $2"
	CGO_ENABLED=0 go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" -parallel "$4" "$1"
}
export -f fuzz_one

all=$(targets)
[ -n "$all" ] || { echo "no fuzz target found" >&2; exit 1; }
echo "$(wc -l <<<"$all") targets, $time each, $jobs at a time"
xargs -P "$jobs" -L 1 bash -c 'fuzz_one "$0" "$1" "$2" "$3"' < <(sed "s/\$/ $time $share/" <<<"$all")
