package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/cli"
	"github.com/fettle-dev/fettle/internal/cli/program"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/providers"
)

const helloSum = "{sha256}5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

// sumX is the SHA-256 of x.
const sumX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

func TestApply(t *testing.T) {
	hello := file("a", `path: /etc/a, content: "hello\n"`)
	for name, c := range map[string]struct {
		in       string
		args     []string
		out, err []string
		code     int
	}{
		"reports created resources in manifest order": {
			in:  file("b", "path: /etc/b, ensure: directory") + hello,
			out: []string{"File/b: created", "File/a: created", "2 resources: 0 in sync, 2 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
		},
		"exits with 2 for changes with detailed exit codes": {
			in: hello, args: []string{"--detailed-exitcodes"}, code: 2,
			out: []string{"File/a: created", "1 resource: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
		},
		"exits with 6 for changes and failures, with failures on stderr": {
			in: hello + file("b", "path: /no/where, content: x"), args: []string{"--detailed-exitcodes"}, code: 6,
			out: []string{"File/a: created", "2 resources: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N"},
			err: []string{"File/b: change of ensure from absent to file failed: cannot create /no/where: its parent directory /no does not exist: create it first, with a File that has ensure: directory"},
		},
		"exits with 6 for a failure that changed something": {
			in: file("a", "path: /etc/os-release, content: x, showDiff: false, group: nobody"), args: []string{"--detailed-exitcodes"}, code: 6,
			out: []string{"1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N"},
			err: []string{
				"File/a: content changed {sha256}374b6b0ce4fc9819fd0d5616c7d371cc2d45a5a9b759af0e84315bf26a12c4f5 to {sha256}" + sumX,
				`File/a: change of group from root to nobody failed: the host has no group "nobody": create it first, or use a number`,
			},
		},
		"exits with 4 for failures only": {
			in: file("b", "path: /no/where, content: x"), args: []string{"--detailed-exitcodes"}, code: 4,
			out: []string{"1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N"},
			err: []string{"File/b: change of ensure from absent to file failed: cannot create /no/where: its parent directory /no does not exist: create it first, with a File that has ensure: directory"},
		},
		"exits with 1 for failures without detailed exit codes": {
			in: file("b", "path: /no/where, content: x"), code: 1,
			out: []string{"1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N"},
			err: []string{"File/b: change of ensure from absent to file failed: cannot create /no/where: its parent directory /no does not exist: create it first, with a File that has ensure: directory"},
		},
		"changes nothing in noop and exits with 0": {
			in: hello, args: []string{"--noop", "--detailed-exitcodes"},
			out: []string{"File/a: created (noop)", "1 resource: 0 in sync, 0 changed, 0 refreshed, 1 noop, 0 skipped, 0 failed in N"},
		},
		"applies a resource with noop: false and reports its notifications": {
			in: file("a", `path: /etc/a, content: x, noop: false, notify: [File/b]`) + file("b", "path: /etc/b, content: x"), args: []string{"--noop"},
			out: []string{"File/a: created", "File/b: created (noop)", "2 resources: 0 in sync, 1 changed, 0 refreshed, 1 noop, 0 skipped, 0 failed in N"},
		},
		"applies required resources first": {
			in:  file("a", `path: /etc/a, content: x, require: [File/c]`) + file("b", "path: /etc/b, content: x") + file("c", "path: /etc/c, content: x, before: [File/b]"),
			out: []string{"File/c: created", "File/a: created", "File/b: created", "3 resources: 0 in sync, 3 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
		},
		"rejects an unknown provider": {
			in: file("a", `path: /etc/a, content: x, provider: windows`), code: 1,
			out: []string{"1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N"},
			err: []string{`File/a: provider "windows" is not one of kind File, which has [posix]`},
		},
		"selects resources by their labels": {
			in: hello + file("b", "path: /etc/b, content: x"), args: []string{"-l", "tier=b"},
			out: []string{"File/b: created", "2 resources: 0 in sync, 1 changed, 0 refreshed, 0 noop, 1 skipped, 0 failed in N"},
		},
		"reports the same message for each resource": {
			in: strings.ReplaceAll(file("a", "message: hello")+file("b", "message: hello"), "kind: File", "kind: Notify"),
			out: []string{
				"Notify/a: message defined as hello", "Notify/b: message defined as hello",
				"2 resources: 0 in sync, 2 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N",
			},
		},
		"fails two resources with the same path and applies the rest": {
			in: hello + file("b", "path: /etc/a, content: x") + file("c", "path: /etc/c, content: x"), args: []string{"--detailed-exitcodes"}, code: 6,
			out: []string{"File/c: created", "3 resources: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 2 failed in N"},
			err: []string{
				`File/a: path "/etc/a" is also claimed by File/b on the same node: keep one, or let their nodeSelector or when exclude each other`,
				`File/b: path "/etc/a" is also claimed by File/a on the same node: keep one, or let their nodeSelector or when exclude each other`,
			},
		},
		"fails two keys with the same name and user": {
			in: key("a", "name: ann@laptop, user: ann") + key("b", "name: ann@laptop, user: bob"), code: 1,
			out: []string{"2 resources: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 2 failed in N"},
			err: []string{
				`SSHAuthorizedKey/a: name "ann@laptop" is also claimed by SSHAuthorizedKey/b on the same node: keep one, or let their nodeSelector or when exclude each other`,
				`SSHAuthorizedKey/b: name "ann@laptop" is also claimed by SSHAuthorizedKey/a on the same node: keep one, or let their nodeSelector or when exclude each other`,
			},
		},
		"fails an invalid resource, skips its dependents and applies the rest": {
			in: file("a", "path: /etc/a, content: x") + file("b", "path: /etc/b, mod: x, ensure: folder") + file("c", "path: /etc/c, content: x, require: [File/b]"), code: 1,
			out: []string{
				"File/c: waits for File/b, which is withheld: InvalidSpec", "File/a: created",
				"3 resources: 0 in sync, 1 changed, 0 refreshed, 0 noop, 1 skipped, 1 failed in N",
			},
			err: []string{
				"File/b: stdin:9: spec.mod: unknown field; did you mean mode?; " +
					`stdin:9: spec.ensure: Unsupported value: "folder": supported values: "present", "file", "directory", "link", "absent"`,
			},
		},
		"fails duplicate resources": {
			in: file("a", "path: /etc/a, content: x") + file("b", "path: /etc/b, content: x") + file("a", "path: /etc/c, content: x"), code: 1,
			out: []string{"File/b: created", "2 resources: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N"},
			err: []string{"File/a: stdin:11: is already in stdin:1; rename or remove one"},
		},
		"applies nothing if a document does not identify its resource": {
			in: hello + "kind: File\napiVersion: fettle.dev/v1alpha1\nmetadata: {nam: b}\n---\nkind: Fyle\napiVersion: fettle.dev/v1alpha1\nmetadata: {name: c}\n", code: 1,
			err: []string{
				"stdin:8: metadata.name: is missing: give this File a name", "stdin:10: Fyle/c: kind: unknown kind Fyle; did you mean File?",
				"fettle: nothing was applied: correct the manifests first",
			},
		},
		"renders templates with the facts of the host": {
			in:  file("a", `path: /etc/a, contentTemplate: "{{ .facts.os.family }}"`),
			out: []string{"File/a: created", "1 resource: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
		},
		"skips a resource outside its schedule": {
			in: file("a", `path: /etc/a, content: x, schedule: {period: never}`), args: []string{"--detailed-exitcodes"},
			out: []string{"File/a: not scheduled: the period of its schedule is never", "1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 1 skipped, 0 failed in N"},
		},
		"applies a resource outside its schedule with --ignore-schedules": {
			in: file("a", `path: /etc/a, content: x, schedule: {period: never}`), args: []string{"--ignore-schedules"},
			out: []string{"File/a: created", "1 resource: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
		},
		"rejects an invalid schedule range": {
			in: file("a", `path: /etc/a, schedule: {range: ["22-28"]}`), code: 1,
			out: []string{"1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N"},
			err: []string{`File/a: stdin:4: spec.schedule.range[0]: Invalid value: "22-28": range must be two times of day, such as 22:00-04:00`},
		},
		"records audited properties": {
			in:  file("a", `path: /etc/group, audit: [mode, type], logLevel: info`),
			out: []string{"File/a: audit change: newly-recorded value of mode is 0644", "File/a: audit change: newly-recorded value of type is file", "1 resource: 1 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
		},
		"rejects audit of a parameter": {
			in: "apiVersion: fettle.dev/v1alpha1\nkind: Group\nmetadata: {name: a}\nspec: {nodeSelector: {}, audit: [gid, system]}\n", code: 1,
			out: []string{"1 resource: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 1 failed in N"},
			err: []string{`Group/a: audit: Group has no property "system"; write all, or ensure, gid, members`},
		},
		"omits resources with logLevel: debug": {
			in:  file("a", `path: /etc/a, content: x, logLevel: debug`),
			out: []string{"1 resource: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
		},
		"prints resources with logLevel: debug under --debug": {
			in: file("a", `path: /etc/a, content: x, logLevel: debug`), args: []string{"--debug"},
			out: []string{"File/a: created", "1 resource: 0 in sync, 1 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
			err: []string{
				"debug: File: provider posix is this host's default",
				"debug: File/a: ensure: current absent, target file",
				"debug: File/a: content: current absent, target {sha256}" + sumX,
				"debug: wrote /etc/a",
				"debug: File/a: ensure: current file, target file",
				"debug: File/a: content: current {sha256}" + sumX + ", target {sha256}" + sumX,
				"debug: File/a: Changed by provider posix in N",
			},
		},
		"rejects invalid node labels": {
			in: hello, args: []string{"--labels", "role=web,tier"}, code: 1,
			err: []string{`fettle: --labels "role=web,tier": invalid selector: [tier]; write them as role=web,tier=front`},
		},
		"rejects an argument that is not a resource": {
			in: hello, args: []string{"more.yaml"}, code: 1,
			err: []string{`fettle: argument "more.yaml" is not KIND/NAME, such as File/motd; use -f FILE for files`},
		},
		"ignores other API groups with a note": {
			in:  "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
			out: []string{"0 resources: 0 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in N"},
			err: []string{"note: ignored Kustomization in stdin:1, which is not of fettle.dev"},
		},
		"rejects an unknown output format": {
			in: hello, args: []string{"-o", "xml"}, code: 1,
			err: []string{`fettle: --output "xml" is not one of [text json yaml]`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := emptyRoot(t)
			put(t, filepath.Join(root, "etc/os-release"), "ID=debian\n")
			got := fettle(t, c.in, append([]string{"apply", "-f", "-", "--root", root}, c.args...)...)
			if diff := cmp.Diff(c.out, lines(got.out)); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.err, lines(got.err)); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			if got.code != c.code {
				t.Errorf("exit %d, want %d", got.code, c.code)
			}
		})
	}
}

func TestGraphPrintsDependencies(t *testing.T) {
	manifests := file("a", "path: /etc/a, require: [File/b]") + file("b", "path: /etc/b, require: [File/a]") +
		file("c", "path: /etc/c, ensure: directory") + file("d", "path: /etc/c/d, notify: [File/e]") + file("e", "path: /etc/e") +
		file("f", "path: /etc/c/d/f")
	got := fettle(t, manifests, "graph", "-f", "-")
	want := []string{
		"digraph resources {", "\tnode [shape=box];",
		"\t\"File/a\" [color=red];", "\t\"File/b\" [color=red];", "\t\"File/c\";", "\t\"File/d\";", "\t\"File/e\";", "\t\"File/f\";",
		`	"File/b" -> "File/a" [style="solid", color=red];`,
		`	"File/a" -> "File/b" [style="solid", color=red];`,
		`	"File/d" -> "File/e" [style="bold", color=black];`,
		`	"File/c" -> "File/d" [style="dashed", color=black];`,
		`	"File/d" -> "File/f" [style="dashed", color=black];`, // but no edge from File/c, which is further up
		"}",
	}
	if diff := cmp.Diff(want, lines(got.out)); diff != "" {
		t.Error(diff)
	}
}

func TestApplyRequiresFiles(t *testing.T) {
	want := outcome{err: "fettle: no manifests: use -f FILE, -f DIR, -f URL, -k DIR or, for stdin, -f -\n", code: 1}
	for _, args := range [][]string{{"apply"}, {"apply", "-f", ""}, {"plan"}, {"validate"}} {
		if got := fettle(t, "", args...); got != want {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestInterruptedRunFails(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, stderr bytes.Buffer
	cmd := cli.Command(cli.Options{
		Kinds: providers.Kinds(), Hosts: roots(),
		Streams: program.Streams{In: strings.NewReader(file("a", "path: /etc/a, content: x")), Out: &out, Err: &stderr},
	})
	cmd.SetArgs([]string{"apply", "-f", "-", "--root", emptyRoot(t)})
	if err := cmd.ExecuteContext(ctx); err == nil || err.Error() != "stopped by a signal before the end; run it again" {
		t.Errorf("got %v\n%s%s", err, out.String(), stderr.String())
	}
}

func TestNodeLabelsSelectResources(t *testing.T) {
	root := emptyRoot(t)
	in := "apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: a}\nspec: {nodeSelector: {matchLabels: {role: web}}, path: /etc/a, ensure: file}\n"
	for labels, want := range map[string]string{"role=db": "0 resources", "role=web": "1 resource"} {
		got := lines(fettle(t, in, "apply", "-f", "-", "--root", root, "--noop", "--labels", labels).out)
		if last := got[len(got)-1]; last[:len(want)] != want {
			t.Errorf("with %s: %s", labels, last)
		}
	}
}

func TestPlanShowsDiffsAndDrift(t *testing.T) {
	root := emptyRoot(t)
	in := file("a", `path: /etc/a, content: "hello\n"`)
	fettle(t, in, "apply", "-f", "-", "--root", root)
	put(t, filepath.Join(root, "etc/a"), "hello\nworld\n")
	got := fettle(t, in, "plan", "-f", "-", "--root", root)
	want := []string{
		"File/a: content changed {sha256}4a1e67f2fe1d1cc7b31d0ca2ec441da4778203a036a77da10344c85e24ff0f92 to " + helloSum + " (noop) (corrective)",
		"--- /etc/a (present)", "+++ /etc/a (desired)", "@@ -1,2 +1,1 @@", " hello", "-world",
		"1 resource: 0 in sync, 0 changed, 0 refreshed, 1 noop, 0 skipped, 0 failed in N",
	}
	if diff := cmp.Diff(want, lines(got.out)); diff != "" {
		t.Error(diff)
	}
	if read(t, filepath.Join(root, "etc/a")) != "hello\nworld\n" {
		t.Error("a plan changed the file")
	}
}

func TestReportMatchesAPI(t *testing.T) {
	root := emptyRoot(t)
	got := fettle(t, file("a", `path: /etc/a, content: "hello\n"`), "apply", "-f", "-", "--root", root, "-o", "json")
	var ran report.Report
	if err := json.Unmarshal([]byte(got.out), &ran); err != nil {
		t.Fatalf("%v in %s", err, got.out)
	}
	ran.Started, ran.Duration, ran.Resources[0].Duration = ran.Started.Truncate(1<<62), 0, 0
	ran.Host, ran.CatalogDigest = "", ran.CatalogDigest[:7]
	for what := range ran.Metrics.Time {
		ran.Metrics.Time[what] = 0
	}
	want := report.Report{
		Kind: "Report", APIVersion: "fettle.dev/v1alpha1", Status: "changed", CatalogDigest: "sha256-",
		Counts: report.Counts{Total: 1, Changed: 1, OutOfSync: 1},
		Metrics: report.Metrics{
			Time:   map[string]report.Duration{"File": 0, "factGeneration": 0, "configRetrieval": 0, "total": 0},
			Events: report.EventCounts{Total: 1, Success: 1}, Changes: report.Total{Total: 1},
		},
		Resources: []report.ResourceReport{{
			Ref: report.Ref{Kind: "File", Name: "a"}, Provider: "posix", State: report.Changed,
			Events: []report.Event{{Property: "ensure", Is: "absent", Should: "file", Status: report.Success, Message: "created"}},
		}},
	}
	ran.Started = want.Started
	if diff := cmp.Diff(want, ran); diff != "" {
		t.Error(diff)
	}
}
