#!/usr/bin/env bash
# Builds etcd, kube-apiserver and kubectl from Go modules and prints the folder
# with them, for use as KUBEBUILDER_ASSETS.
#
# If KUBEBUILDER_ASSETS is set, it is used. A first build takes five to ten minutes on two cores.
set -euo pipefail

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
	echo "$KUBEBUILDER_ASSETS"
	exit 0
fi

cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=/dev/null
. ../buildcache.sh
open_cache controlplane < <(cat go.mod go.sum build.sh)

version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
minor=${minor%%.*}
# Without these, the API server reports v0.0.0 and clients disable features.
stamp=k8s.io/component-base/version
ldflags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=$minor"

# build NAME PACKAGE compiles a binary, and shows the elapsed seconds on a terminal.
build() {
	local name=$1 package=$2 start=$SECONDS pid
	say "building $name ($version, once)"
	CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags" -o "$out/$name" "$package" 9>&- &
	pid=$!
	if [ -t 2 ]; then
		while kill -0 "$pid" 2>/dev/null; do
			printf '\r  %4d s' $((SECONDS - start)) >&2
			sleep 1
		done
		printf '\r' >&2
	fi
	wait "$pid"
	say "$name done in $((SECONDS - start)) s"
}

go mod download
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kubectl k8s.io/kubernetes/cmd/kubectl
close_cache
