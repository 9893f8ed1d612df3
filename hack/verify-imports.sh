#!/usr/bin/env bash
# Tests that depguard enforces the design, whose rules are in .golangci.yml alone: lints a temporary module of one-line
# files, each with one import, and fails if one is wrongly allowed or denied. A rule whose pattern matches no file would
# allow everything in silence.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
module=github.com/fettle-dev/fettle

# Package, import, and whether it is allowed; ours/ stands for this module.
table() {
	cat <<-'EOF'
		api/v1alpha1               k8s.io/apimachinery/pkg/apis/meta/v1  yes
		api/v1alpha1               ours/internal/resource                no
		internal/host              ours/internal/resource                no
		internal/host/linux        golang.org/x/sys/unix                 yes
		internal/host/linux/resolve ours/internal/host/linux/removal     no
		internal/resource          ours/internal/host                    yes
		internal/resource          ours/api/v1alpha1                     no
		internal/resource          ours/internal/host/hosttest           no
		internal/seal              golang.org/x/crypto/hkdf              no
		internal/external/image    ours/internal/fetch                   yes
		internal/external/image/archive net/http                         yes
		internal/external/dsc      os/exec                               no
		internal/external/jsonschema ours/internal/text                  no
		internal/structural        github.com/santhosh-tekuri/jsonschema/v6 no
		providers                  ours/providers/file                   yes
		providers/file             ours/providers/file/filemode          yes
		providers/file             ours/providers/user                   no
		providers/file             net/http                              no
		providers/file/source      os/exec                               no
		providers/user             ours/providers/file/owner             no
		internal/engine            ours/internal/graph                   yes
		internal/engine            ours/api/v1alpha1                     no
		internal/engine            ours/providers                        no
		internal/engine            ours/internal/resource/bound          no
		internal/engine            sigs.k8s.io/controller-runtime        no
		internal/engine/decide     ours/internal/host                    no
		internal/drift             ours/internal/host/linux              no
		internal/compiler          ours/internal/catalog                 yes
		internal/compiler          k8s.io/client-go/kubernetes           no
		internal/compiler/targeting github.com/google/cel-go/cel         yes
		internal/compiler/targeting ours/internal/host                   no
		internal/catalog           ours/internal/compiler                no
		internal/fleet/deselection k8s.io/client-go/kubernetes           no
		internal/fleet/drift      ours/internal/host/linux              no
		internal/fleet/rollout     ours/internal/text                    yes
		internal/fleet/rollout     ours/internal/fleet/heartbeat         no
		internal/fleet/traces      go.opentelemetry.io/otel/sdk/trace    no
		internal/fleet/externalkinds ours/controllers                    no
		internal/manifest          k8s.io/client-go/rest                 no
		internal/cli               ours/internal/engine                  yes
		internal/cli               ours/internal/host/linux              no
		internal/cli               ours/internal/cli/fleet               no
		internal/cli/credentials   k8s.io/client-go/tools/clientcmd/api  yes
		internal/cli/credentials   k8s.io/client-go/tools/clientcmd      no
		internal/cli/fleet         k8s.io/client-go/rest                 yes
		internal/cli/fleet         ours/internal/engine                  no
		internal/cli/bundle        k8s.io/client-go/dynamic              no
		internal/cli/job           ours/nodeagent                        no
		internal/cli/output        github.com/spf13/cobra                no
		nodeagent                  ours/internal/engine                  yes
		nodeagent                  ours/controllers                      no
		nodeagent                  ours/internal/compiler                no
		nodeagent/status           sigs.k8s.io/controller-runtime        no
		nodeagent/cluster          sigs.k8s.io/controller-runtime        no
		controllers                ours/internal/fleet/deselection       yes
		controllers                ours/nodeagent                        no
		controllers                testing                               no
		controllers/policycheck    ours/internal/host/linux              no
		cmd/manager                ours/controllers                      yes
		cmd/manager                ours/internal/host/linux              no
		cmd/manager                ours/nodeagent                        no
		cmd/nodeagent              ours/internal/host/linux              yes
		cmd/nodeagent              ours/controllers                      no
		cmd/fettle                 ours/controllers                      no
		cmd/fettle                 ours/internal/cli/fleet               no
		cmd/fettle                 math/rand                             no
		test/suites/chaos/audit    ours/internal/fleet/rollout           no
	EOF
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp .golangci.yml "$scratch/"
# A different module name prevents the imports from resolving; denied ones could be cycles.
printf 'module scratch.invalid\n\ngo 1.26.0\n' >"$scratch/go.mod"

expected=$scratch/expected
number=0
while read -r package import may; do
	number=$((number + 1))
	mkdir -p "$scratch/$package"
	file=$package/row$number.go
	printf 'package p\n\nimport _ "%s"\n' "${import/#ours/$module}" >"$scratch/$file"
	[ "$may" = yes ] || echo "$file $package $import"
done < <(table) | sort >"$expected"

# depguard works with unresolved imports, because it reads only the syntax.
(cd "$scratch" && go tool -modfile="$root/go.tools.mod" golangci-lint run \
	--enable-only depguard --output.text.path stdout --output.text.print-issued-lines=false 2>&1) >"$scratch/output" || true

awk -F: '/\(depguard\)/ { print $1 }' "$scratch/output" | sort -u >"$scratch/denied"
cut -d ' ' -f 1 "$expected" | sort -u >"$scratch/wanted"
if ! diff "$scratch/wanted" "$scratch/denied" >"$scratch/difference"; then
	echo ".golangci.yml does not enforce the design (< is allowed and should not be, > is denied and should not be):" >&2
	while read -r mark file; do
		case $mark in '<' | '>') echo "  $mark $(dirname "$file"): $(sed -n 's/^import _ //p' "$scratch/$file")" >&2 ;; esac
	done <"$scratch/difference"
	cat "$scratch/output" >&2
	exit 1
fi
echo "the import table holds: $(wc -l <"$scratch/wanted") imports denied, as they should be"
