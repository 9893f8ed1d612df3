package linux_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
)

func TestHostOfProcessUsesItsNamespaces(t *testing.T) {
	pid := startInOtherNamespaces(t)
	before := namespacesOf(t, "/proc/thread-self")
	h := open(t, linux.Options{PID: pid})

	_, err := h.WriteFile(t.Context(), "/run/marker", ownedFile("written through its root"))
	must(t, err)
	script := `uname -n; cat /run/marker; echo; pwd; test $$ -lt 1000 && echo a new process table`
	want := host.Result{Stdout: []byte("elsewhere\nwritten through its root\n/\na new process table\n")}
	for range 20 {
		res, err := h.Query(t.Context(), sh(script))
		must(t, err)
		if diff := cmp.Diff(want, res); diff != "" {
			t.Fatalf("result (-want +got):\n%s", diff)
		}
	}
	if exists("/run/marker") {
		t.Error("the file was written to this machine")
	}
	eventually(t, "every thread is in the namespaces it began in", func() bool {
		tasks, err := filepath.Glob("/proc/self/task/*")
		must(t, err)
		for _, task := range tasks {
			if now := namespacesOf(t, task); len(now) == len(before) && !cmp.Equal(before, now) {
				return false
			}
		}
		return len(tasks) > 0
	})
}

// namespacesOf returns the namespaces of a thread; fewer if it ends meanwhile.
func namespacesOf(t *testing.T, task string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{"pid_for_children", "uts", "ipc", "net", "mnt"} {
		if text, err := os.Readlink(task + "/ns/" + name); err == nil {
			found[name] = text
		}
	}
	return found
}
