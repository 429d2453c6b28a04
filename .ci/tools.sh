#!/usr/bin/env bash
# Installs the Debian packages that the tests use, when this is root on a
# machine with apt. Elsewhere it prints what is missing and fails, which the
# caller may ignore: each test group says by itself what it cannot do.
set -euo pipefail

packages=(
	gcc libc6-dev          # race detector, DPDK binding
	pkg-config libdpdk-dev # DPDK binding
	dpdk                   # its tools
	tshark tcpdump         # second opinions on captures
	iproute2 ethtool iputils-ping
	qemu-user-static       # tests of other architectures
	git gzip zstd
)

if ! command -v dpkg-query >/dev/null; then
	echo "no dpkg here; the tests use what these Debian packages hold: ${packages[*]}"
	exit 1
fi
missing=()
for p in "${packages[@]}"; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
if [ ${#missing[@]} -eq 0 ]; then
	echo "all ${#packages[@]} packages are there"
	exit 0
fi
echo "missing: ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
	echo "not root; to install: sudo apt-get install ${missing[*]}"
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
	tail -n 20 "$log"
	echo "apt-get could not install them"
	exit 1
fi
echo "installed ${#missing[@]} packages"
