#!/usr/bin/env bash
# Writes NAME.tsv and NAME.json beside every capture of testdata/pcap with the
# given program, as the golden tests read them.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$1

for capture in testdata/pcap/*.pcap*; do
	name=${capture%.pcap*}
	config=()
	if [ -e "$name.yaml" ]; then config=(-c "$name.yaml"); fi
	for golden in "$name.tsv" "$name.json"; do
		"$program" replay --quiet "${config[@]}" --golden "$golden" --update "$capture"
	done
done
git --no-pager diff --stat -- testdata/pcap 2>/dev/null || true
