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

# specs PROCESSES COMMIT FILTER runs specs, on a cluster for each process, and adds their results to the table.
specs() {
	export FETTLE_E2E_COMMIT=$2 FETTLE_E2E_ARTIFACTS=$artifacts/$2
	rm -rf "$FETTLE_E2E_ARTIFACTS"
	echo "findings: $3 with commit $2"
	# Specs are meant to fail. A run that ends early leaves no table.
	go tool -modfile=go.tools.mod ginkgo --tags e2e --procs "$1" --timeout 3h -v --no-color "--label-filter=$3" ./test/suites/e2e || true
	sed "s/^|/| $2 |/" "$FETTLE_E2E_ARTIFACTS/findings.md" >>"$table"
}

mkdir -p "$artifacts"
table=$artifacts/findings.md
printf '| Commit | Finding | Spec | Result | How |\n|---|---|---|---|---|\n' >"$table"
specs 1 "${COMMIT_6:-8816170^}" 'finding-6'
specs "$(bin/cluster room 2)" "${COMMIT:-c2177ac}" '/^finding-/ && !finding-6'
cat "$table"

missing=()
for n in $(seq "$findings"); do
	# The third field is empty before the first bar.
	awk -F ' *[|] *' -v n="$n" '$3 == n && ($5 == "failed" || $5 == "timedout") { found = 1 } END { exit !found }' "$table" || missing+=("$n")
done
[ ${#missing[@]} = 0 ] || { echo "findings without a failing spec: ${missing[*]}" >&2; exit 1; }
