#!/usr/bin/env bash
# Collects the files of a release in dist/release, from what `make release` has built. The same commit
# gives the same files.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${VERSION:?}" "${SOURCE_DATE_EPOCH:?}" "${IMAGE_MANAGER:?}" "${IMAGE_AGENT:?}" "${ARCHES:?}"
for image in "$IMAGE_MANAGER" "$IMAGE_AGENT"; do
	[[ ${image##*/} == *:* ]] || { echo "release: $image has no tag: add one, such as $image:$VERSION" >&2; exit 1; }
done
out=dist/release
rm -rf "$out"
mkdir -p "$out"

# pack FILE FOLDER NAME... writes an archive that does not depend on times and users.
pack() {
	local file=$1 dir=$2
	shift 2
	tar --create --directory "$dir" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode='u+rw,go+r-w' "$@" |
		gzip --no-name --best >"$file"
}

# chart writes the chart with this version and these images. Helm requires a semantic version, which an
# untagged commit has none of.
chart() {
	local version=${VERSION#v} dir
	[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+([-+].*)?$ ]] || version=0.0.0-g${version//[^0-9A-Za-z-]/-}
	dir=$(mktemp -d)
	cp -R charts/fettle "$dir/"
	sed -i -e "s|^version: .*|version: $version|" -e "s|^appVersion: .*|appVersion: \"$VERSION\"|" "$dir/fettle/Chart.yaml"
	# Each repository and tag once, in the section of its program.
	sed -i -e "/^manager:/,/^agent:/ { s|^    repository: .*|    repository: ${IMAGE_MANAGER%:*}|; s|^    tag: \"\"|    tag: \"${IMAGE_MANAGER##*:}\"| }" \
		-e "/^agent:/,\$ { s|^    repository: .*|    repository: ${IMAGE_AGENT%:*}|; s|^    tag: \"\"|    tag: \"${IMAGE_AGENT##*:}\"| }" "$dir/fettle/values.yaml"
	pack "$out/fettle-chart-$version.tgz" "$dir" fettle
	rm -r "$dir"
}

# krew prints the manifest with which krew, the package manager of kubectl's plugins, installs kubectl-fettle as kubectl fettle. It
# requires a semantic version, too.
krew() {
	local version=$VERSION arch archive
	[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+([-+].*)?$ ]] || version=v0.0.0-g${version//[^0-9A-Za-z-]/-}
	cat <<-EOF
		apiVersion: krew.googlecontainertools.github.com/v1alpha2
		kind: Plugin
		metadata:
		  name: fettle
		spec:
		  description: |
		    Shows the nodes that Fettle manages: their state, what drifted, how they differ from their
		    catalogs, why a resource applies or not, and what a change would do.
		  homepage: https://github.com/fettle-dev/fettle
		  shortDescription: Show the state and drift of nodes managed by Fettle
		  version: $version
		  platforms:
	EOF
	for arch in $ARCHES; do
		archive=fettle-$VERSION-linux-$arch.tar.gz
		cat <<-EOF
			  - bin: kubectl-fettle
			    files: [{from: kubectl-fettle, to: .}]
			    selector: {matchLabels: {os: linux, arch: $arch}}
			    sha256: $(sha256sum "$out/$archive" | cut -d ' ' -f 1)
			    uri: https://github.com/fettle-dev/fettle/releases/download/$VERSION/$archive
		EOF
	done
}

# changelog lists the commits since the last tag before this one.
changelog() {
	local last
	last=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || true)
	printf '# Fettle %s\n\n%s\n\n' "$VERSION" "Changes since ${last:-the first commit}:"
	git log --no-merges --format='- %s' ${last:+"$last.."}HEAD
}

for arch in $ARCHES; do
	pack "$out/fettle-$VERSION-linux-$arch.tar.gz" "dist/bin/$arch" fettle kubectl-fettle nodeagent
done
for name in fettle-manager fettle-nodeagent; do
	cp "dist/images/$name.oci.tar" "$out/$name-$VERSION.oci.tar"
	for arch in $ARCHES; do cp "dist/images/$name-$arch.spdx.json" "$out/$name-$VERSION-$arch.spdx.json"; done
done
cp dist/install.yaml "$out/install.yaml"
for crd in config/crd/fettle.dev_*.yaml; do
	cat "$crd"
done >"$out/crds.yaml"
pack "$out/fettle-man-$VERSION.tar.gz" dist man
krew >"$out/krew.yaml"
chart
changelog >"$out/CHANGELOG.md"
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
