package nodeagent_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/fixtures/debian"
)

func namesAuthor(t *testing.T, m *machine) {
	debian.Require(t)
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n"), fileEntry("other", "good\n")))
	shell, err := filepath.EvalSymlinks("/bin/sh")
	must(t, err)

	pid := stranger(t, m.file("motd").path, "bad\n")
	m.soon("the file is changed", func(g Gomega) { // no time passes, so that no run comes before
		g.Expect(m.file("motd").text() == "bad\n" || len(m.object().Status.Drift) > 0).To(BeTrue())
	})
	var author *v1alpha1.Author
	m.moments("drift has its author", func(g Gomega) {
		g.Expect(m.object().Status.Drift).To(HaveLen(1))
		author = m.object().Status.Drift[0].Author
		g.Expect(author).NotTo(BeNil())
	})
	m.Expect(author.Executable).To(Equal(shell))
	m.Expect(author.PID).To(Equal(pid))
	m.Expect(author.UID).To(HaveValue(BeZero()))
	m.Expect(m.logs.String()).To(ContainSubstring("File/motd: author: " + shell + " (PID " + strconv.FormatInt(pid, 10) + ", UID 0"))

	m.file("motd").write("bad\n") // by the agent's own process, as far as it can tell
	m.passes("other drift has no author", func(g Gomega) {
		g.Expect(m.object().Status.Drift).To(HaveLen(1))
		g.Expect(m.object().Status.Drift[0].Count).To(BeEquivalentTo(2))
	})
	m.Expect(m.object().Status.Drift[0].Author).To(BeNil())
}

// stranger has a shell write a file, and stay. Its parent ends before it does so: no process that the test started is an author.
func stranger(t *testing.T, file, content string) (pid int64) {
	t.Helper()
	begin, end := filepath.Join(t.TempDir(), "begin"), filepath.Join(t.TempDir(), "end") // nobody writes to end
	must(t, errors.Join(unix.Mkfifo(begin, 0o600), unix.Mkfifo(end, 0o600)))
	const script = `sh -c 'read x <"$1"; printf %s "$4" >"$3"; read x <"$2"' "$@" </dev/null >/dev/null 2>&1 & echo $!`
	out, err := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", "sh", begin, end, file, content).Output()
	must(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	must(t, err)
	t.Cleanup(func() { _ = unix.Kill(n, unix.SIGKILL) })
	must(t, os.WriteFile(begin, []byte("\n"), 0o600))
	return int64(n)
}
