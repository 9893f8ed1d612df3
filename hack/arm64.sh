#!/usr/bin/env bash
# Runs the programs of the arm64 images on another architecture: Debian's qemu-user-static is unpacked
# into the cache, not installed.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${1:?the folder with the arm64 binaries}
cache=${FETTLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fettle}/qemu
qemu=$cache/usr/bin/qemu-aarch64-static

if [ ! -x "$qemu" ]; then
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	chmod 755 "$scratch" # apt downloads as another user
	(cd "$scratch" && apt-get --quiet=2 download qemu-user-static)
	mkdir -p "$cache"
	dpkg-deb --fsys-tarfile "$scratch"/*.deb | tar -x -C "$cache" --wildcards './usr/bin/qemu-aarch64-static'
fi
"$qemu" "$bin/fettle" validate -f config/samples
"$qemu" "$bin/kubectl-fettle" version --client
"$qemu" "$bin/manager" -help 2>&1 | grep --quiet leader-elect
"$qemu" "$bin/nodeagent" -help 2>&1 | grep --quiet probe-socket
