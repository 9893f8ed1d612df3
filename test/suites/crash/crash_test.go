// Package crash_test kills runs, breaks their disks and searches for leaked secrets.
//
// It tests the real program on disposable machines and roots.
package crash_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/budget"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// files is the number of files that a round changes. The service reads all of them when it starts.
const files = 12

// unit loads its configuration before it counts as started. It disables systemd's limit on restarts.
const unit = `[Unit]
StartLimitIntervalSec=0
[Service]
ExecStartPre=/bin/sh -c 'cat /srv/web/* > /run/loaded'
ExecStart=/bin/sleep infinity
`

// A round is a desired state of the machine. Consecutive rounds have nothing in common, so that none has to be undone
// before the next.
type round int

func (r round) present() bool { return r%2 == 1 }

// content returns the content of a file, large enough to be torn.
func (r round) content(file int) string {
	return strings.Repeat(fmt.Sprintf("round %d file %d\n", r, file), 800)
}

// loaded returns the data of a service that has read all files.
func (r round) loaded() string {
	var all strings.Builder
	for i := range files {
		all.WriteString(r.content(i))
	}
	return all.String()
}

func (r round) manifest() string {
	ensure := map[bool]string{true: "present", false: "absent"}[r.present()]
	var m strings.Builder
	add := func(kind, name, spec string) {
		fmt.Fprintf(&m, "apiVersion: fettle.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: {nodeSelector: {}, %s}\n---\n", kind, name, spec)
	}
	for i := range files {
		switch i {
		case 4:
			add("User", "ann", "ensure: "+ensure+map[bool]string{
				true: fmt.Sprintf(`, uid: 1500, comment: "round %d", shell: /bin/bash, password: "$6$salt$%d"`, r, r),
			}[r.present()])
		case 8:
			add("Package", "greeter", "ensure: "+ensure+", notify: [SystemService/web]")
		}
		add("File", fmt.Sprintf("f%02d", i), fmt.Sprintf("path: /srv/web/f%02d, content: %q, mode: \"0640\", notify: [SystemService/web]", i, r.content(i)))
	}
	add("SystemService", "web", "ensure: running")
	return m.String()
}

// want is the expected output of the machine's tools.
func (r round) want() string {
	account, status := "", ""
	if r.present() {
		account = fmt.Sprintf("ann:x:1500:1500:round %d:/home/ann:/bin/bash\nann:$6$salt$%d\n", r, r)
		status = "install ok installed\n"
	}
	return account + status + "active\n"
}

const look = `getent passwd ann; grep ^ann: /etc/shadow | cut -d: -f1,2
dpkg-query -W -f '${Status}\n' greeter 2>/dev/null | grep -v 'not-installed\|config-files'
dpkg --audit; systemctl is-active web; find / -xdev -name '.fettle-*'; find /srv/web ! -perm 0640 -type f; exit 0`

// A machine runs the program under test.
type machine struct{ *debian.Machine }

func TestNextRunRepairsKilledRun(t *testing.T) {
	rounds, random := budget.Events(t, 3, 25), budget.Random(t)
	m := boot(t)

	took := map[bool]time.Duration{} // key: whether the run adds or removes
	for r := round(1); r <= 2; r++ {
		took[r.present()] = m.converge(t, r, "")
	}
	killed, tried := 0, 0
	for r := round(3); killed < rounds; r++ {
		moment := time.Duration(random.Int64N(int64(took[r.present()])))
		before := m.invocation(t)
		m.write(t, r)
		if m.kill(t, moment) {
			killed++
		} else {
			took[r.present()] = moment + 1 // the machine was busy when the run was measured
		}
		tried++
		m.expectWhole(t, r)
		m.converge(t, r, before)
		if t.Failed() {
			t.Fatalf("run %d, killed after %s", tried, moment)
		}
	}
	t.Logf("%d of %d runs were killed; they take %s to add and %s to remove", killed, tried, took[true], took[false])
}

