#!/usr/bin/env bash
# Runs every fuzz target of the module in turn, each for FUZZTIME (10m), with FUZZPROCS (1)
# workers. Arguments narrow it to packages: hack/fuzz.sh ./internal/accounts ./providers/...
# It stops at the first failure; go test saves its input in the package's testdata/fuzz.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(./...)

for dir in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' "${packages[@]}"); do
	for target in $(grep -hoP '^func \KFuzz\w+(?=\(f \*testing\.F\))' "$dir"/*_test.go || true); do
		echo "--> $target in ${dir#"$PWD"/}"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10m}" -parallel "${FUZZPROCS:-1}" "$dir" |
			grep -v 'gathering baseline' | awk '/^fuzz: elapsed/ { last = $0; next } { print } END { if (last) print last }'
	done
done
