#!/usr/bin/env bash
# Runs the generators and fails if they changed, added or removed a file.
#
# It compares two snapshots, not the tree with its last commit, so that the
# check also works with uncommitted changes.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

snapshot() {
	find api config charts docs/kinds docs/architecture.md -type f -exec sha256sum {} + | sort -k 2
}

before=$(snapshot)
make generate manifests
after=$(snapshot)

if [ "$before" != "$after" ]; then
	echo "generated files were out of date; run 'make generate manifests' and commit:" >&2
	diff <(echo "$before") <(echo "$after") | sed -n 's/^[<>] [0-9a-f]*  /  /p' | sort -u >&2
	exit 1
fi
echo "generated files are up to date"
