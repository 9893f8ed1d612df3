package crash_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/providers"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// managed names the variable that makes the test binary apply the resources on its standard input once, as an agent
// does: to the machine with this first process.
const managed = "FETTLE_TEST_MANAGED_MACHINE"

// An object is a resource of such a run.
type object struct {
	Kind, Name string
	Notify     []resource.Ref
	Spec       json.RawMessage
}

// manage makes such a run and prints its report.
func manage(ctx context.Context, machine string, manifests io.Reader, to io.Writer) (err error) {
	pid, err := strconv.Atoi(machine)
	if err != nil {
		return err
	}
	h, err := linux.Open(linux.Options{PID: pid, Transient: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	store, err := state.Open(filepath.Join("/proc", machine, "root", state.DefaultDir), state.Options{Wait: patient.Limit})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	items, err := items(manifests)
	if err != nil {
		return err
	}
	facts := resource.Facts{"os": map[string]any{"family": "Debian"}}
	report, err := engine.Transaction{Host: h, Store: store, Facts: facts, Now: time.Now}.Run(ctx, items)
	for _, r := range report.Resources {
		fmt.Fprintln(to, r.Ref.String(), r.State)
		for _, l := range r.Lines() {
			fmt.Fprintln(to, strings.TrimPrefix(l, r.Ref.String()+": "))
		}
	}
	return err
}

func items(manifests io.Reader) ([]resource.Item, error) {
	text, err := io.ReadAll(manifests)
	if err != nil {
		return nil, err
	}
	var objects []object
	if err := yaml.UnmarshalStrict(text, &objects); err != nil {
		return nil, err
	}
	var all []resource.Item
	for _, o := range objects {
		i := resource.Item{Ref: resource.Ref{Kind: o.Kind, Name: o.Name}, Notify: o.Notify}
		for _, k := range providers.Kinds() {
			if k.Name() == o.Kind {
				i.Resource, i.Invalid = k.Bind(i.Ref, o.Spec)
			}
		}
		all = append(all, i)
	}
	return all, nil
}

// An agent is killed with SIGKILL while a command runs, which takes three seconds. The next one must not run it again.
func TestNextAgentTakesOver(t *testing.T) {
	const work = "touch /begun; sleep 3; echo x >> /ran; echo $TOKEN well"
	const shell = "shell: true, logOutput: always, environment: [TOKEN=s3cret], "
	const ran = "executed successfully"
	notifier := `{kind: Exec, name: a, notify: [{kind: Exec, name: b}], spec: {command: /bin/touch /a, creates: [/a]}}, `
	m := machine{debian.Boot(t)}
	debian.Repository(t, m.Root(), debian.Deb{
		Name: "slow", Version: "1.0", Scripts: map[string]string{"postinst": "#!/bin/sh\n" + work + " >&2\n"},
	})
	m.run(t, "apt-get", "-qq", "update")
	for name, c := range map[string]struct {
		objects string
		next    string // the objects of the next run, unless they are the same
		ended   bool   // the command ends before the next run
		want    []string
		did     string // how often the command ran
	}{
		"a command": {
			objects: `{kind: Exec, name: b, spec: {` + shell + `command: "` + work + `"}}`,
			want:    []string{"Exec/b Changed", "output: [redacted] well", ran}, did: "x",
		},
		"a command that ended meanwhile": {
			objects: `{kind: Exec, name: b, spec: {` + shell + `command: "` + work + `"}}`, ended: true,
			want: []string{"Exec/b Changed", "output: [redacted] well", ran}, did: "x",
		},
		"a command whose checks have changed by what it does": {
			objects: `{kind: Exec, name: b, spec: {` + shell + `command: "` + work + `", unless: ["test -e /begun"], onlyIf: ["test ! -e /begun"], creates: [/begun]}}`,
			want:    []string{"Exec/b Changed", "output: [redacted] well", ran}, did: "x",
		},
		"a command that fails": {
			objects: `{kind: Exec, name: b, spec: {` + shell + `command: "` + work + `; exit 3"}}`,
			want:    []string{"Exec/b Failed", "command failed: exit status 3; output: [redacted] well"}, did: "x",
		},
		"a command that fails in the first of its tries": {
			objects: `{kind: Exec, name: b, spec: {` + shell + `tries: 2, command: "` + work + `; test $(wc -l < /ran) -eq 2"}}`,
			want:    []string{"Exec/b Changed", "output: [redacted] well", ran}, did: "xx",
		},
		"a command that takes too long": {
			objects: `{kind: Exec, name: b, spec: {` + shell + `timeoutSeconds: 2, command: "` + work + `"}}`,
			want:    []string{"Exec/b Failed", `command failed: cannot run "/bin/sh": killed after its timeout of 2s: context deadline exceeded`},
		},
		"a command that was killed meanwhile": {
			objects: `{kind: Exec, name: b, spec: {` + shell + `command: "touch /begun; sleep 1; systemctl kill --signal=KILL --kill-who=main 'fettle-*'; sleep 1; echo x >> /ran"}}`, ended: true,
			want: []string{"Exec/b Failed", `command failed: cannot run "/bin/sh": transient unit UNIT was stopped by another process`},
		},
		"a command that was replaced meanwhile": {
			objects: `{kind: Exec, name: b, spec: {` + shell + `command: "` + work + `"}}`,
			next:    `{kind: Exec, name: b, spec: {` + shell + `command: "echo y >> /ran"}}`,
			want:    []string{"Exec/b Changed", "output: waited for an earlier command of this Exec, which has changed since", ran}, did: "xy",
		},
		"a refresh": {
			objects: notifier + `{kind: Exec, name: b, spec: {` + shell + `refreshOnly: true, command: "` + work + `", onlyIf: ["test ! -e /begun"]}}`,
			want:    []string{"Exec/a InSync", "Exec/b Refreshed", "output: [redacted] well", "refreshed by 1 event"}, did: "x",
		},
		"a refresh that fails stays pending": {
			objects: notifier + `{kind: Exec, name: b, spec: {shell: true, refreshOnly: true, command: "` + work + `; exit 3"}}`,
			want:    []string{"Exec/a InSync", "Exec/b Failed", "cannot refresh: exit status 3; output: well"}, did: "xx",
		},
		"a refresh, which is due again": {
			objects: `{kind: Exec, name: a, notify: [{kind: Exec, name: b}], spec: {command: /bin/true}}, {kind: Exec, name: b, spec: {shell: true, refreshOnly: true, command: "` + work + `"}}`,
			want:    []string{"Exec/a Changed", ran, "Exec/b Refreshed", "refreshed by 1 event", "refreshed by 1 event"}, did: "xx",
		},
		"a package": {
			objects: `{kind: Package, name: slow, notify: [{kind: Exec, name: b}], spec: {}}, {kind: Exec, name: b, spec: {command: /bin/touch /refreshed, refreshOnly: true}}`,
			want:    []string{"Package/slow InSync", "Exec/b Refreshed", "refreshed by 1 event"}, did: "x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m.run(t, "sh", "-c", "rm -rf /begun /ran /a /var/lib/fettle /var/log/apt/history.log; ! dpkg -s slow >/dev/null 2>&1 || dpkg --purge slow")
			m.killInTheMiddle(t, c.objects)
			if c.ended {
				m.await(t, "sh", "-c", "! systemctl --quiet is-active 'fettle-*'")
			}
			next := c.next
			if next == "" {
				next = c.objects
			}
			got := m.manage(t, next)
			for i := range got {
				got[i] = unitName(got[i])
			}
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("the next report (-want +got):\n%s", diff)
			}
			if name == "a refresh that fails stays pending" {
				m.manage(t, next)
			}
			if did := strings.ReplaceAll(m.run(t, "sh", "-c", "cat /ran 2>/dev/null || true"), "\n", ""); did != c.did {
				t.Errorf("it ran %q, want %q", did, c.did)
			}
			if left := m.run(t, "sh", "-c", "ls /run/fettle-units; pgrep -x sleep; grep -c ^Commandline /var/log/apt/history.log 2>/dev/null | grep -vx 1; journalctl --no-pager 2>/dev/null | grep s3cret; true"); left != "" {
				t.Errorf("left:\n%s", left)
			}
		})
	}
	m.awaitOrphans(t)
}

