#!/usr/bin/env bash
# Builds etcd, kube-apiserver and kubectl from Go modules and prints the folder
# with them, for use as KUBEBUILDER_ASSETS.
#
# If KUBEBUILDER_ASSETS is set, it is used. The cache is keyed by the inputs of a
# build (versions, this script, the Go toolchain, the platform), so an existing folder
# is up to date, and the cache can be deleted at any time. A first build takes
# five to ten minutes on two cores; progress goes to stderr, the folder to stdout.
set -euo pipefail

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
	echo "$KUBEBUILDER_ASSETS"
	exit 0
fi

cd "$(dirname "${BASH_SOURCE[0]}")"
cache=${FETTLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fettle}
key=$({ cat go.mod go.sum build.sh; go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-16)
bin=$cache/controlplane/$key
if [ -e "$bin/.complete" ]; then
	echo "$bin"
	exit 0
fi

say() { printf '%s\n' "$*" >&2; }

# Only one build runs at a time, because parallel builds take longer.
mkdir -p "$cache/controlplane"
exec 9>"$cache/controlplane/lock"
if ! flock -n 9; then
	say "controlplane: another build is running, waiting for it"
	flock 9
	[ -e "$bin/.complete" ] && { echo "$bin"; exit 0; }
fi

version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
minor=${minor%%.*}
# Without these, the API server reports v0.0.0 and clients disable features.
stamp=k8s.io/component-base/version
ldflags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=$minor"

# build NAME PACKAGE compiles a binary, and shows the elapsed seconds on a terminal.
build() {
	local name=$1 package=$2 start=$SECONDS pid
	say "controlplane: building $name ($version, once)"
	CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags" -o "$bin/$name" "$package" 9>&- &
	pid=$!
	if [ -t 2 ]; then
		while kill -0 "$pid" 2>/dev/null; do
			printf '\r  %4d s' $((SECONDS - start)) >&2
			sleep 1
		done
		printf '\r' >&2
	fi
	wait "$pid"
	say "controlplane: $name done in $((SECONDS - start)) s"
}

rm -rf "$bin"
mkdir -p "$bin"
say "controlplane: downloading modules"
go mod download
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kubectl k8s.io/kubernetes/cmd/kubectl
touch "$bin/.complete"
echo "$bin"
