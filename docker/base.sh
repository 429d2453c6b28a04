#!/usr/bin/env bash
# Makes the two images that docker/Dockerfile builds on, without a registry: a
# Debian 12 by debootstrap, with the run-time packages (edemux-runtime), and the
# same with a compiler, libdpdk-dev, this machine's Go and the modules that go.mod
# names (edemux-build), so that the build needs no network.
#
# Usage, as root: docker/base.sh [FOLDER]. FOLDER (default: a temporary one, which
# is removed) keeps the trees, so that a second run goes on from them.
# MIRROR: the Debian mirror; default: the one this machine's apt uses.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=bookworm
die() { echo "docker/base.sh: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "debootstrap: needs root"
for tool in debootstrap docker go; do
	command -v "$tool" >/dev/null || die "$tool: not installed"
done

mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -v security | head -1)}
[ -n "$mirror" ] || die "no Debian mirror known: set MIRROR"

if [ $# -gt 0 ]; then
	work=$1
	mkdir -p "$work"
else
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
fi

# The same lists as the Dockerfile uses when it starts from other images.
runtime=$(grep -v '^#' docker/runtime.pkgs)
build=$(grep -v '^#' docker/build.pkgs)

# install TREE PACKAGE... installs by the tree's own apt, with this machine's way
# to the mirror.
install_in() {
	local tree=$1
	shift
	cp /etc/resolv.conf "$tree/etc/resolv.conf"
	[ ! -e /etc/apt/apt.conf ] || cp /etc/apt/apt.conf "$tree/etc/apt/apt.conf"
	chroot "$tree" apt-get -qq update
	DEBIAN_FRONTEND=noninteractive chroot "$tree" apt-get -qq install --no-install-recommends -y "$@" >"$tree.log" 2>&1 ||
		die "apt-get install in $tree: $(tail -1 "$tree.log")"
	chroot "$tree" apt-get clean
	rm -rf "$tree"/var/lib/apt/lists/* "$tree"/usr/share/{doc,man,locale,info}/* "$tree/etc/resolv.conf" "$tree/etc/apt/apt.conf"
}

# image TREE NAME [--change...] makes an image of a tree.
image() {
	local tree=$1 name=$2
	shift 2
	tar -C "$tree" --numeric-owner -c . | docker import "$@" - "$name" >/dev/null
	echo "$name: $(du -sh "$tree" | cut -f1)"
}

if [ ! -e "$work/runtime/.ready" ]; then
	rm -rf "$work/runtime"
	debootstrap --variant=minbase "$suite" "$work/runtime" "$mirror" >"$work/debootstrap.log" 2>&1 ||
		die "debootstrap: $(tail -1 "$work/debootstrap.log")"
	install_in "$work/runtime" $runtime
	touch "$work/runtime/.ready"
fi
image "$work/runtime" edemux-runtime:$suite

if [ ! -e "$work/build/.ready" ]; then
	rm -rf "$work/build"
	cp -a "$work/runtime" "$work/build"
	install_in "$work/build" $build
	touch "$work/build/.ready"
fi
mkdir -p "$work/build/usr/local/go" "$work/build/modules"
cp -a "$(go env GOROOT)/." "$work/build/usr/local/go"
go mod download
cp -a "$(go env GOMODCACHE)/cache/download/." "$work/build/modules"
image "$work/build" edemux-build:$suite \
	--change 'ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
	--change 'ENV GOPROXY=file:///modules GOSUMDB=off GOTOOLCHAIN=local'
