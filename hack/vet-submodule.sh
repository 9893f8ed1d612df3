#!/usr/bin/env bash
# vet-submodule.sh DIR runs go vet in a nested module. For a module without packages,
# which only pins programs, it verifies the requirements against go.sum.
set -euo pipefail

cd "${1:?the folder of a module}"
if [ -n "$(go list ./... 2>/dev/null)" ]; then
	go vet ./...
else
	go list -m >/dev/null
fi