func boot(t *testing.T) machine {
	t.Helper()
	m := machine{debian.Boot(t)}
	debian.Repository(t, m.Root(), debian.Deb{
		Name: "greeter", Version: "1.0", Files: map[string]string{"/usr/bin/greet": "#!/bin/sh\necho hello\n"},
	})
	put(t, filepath.Join(m.Root(), "etc/systemd/system/web.service"), unit)
	install(t, m.Root())
	if err := os.MkdirAll(filepath.Join(m.Root(), "srv/web"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.run(t, "sh", "-c", "systemctl daemon-reload && apt-get -qq update")
	return m
}

func (m machine) run(t *testing.T, command ...string) string {
	t.Helper()
	out, err := m.Run(t.Context(), command...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (m machine) write(t *testing.T, r round) {
	t.Helper()
	put(t, filepath.Join(m.Root(), "root/state.yaml"), r.manifest())
}

// apply waits for the lock: a child of the killed run holds it until it calls exec.
func (m machine) apply(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return m.Command(t.Context(), append([]string{program, "apply", "-f", "/root/state.yaml", "--wait-for-lock=" + patient.Limit.String()}, args...)...)
}

func (m machine) invocation(t *testing.T) string {
	t.Helper()
	return m.run(t, "systemctl", "show", "--value", "--property=InvocationID", "web")
}

// kill starts a run and kills its process, but not its children, after a while. It reports whether the run was still
// alive.
func (m machine) kill(t *testing.T, after time.Duration) bool {
	t.Helper()
	cmd := m.apply(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // only the state of the machine matters
	pid, moment := 0, time.After(after)
	for pid == 0 {
		select {
		case <-ended:
			t.Fatalf("the run ended before its process was found: %s", cmd.ProcessState)
		case <-time.After(time.Millisecond):
			pid = childNamed(cmd.Process.Pid, filepath.Base(program))
		}
	}
	select {
	case <-ended:
		return false
	case <-moment:
		err := unix.Kill(pid, unix.SIGKILL)
		<-ended
		return err == nil
	}
}

// childNamed returns the child of a process that runs the named program, or 0.
func childNamed(parent int, name string) int {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", parent))
	if err != nil {
		return 0
	}
	for child := range strings.FieldsSeq(string(children)) {
		if comm, err := os.ReadFile("/proc/" + child + "/comm"); err == nil && string(comm) == name+"\n" {
			pid, _ := strconv.Atoi(child) // a non-numeric directory in /proc has no parent
			return pid
		}
	}
	return 0
}

// expectWhole checks that every file has its old or its new content.
func (m machine) expectWhole(t *testing.T, r round) {
	t.Helper()
	for i := range files {
		path := fmt.Sprintf("srv/web/f%02d", i)
		if got := read(t, filepath.Join(m.Root(), path)); got != r.content(i) && got != (r-1).content(i) {
			t.Errorf("%s is torn: %d bytes, beginning %.40q", path, len(got), got)
		}
	}
}

// converge makes a complete run and checks the result. A service that was running must have been restarted. It returns
// the duration of the run.
func (m machine) converge(t *testing.T, r round, before string) time.Duration {
	t.Helper()
	m.write(t, r)
	begin := time.Now()
	if out, err := m.apply(t).CombinedOutput(); err != nil {
		t.Errorf("the next run: %v\n%s", err, out)
	}
	took := time.Since(begin)
	if diff := cmp.Diff(r.want(), m.run(t, "sh", "-c", look)); diff != "" {
		t.Errorf("the machine (-want +got):\n%s", diff)
	}
	for i := range files {
		if path := fmt.Sprintf("srv/web/f%02d", i); read(t, filepath.Join(m.Root(), path)) != r.content(i) {
			t.Errorf("%s has the wrong content", path)
		}
	}
	if m.run(t, "cat", "/run/loaded") != r.loaded() || m.invocation(t) == before {
		t.Error("the service was not refreshed after a change to its files")
	}
	s, err := state.OpenReadOnly(filepath.Join(m.Root(), state.DefaultDir), state.Options{Wait: patient.Limit})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[resource.Ref]int{}, s.Armed()); diff != "" || len(s.Warnings()) > 0 {
		t.Errorf("refreshes that are due (-want +got):\n%s%v", diff, s.Warnings())
	}
	out, err := m.apply(t, "--noop").CombinedOutput()
	if want := fmt.Sprintf("%[1]d resources: %[1]d in sync", files+3); err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("another run reports %s%v", out, err)
	}
	return took
}
