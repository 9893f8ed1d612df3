package upgrade_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// A memory is something that a version stores on a host, and that the next version needs.
type memory struct {
	what      string
	resources string // Kind/name {spec}, by lines
	then      string // what a shell does to the host after the runs of the first version
	reports   string // what the next version reports about the resources because of it; without it, something else
}

func memories() []memory {
	return []memory{
		{
			what:      "the state that was observed last",
			resources: `File/drifted {path: /etc/drifted, mode: "0640"}`,
			then:      `chmod 0600 /etc/drifted`,
			reports:   `File/drifted: mode changed 0600 to 0640 (corrective)`,
		},
		{
			what:      "the catalog for which a purge was complete",
			resources: `File/tree {path: /srv/tree, ensure: directory, recurse: true, purge: true}`,
			then:      `touch /srv/tree/foreign`,
			reports:   `File//srv/tree/foreign: removed (corrective)`,
		},
		{
			what:      "audited values",
			resources: `File/audited {path: /etc/audited, audit: [mode]}`,
			then:      `chmod 0600 /etc/audited`,
			reports:   `File/audited: audit change: previously recorded value of mode 0644 has been changed to 0600`,
		},
		{
			what:      "the key for digests of audited secrets, with which an unchanged one is not reported",
			resources: `User/ann {name: ann, audit: [password]}`,
		},
		{
			what:      "when a resource was checked last",
			resources: `File/daily {path: /etc/daily, mode: "0640", schedule: {period: daily}}`,
			then:      `chmod 0600 /etc/daily`,
			reports:   `File/daily: not scheduled: already checked in this period of its schedule (daily)`,
		},
		{
			what: "a refresh that failed",
			resources: `
				File/failing {path: /etc/failing, content: "good", notify: [Exec/fails]}
				Exec/fails {command: "test -e /works && echo failed >> /refreshed", shell: true, refreshOnly: true}`,
			then:    `touch /works`,
			reports: `Exec/fails: refreshed by 1 event`,
		},
		{
			what: "a refresh before which the run was killed",
			resources: `
				File/interrupted {path: /etc/interrupted, content: "good", notify: [Exec/interrupted], before: [Exec/hangs]}
				Exec/hangs {command: "touch /hanging; while test -e /hang; do sleep 0.05; done", shell: true, onlyIf: ["test -e /hang"], before: [Exec/interrupted]}
				Exec/interrupted {command: "echo interrupted >> /refreshed", shell: true, refreshOnly: true}`,
			then:    `rm /refreshed`,
			reports: `Exec/interrupted: refreshed by 1 event`,
		},
	}
}

func TestNextVersionRemembersTheHost(t *testing.T) {
	exchanges(t, func(t *testing.T, from, to version) {
		root := debian.Root(t)
		shell := func(script string) string { return debian.Chroot(t, root, "sh", "-e", "-c", script) }
		shell("touch /etc/drifted /etc/audited /etc/daily; useradd ann; echo ann:s3cret | chpasswd; printf bad > /etc/interrupted")
		var manifests strings.Builder
		var want []string
		for _, m := range memories() {
			manifests.WriteString(documents(m.resources))
			if m.reports != "" {
				want = append(want, m.reports)
			}
		}
		slices.Sort(want)

		from.apply(t, root, manifests.String())
		from.apply(t, root, manifests.String()) // in which nothing is left to purge
		from.killRun(t, root, manifests.String())
		for _, m := range memories() {
			shell(m.then)
		}
		history := from.history(t, root)

		if diff := cmp.Diff(want, to.apply(t, root, manifests.String())); diff != "" {
			t.Errorf("the run of the next version (-want +got):\n%s", diff)
		}
		unscheduled := slices.DeleteFunc(want, func(line string) bool { return !strings.Contains(line, "not scheduled") })
		if diff := cmp.Diff(unscheduled, to.apply(t, root, manifests.String())); diff != "" {
			t.Errorf("another run (-want +got):\n%s", diff)
		}
		if got := shell("sort /refreshed"); got != "failed\ninterrupted\n" {
			t.Errorf("refreshed %q", got)
		}
		if got := to.history(t, root); len(got) <= len(history) {
			t.Errorf("the history has %d reports, and had %d before", len(got), len(history))
		} else if diff := cmp.Diff(history, got[:len(history)]); diff != "" {
			t.Errorf("the history (-want +got):\n%s", diff)
		}
		if got, _ := to.fettle(t, root, "", "bucket", "get", "/etc/interrupted"); got != "bad" {
			t.Errorf("the content before the first run is %q", got)
		}
	})
}

// documents returns resources by lines as manifests.
func documents(resources string) string {
	var all strings.Builder
	for line := range strings.Lines(strings.TrimSpace(resources)) {
		ref, spec, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, name, _ := strings.Cut(ref, "/")
		fmt.Fprintf(&all, "---\napiVersion: fettle.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: {nodeSelector: {}, %s\n", kind, name, strings.TrimPrefix(spec, "{"))
	}
	return all.String()
}

// killRun kills a run that has corrected a file and hangs in a command, before it comes to what the file notifies.
func (v version) killRun(t *testing.T, root, manifests string) {
	t.Helper()
	hang, hanging := filepath.Join(root, "hang"), filepath.Join(root, "hanging")
	must(t, os.WriteFile(hang, nil, 0o600))
	defer func() { must(t, os.Remove(hang)) }() // ends the command
	must(t, os.WriteFile(filepath.Join(root, "etc/interrupted"), []byte("bad"), 0o600))
	run := v.command(t, root, manifests, "apply", "-f", "-")
	must(t, run.Start())
	patient.Until(t, "the run hangs", func() bool {
		_, err := os.Stat(hanging)
		return err == nil
	})
	must(t, run.Process.Kill())
	_ = run.Wait() // it was killed
}
