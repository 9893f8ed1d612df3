#!/usr/bin/env bash
# build.sh NAME builds the program of the module NAME, and prints the folder with it and with the CRDs that it needs:
#   kustomize-controller  Flux's controller of Kustomizations
#   argocd                the program in argocd/, with Argo CD's sync engine
# The cache is keyed by the inputs of a build; progress goes to stderr.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/${1:?kustomize-controller or argocd}"
cache=${FETTLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fettle}/gitops
key=$({ cat ../build.sh go.mod go.sum; cat ./*.go 2>/dev/null || true; go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-16)
dir=$cache/$1-$key
if [ -e "$dir/.complete" ]; then
	echo "$dir"
	exit 0
fi

mkdir -p "$cache"
exec 9>"$cache/$1.lock"
flock 9
[ -e "$dir/.complete" ] && { echo "$dir"; exit 0; }
rm -rf "$dir"
mkdir -p "$dir/crd"

# build PACKAGE compiles the program.
build() {
	echo "gitops: building $name (once)" >&2
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$dir/$name" "$1" 9>&-
	echo "gitops: $name done in $SECONDS s" >&2
}

# crds MODULE VERSION FILE... copies CRDs from a module.
crds() {
	local source
	source=$(go mod download -json "$1@$2" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	(cd "$source" && install -m 644 "${@:3}" "$dir/crd/")
}

version() { go list -m -f '{{.Version}}' "$1"; }

name=$1
case $name in
kustomize-controller)
	build github.com/fluxcd/kustomize-controller
	crds github.com/fluxcd/kustomize-controller "$(version github.com/fluxcd/kustomize-controller)" config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml
	# The module of source-controller at the version of its API.
	crds github.com/fluxcd/source-controller "$(version github.com/fluxcd/source-controller/api)" config/crd/bases/source.toolkit.fluxcd.io_{buckets,externalartifacts,gitrepositories,ocirepositories}.yaml
	;;
argocd)
	build .
	crds github.com/argoproj/argo-cd/v3 "$(version github.com/argoproj/argo-cd/v3)" manifests/crds/application-crd.yaml
	;;
esac
touch "$dir/.complete"
echo "$dir"
