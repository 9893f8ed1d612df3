package exec_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

// As under an agent, commands run in transient units in the namespaces of the host.
func TestCommandsRunInATransientUnitOnAMachine(t *testing.T) {
	m := debian.Boot(t)
	h, err := linux.Open(linux.Options{PID: m.PID(), Transient: true})
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })

	lines := run(t, h, false, item(t, "a", `{command: "tail -1 /proc/self/cgroup; id -un; echo $TOKEN; umask", shell: true, user: daemon, umask: "027", environment: [TOKEN=s3cret], logOutput: always}`))
	if len(lines) != 6 || !strings.Contains(lines[1], "/system.slice/fettle-") {
		t.Fatalf("got %q", lines)
	}
	same(t, lines[2:], "output: daemon", "output: [redacted]", "output: 0027", "executed successfully")

	same(t, run(t, h, false, item(t, "b", `{command: "echo why >&2; exit 3", shell: true, tries: 2}`)),
		"Exec/b Failed", `command failed: exit status 3; output: why`)
	same(t, run(t, h, false, item(t, "c", `{command: /bin/sleep 60, timeoutSeconds: 1}`)),
		"Exec/c Failed", `command failed: cannot run "/bin/sleep": killed after its timeout of 1s: context deadline exceeded`)
	same(t, run(t, h, false, item(t, "c", `{command: /bin/true, cwd: /nowhere}`)),
		"Exec/c Failed", "command failed: cwd /nowhere does not exist on the host: create it first, with a File that has ensure: directory")
	same(t, run(t, h, false, item(t, "d", `{command: /bin/true, timeoutSeconds: 0}`)), "Exec/d Changed", "executed successfully")
}
