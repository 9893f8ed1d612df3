#!/usr/bin/env bash
# Runs the specs of the findings with the images and manifests of commits before their fixes, and
# succeeds if every finding is shown by a spec that fails. The table goes to dist/e2e/findings.md.
#
#   COMMIT     before the fixes of all findings but the sixth, which was fixed earlier
#   COMMIT_6   before the fix of the sixth
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
artifacts=${FETTLE_E2E_ARTIFACTS:-$PWD/dist/e2e}
findings=13

# specs COMMIT FILTER runs specs and adds their results to the table.
specs() {
	export FETTLE_E2E_COMMIT=$1 FETTLE_E2E_ARTIFACTS=$artifacts/$1
	rm -rf "$FETTLE_E2E_ARTIFACTS"
	echo "findings: $2 with commit $1"
	# Specs are meant to fail. A run that ends early leaves no table.
	go tool -modfile=go.tools.mod ginkgo --tags e2e --timeout 90m -v --no-color "--label-filter=$2" ./test/suites/e2e || true
	sed "s/^|/| $1 |/" "$FETTLE_E2E_ARTIFACTS/findings.md" >>"$table"
}

mkdir -p "$artifacts"
table=$artifacts/findings.md
printf '| Commit | Finding | Spec | Result | How |\n|---|---|---|---|---|\n' >"$table"
specs "${COMMIT_6:-8816170^}" 'finding-6'
specs "${COMMIT:-c2177ac}" '/^finding-/ && !finding-6'
cat "$table"

missing=()
for n in $(seq "$findings"); do
	# The third field is empty before the first bar.
	awk -F ' *[|] *' -v n="$n" '$3 == n && ($5 == "failed" || $5 == "timedout") { found = 1 } END { exit !found }' "$table" || missing+=("$n")
done
[ ${#missing[@]} = 0 ] || { echo "findings without a failing spec: ${missing[*]}" >&2; exit 1; }