func unitName(line string) string {
	for w := range strings.FieldsSeq(line) {
		if strings.HasPrefix(w, "fettle-") {
			return strings.Replace(line, w, "UNIT", 1)
		}
	}
	return line
}

func (m machine) agent(t *testing.T, objects string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), managed+"="+strconv.Itoa(m.PID()))
	cmd.Stdin, cmd.Stderr = strings.NewReader("["+objects+"]"), os.Stderr
	return cmd
}

// manage makes a complete run and returns its report.
func (m machine) manage(t *testing.T, objects string) []string {
	t.Helper()
	out, err := m.agent(t, objects).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// killInTheMiddle kills an agent once its command has begun.
func (m machine) killInTheMiddle(t *testing.T, objects string) {
	t.Helper()
	cmd := m.agent(t, objects)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.await(t, "test", "-e", "/begun")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// awaitOrphans waits until the processes of killed agents have been reaped. The machine can't stop before.
func (m machine) awaitOrphans(t *testing.T) {
	t.Helper()
	m.await(t, "sh", "-c", "! pgrep -x systemd-run")
}

// await waits until a command in the machine succeeds.
func (m machine) await(t *testing.T, command ...string) {
	t.Helper()
	patient.Until(t, strings.Join(command, " ")+" succeeds", func() bool {
		_, err := m.Run(t.Context(), command...)
		return err == nil
	})
}
