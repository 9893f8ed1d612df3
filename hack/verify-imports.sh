#!/usr/bin/env bash
# Tests the allowed imports: lints a temporary module of one-line files, each with one
# import, and fails if depguard wrongly allows or denies one.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
module=github.com/fettle-dev/fettle

# Package, import, and whether it is allowed; ours/ stands for this module.
table() {
	cat <<-'EOF'
		api/v1alpha1            k8s.io/apimachinery/pkg/apis/meta/v1  yes
		api/v1alpha1            ours/internal/resource                no
		api/v1alpha1            sigs.k8s.io/controller-runtime        no
		internal/host           io/fs                                 yes
		internal/host           ours/internal/resource                no
		internal/graph          slices                                yes
		internal/graph          ours/internal/host                    no
		internal/host/linux     golang.org/x/sys/unix                 yes
		internal/host/linux     os/exec                               yes
		internal/host/linux/command os/exec                           yes
		internal/host/linux/resolve ours/internal/host/linux/trust    yes
		internal/host/linux/resolve ours/internal/host/linux/removal  no
		internal/host/linux/entry   ours/internal/text                no
		internal/host/linux     ours/internal/resource                no
		internal/host/linux/limit   github.com/godbus/dbus/v5         yes
		internal/host/linux/sandbox github.com/godbus/dbus/v5         no
		internal/resource       ours/internal/host                    yes
		internal/resource       ours/api/v1alpha1                     no
		internal/resource       ours/internal/host/hosttest           no
		internal/resource       ours/internal/resource/bound          no
		internal/resource/bound ours/internal/resource                yes
		internal/resource/bound ours/internal/bucket                  no
		internal/resource/claim ours/internal/resource/bound          no
		internal/resource/schedule ours/internal/resource             no
		internal/resource       sigs.k8s.io/controller-runtime        no
		internal/facts          ours/internal/resource                yes
		internal/facts          ours/api/v1alpha1                     no
		internal/seal           crypto/hpke                           yes
		internal/seal           ours/api/v1alpha1                     no
		internal/seal           golang.org/x/crypto/hkdf              no
		internal/state          go.etcd.io/bbolt                      yes
		internal/state          ours/internal/resource                yes
		internal/state          ours/internal/host                    no
		internal/accounts       ours/internal/host                    yes
		internal/accounts       ours/internal/resource                no
		internal/accounts       os/exec                               no
		internal/bucket         ours/internal/host                    yes
		internal/bucket         ours/internal/resource                no
		internal/fleet/traces   go.opentelemetry.io/otel/trace        yes
		internal/fleet/traces   go.opentelemetry.io/otel/sdk/trace    no
		internal/fleet/traceexport go.opentelemetry.io/otel/sdk/trace yes
		internal/fleet/traceexport ours/api/v1alpha1                  no
		internal/fleet/drifts   go.opentelemetry.io/otel/trace        no
		internal/fetch          net/http                              yes
		internal/fetch          ours/internal/host                    no
		internal/fetch/roots    ours/internal/host                    yes
		internal/fetch/roots    ours/internal/external/image          no
		internal/external/image ours/internal/fetch                   yes
		internal/external/image ours/internal/host/linux              no
		internal/external/image github.com/google/go-containerregistry/pkg/v1 yes
		internal/external/image/archive net/http                      yes
		internal/external/image/archive ours/internal/host            no
		internal/external/store ours/internal/external/image          yes
		internal/external/store github.com/google/go-containerregistry/pkg/v1 no
		internal/external/definition ours/internal/external/image     no
		internal/external/definition ours/internal/external/dsc       yes
		internal/external/definition ours/internal/host               no
		internal/external/dsc   os/exec                               no
		internal/external/dsc   ours/internal/host                    no
		internal/external/jsonschema github.com/santhosh-tekuri/jsonschema/v6 yes
		internal/external/jsonschema ours/internal/external/dsc       no
		internal/external/dscbuild ours/internal/external/definition  yes
		internal/external/dscbuild ours/internal/host                 no
		internal/manifest       ours/config/crd                       yes
		internal/manifest       ours/internal/catalog                 no
		internal/manifest       k8s.io/client-go/rest                 no
		internal/nodetoken      k8s.io/client-go/dynamic              yes
		internal/nodetoken      ours/internal/state                   no
		internal/hostrun         ours/internal/engine                 yes
		internal/hostrun         ours/api/v1alpha1                     no
		internal/hostrun         os/exec                               no
		internal/reconcile       ours/internal/drift                  yes
		internal/reconcile       ours/internal/cli                    no
		internal/drift          ours/internal/resource                yes
		internal/drift          ours/internal/host/linux              no
		internal/drift          ours/internal/engine                 no
		internal/cli            ours/internal/engine                 yes
		internal/cli            ours/nodeagent                        no
		internal/cli            ours/internal/host/linux              no
		internal/cli            sigs.k8s.io/controller-runtime        no
		internal/cli/live       k8s.io/client-go/tools/cache          yes
		internal/cli/live       k8s.io/client-go/discovery            no
		internal/cli/job        ours/internal/engine                  yes
		internal/cli/job        ours/internal/host/linux              no
		internal/cli/output     github.com/spf13/cobra                no
		internal/compiler       ours/internal/catalog                 yes
		internal/compiler       ours/internal/expression              yes
		internal/compiler       ours/internal/compiler/targeting      yes
		internal/compiler       ours/internal/compiler/placement      yes
		internal/compiler       k8s.io/client-go/kubernetes           no
		internal/compiler       ours/internal/seal                    no
		internal/compiler       ours/internal/host                    no
		internal/compiler/targeting github.com/google/cel-go/cel      yes
		internal/catalog        github.com/google/cel-go/cel          no
		internal/catalog        ours/internal/compiler                no
		internal/catalog        ours/internal/expression              no
		internal/expression     github.com/google/cel-go/cel          yes
		internal/expression     ours/internal/resource                no
		internal/regex          ours/internal/expression              no
		internal/compiler       ours/internal/graph                   yes
		internal/catalog        k8s.io/client-go/kubernetes           no
		internal/catalog        sigs.k8s.io/controller-runtime        no
		internal/catalog        ours/internal/host                    no
		internal/catalog        ours/providers                        no
		internal/catalog        ours/internal/seal                    no
		providers               ours/providers/file                   yes
		providers               ours/internal/fetch                   yes
		providers               ours/nodeagent                        no
		providers/file          ours/api/v1alpha1                     yes
		providers/file          ours/internal/host                    yes
		providers/file          ours/internal/resource                yes
		providers/file          ours/internal/accounts                yes
		providers/file          ours/internal/bucket                  no
		providers/file          ours/internal/host/linux              no
		providers/file          ours/providers/user                   no
		providers/file          ours/providers/file/filemode          yes
		providers/file/source   ours/providers/file/content           yes
		providers/file/source   os/exec                               no
		providers/user          ours/providers/file/owner             no
		providers/user          ours/providers/package/debversion     no
		providers/file          ours/controllers                      no
		providers/file          ours/nodeagent                        no
		providers/file          ours/internal/fetch                   yes
		providers/file          net/http                              no
		providers/file          os/exec                               no
		providers/file          os/user                               no
		providers/user/passwd   ours/internal/host                    yes
		providers/user/passwd   ours/providers/file                   no
		internal/engine         ours/internal/graph                   yes
		internal/engine/claims  ours/internal/engine/plan             yes
		internal/engine/decide  ours/internal/resource                yes
		internal/engine/decide  ours/internal/engine/report           no
		internal/engine/decide  ours/internal/host                    no
		internal/engine/plan    ours/internal/resource/bound          no
		internal/engine         ours/api/v1alpha1                     no
		internal/engine         ours/providers                        no
		internal/engine         sigs.k8s.io/controller-runtime        no
		internal/fleet/reportsapi k8s.io/apiserver/pkg/server       yes
		internal/fleet/planning ours/internal/compiler                yes
		internal/fleet/planning ours/internal/engine/report           yes
		internal/fleet/planning ours/internal/engine                  no
		internal/fleet/planning ours/nodeagent/proposal               no
		internal/fleet/planning sigs.k8s.io/controller-runtime/pkg/client no
		internal/fleet/reportsapi ours/controllers                    no
		internal/fleet/relay    k8s.io/client-go/kubernetes           no
		internal/fleet/contents ours/internal/catalog                 yes
		internal/fleet/contents k8s.io/client-go/rest                 no
		internal/fleet/census   ours/api/v1alpha1                     yes
		internal/fleet/census   ours/controllers                      no
		internal/fleet/drifts   ours/internal/host                    yes
		internal/fleet/drifts   ours/internal/host/linux              no
		internal/fleet/driftrecords ours/internal/engine              no
		internal/fleet/nodestatus ours/nodeagent                      no
		internal/fleet/conditions sigs.k8s.io/controller-runtime      no
		internal/fleet/deselection k8s.io/client-go/kubernetes        no
		internal/fleet/externalkinds ours/controllers                 no
		internal/fleet/questions k8s.io/apiserver/pkg/server        no
		nodeagent               k8s.io/apiserver/pkg/server           no
		nodeagent/questions     ours/api/reports/v1alpha1             yes
		nodeagent               ours/internal/engine                 yes
		nodeagent               sigs.k8s.io/controller-runtime        yes
		nodeagent               ours/internal/catalog                 yes
		nodeagent               ours/internal/compiler                no
		nodeagent               ours/internal/seal                    yes
		nodeagent               ours/controllers                      no
		nodeagent               ours/internal/host/linux              no
		nodeagent               os/exec                               no
		nodeagent/status        ours/internal/engine                  yes
		nodeagent/status        sigs.k8s.io/controller-runtime        no
		nodeagent/catalogs      ours/internal/catalog                 yes
		nodeagent/catalogs      sigs.k8s.io/controller-runtime        no
		nodeagent/cluster       sigs.k8s.io/controller-runtime        yes
		controllers             ours/internal/catalog                 yes
		controllers             ours/internal/compiler                yes
		controllers             ours/providers                        yes
		controllers             ours/internal/fleet/deselection       yes
		controllers             ours/internal/seal                    no
		internal/fleet/sources  ours/internal/seal                    yes
		internal/fleet/sources  sigs.k8s.io/controller-runtime/pkg/client  yes
		internal/fleet/progress ours/controllers                      no
		internal/fleet/progress sigs.k8s.io/controller-runtime        no
		internal/fleet/progress k8s.io/client-go/kubernetes           no
		controllers/policycheck ours/config/policy                    yes
		controllers             ours/nodeagent                        no
		controllers             ours/internal/host/linux              no
		controllers             testing                               no
		cmd/manager             ours/controllers                      yes
		cmd/manager             ours/internal/host/linux              no
		cmd/manager             ours/nodeagent                        no
		cmd/nodeagent           ours/internal/host/linux              yes
		cmd/nodeagent           ours/controllers                      no
		cmd/fettle              ours/internal/host/linux              yes
		cmd/fettle              ours/internal/host/hosttest           no
		cmd/fettle              math/rand                             no
		internal/version        ours/test/roots                       no
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
	echo "the import table in .golangci.yml is not the design's (< is allowed and should not be, > is denied and should not be):" >&2
	while read -r mark file; do
		case $mark in '<' | '>') echo "  $mark $(dirname "$file"): $(sed -n 's/^import _ //p' "$scratch/$file")" >&2 ;; esac
	done <"$scratch/difference"
	cat "$scratch/output" >&2
	exit 1
fi
echo "the import table holds: $(wc -l <"$scratch/wanted") imports denied, as they should be"
