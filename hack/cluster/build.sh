#!/usr/bin/env bash
# Builds from Go modules what a test cluster needs in addition to hack/controlplane, and prints
# the folder with it:
#
#   bin/      kube-controller-manager, kube-scheduler
#   node/     the tree of a node's programs: kubelet, kube-proxy, containerd, runc, CNI plugins
#   images/   pause and CoreDNS, as archives for `ctr images import`
#
# A first build takes ten minutes on two cores.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=/dev/null
. ../buildcache.sh
open_cache cluster < <(find . ../controlplane/go.* ../image/go.* -type f -print0 | sort -z | xargs -0 cat)
mkdir -p "$out"/{bin,images,node/usr/local/bin,node/opt/cni/bin}

# build MODULE PACKAGE FILE [FLAG...] compiles a program of a module.
build() {
	local module=$1 package=$2 file=$3 start=$SECONDS
	shift 3
	say "building ${file##*/}, once"
	(cd "$module" && CGO_ENABLED=${CGO_ENABLED:-0} go build -trimpath "$@" -o "$out/$file" "$package") 9>&-
	say "${file##*/} done in $((SECONDS - start)) s"
}

version() { (cd "$1" && go list -m -f '{{.Version}}' "$2"); }

kubernetes() {
	local version minor stamp=k8s.io/component-base/version
	version=$(version ../controlplane k8s.io/kubernetes)
	minor=${version#v1.}
	build ../controlplane "k8s.io/kubernetes/cmd/$1" "$2" \
		-ldflags "-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}"
}

containerd() {
	build containerd "github.com/containerd/containerd/v2/cmd/$1" "node/usr/local/bin/$1" -tags "no_btrfs no_zfs no_devmapper" \
		-ldflags "-s -w -X github.com/containerd/containerd/v2/version.Version=$(version containerd github.com/containerd/containerd/v2)"
}

# runc needs libseccomp, or pods with seccompProfile RuntimeDefault do not start. It is linked
# statically from a package that is unpacked here, not installed.
runc() (
	local dir=$out/seccomp lib
	mkdir "$dir"
	(cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download libseccomp-dev && dpkg -x libseccomp-dev_*.deb .)
	lib=$(dirname "$(find "$dir" -name libseccomp.a)")
	export CGO_ENABLED=1 PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir
	export CGO_CFLAGS=-I$dir/usr/include CGO_LDFLAGS=-L$lib
	build runc github.com/opencontainers/runc node/usr/local/bin/runc -tags seccomp -ldflags "-s -w -extldflags -static"
	rm -rf "$dir"
)

cni() { build cni "github.com/containernetworking/plugins/plugins/$1" "node/opt/cni/bin/${1#*/}" -ldflags "-s -w"; }

# image NAME ENTRYPOINT makes an image of that program alone.
image() {
	"$out/mkimage" -out "$out/images/$1.tar" -name "localhost/$1:cluster" -entrypoint "/$1" "$out/$1"
	rm "$out/$1"
}

for module in ../controlplane ../image containerd runc cni dns; do
	(cd "$module" && go mod download)
done
kubernetes kube-controller-manager bin/kube-controller-manager
kubernetes kube-scheduler bin/kube-scheduler
kubernetes kubelet node/usr/local/bin/kubelet
kubernetes kube-proxy node/usr/local/bin/kube-proxy
for name in containerd containerd-shim-runc-v2 ctr; do containerd "$name"; done
runc
for plugin in main/bridge main/loopback ipam/host-local meta/portmap; do cni "$plugin"; done
build ../image . mkimage
build pause . pause -ldflags "-s -w"
build dns . dns -ldflags "-s -w"
image pause
image dns
close_cache
