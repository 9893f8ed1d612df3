#!/usr/bin/env bash
# build.sh COMMIT builds the manager and the agent of a commit, and prints the folder with them and with
# the commit's config/. The cache is keyed by the commit and the Go toolchain; progress goes to stderr.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
commit=$(git rev-parse --verify --quiet "${1:?a commit}^{commit}")
cache=${FETTLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fettle}/skew
dir=$cache/$commit-$(go env GOVERSION)
if [ -e "$dir/.complete" ]; then
	echo "$dir"
	exit 0
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
[ -e "$dir/.complete" ] && { echo "$dir"; exit 0; }

rm -rf "$dir"
mkdir -p "$dir/source"
git -C "$(git rev-parse --show-toplevel)" archive "$commit" | tar -x -C "$dir/source"
echo "skew: building $commit (once)" >&2
version=github.com/fettle-dev/fettle/internal/version.linked=$commit
(cd "$dir/source" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X $version" -o "$dir/" ./cmd/manager ./cmd/nodeagent 9>&-)
mv "$dir/source/config" "$dir/config"
rm -rf "$dir/source"
touch "$dir/.complete"
echo "$dir"
