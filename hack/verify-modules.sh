#!/usr/bin/env bash
# Fails if go mod tidy would change a module file. go.tools.mod is excluded: tidy
# would add the imports of the main module, which that file must not contain.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
while IFS= read -r file; do
	dir=$(dirname "$file")
	if ! (cd "$dir" && go mod tidy -diff); then
		echo "$file is not tidy; run 'go mod tidy' in $dir and commit" >&2
		failed=1
	fi
done < <(find . -name go.mod -not -path '*/testdata/*' | sort)
[ "$failed" = 0 ] && echo "module files are tidy"
exit "$failed"
