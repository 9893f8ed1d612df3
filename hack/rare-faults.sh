#!/usr/bin/env bash
# Runs the tests that search for rare faults by kills, races or random inputs: those in files that take the number of
# their events from test/fixtures/budget, and those with the build tag rare, which are too long for make test.
# FETTLE_RARE_FAULTS=n makes n times as many events, and FETTLE_RARE_FAULTS_SEED=n repeats a search. The arguments
# are flags and packages of go test; the default is every package with such a test.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export FETTLE_RARE_FAULTS=${FETTLE_RARE_FAULTS:-1}

mapfile -t files < <(grep -rlE --include='*_test.go' 'budget\.(Events|Random)\(|^//go:build rare$' controllers hack internal nodeagent providers test/suites)
tests=$(grep -hoP '^func \K(Test|Fuzz)\w+(?=\(\w+ \*testing\.[TF]\))' "${files[@]}" | paste -sd '|')
mapfile -t packages < <(dirname "${files[@]/#/./}" | sort -u)
for argument in "$@"; do
	case $argument in ./*) packages=() ;; esac
done

# go test says that it found no test of a package, and succeeds.
for package in "${packages[@]}"; do
	if ! grep -qE "^func ($tests)\(" "$package"/*_test.go; then
		echo "$package is not searched: none of its files has a test of its own" >&2
		exit 1
	fi
done

set -x
go test -tags rare -count=1 -run "^($tests)\$" "$@" "${packages[@]}"
