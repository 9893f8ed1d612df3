//go:build rare

package external_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/report"
)

func TestAnsibleModules(t *testing.T) {
	a := newAuthor(t, "ansible")
	a.write(t, "etc/app.conf", "a = 1\nb = 2\n")
	a.write(t, "etc/sysctl.conf", "")
	a.adopt(t, "Line", "example", "path=/etc/motd", "line=hello", "create=true", "--ansible", "lineinfile")
	a.adopt(t, "IniOption", "example", "path=/etc/app.ini", "section=main", "option=level", "value=debug", "--ansible", "ini_file")
	a.adopt(t, "Replacement", "example", "path=/etc/app.conf", "regexp=b = 2", "replace=b = 3", "--ansible", "ansible.builtin.replace")
	a.adopt(t, "KernelSetting", "example", "name=vm.swappiness", "value=10", "reload=false", "--ansible", "ansible.posix.sysctl")
	a.test(t, "Line", "IniOption", "Replacement", "KernelSetting")
	a.compareSpec(t, "IniOption", "testdata/inioption.yaml")

	t.Run("a module is run only if its check mode changes something", func(t *testing.T) {
		a.write(t, "etc/app.conf", "a = 1\nb = 2\n")
		lines := []string{"Line/a {task: a, converged: true, path: /etc/app.conf, regexp: '^a =', line: a = 7}", "Line/c {task: c, converged: true, path: /etc/app.conf, line: c = 3}"}
		a.Noop = true
		result := a.Report(t, lines...)
		equal(t, []string{"Line/a: converged changed false to true (noop) (unknown: runs the program of the type)", "Line/c: created (noop) (unknown: runs the program of the type)"}, linesOf(result))
		equal(t, []string{"-a = 1\n+a = 7\n", "+c = 3\n"}, changedLines(result))
		equal(t, "a = 1\nb = 2\n", a.read(t, "etc/app.conf"))
		a.Noop = false
		equal(t, []string{"Line/a: output: line replaced", "Line/a: converged changed false to true", "Line/c: output: line added", "Line/c: created"}, a.Apply(t, lines...))
		equal(t, "a = 7\nb = 2\nc = 3\n", a.read(t, "etc/app.conf"))
		queries, runs := a.counter.queries, a.counter.runs
		equal(t, []string(nil), a.Apply(t, lines...))
		equal(t, []int{1, 0}, []int{a.counter.queries - queries, a.counter.runs - runs})
		equal(t, []string{"Line/c: output: 1 line(s) removed", "Line/c: removed"}, a.Apply(t, "Line/c {task: c, ensure: absent, path: /etc/app.conf, line: c = 3}"))
		equal(t, "a = 7\nb = 2\n", a.read(t, "etc/app.conf"))
	})
	t.Run("one module that fails does not fail the others", func(t *testing.T) {
		lines := a.Apply(t, "Line/bad {task: bad, path: /etc/none, line: x}", "Line/good {task: good, path: /etc/app.conf, line: d = 4}")
		if len(lines) != 3 || !strings.Contains(lines[0], "Destination /etc/none does not exist") || lines[2] != "Line/good: created" {
			t.Errorf("the report is %q", lines)
		}
	})
	t.Run("options and results with secrets are not shown or logged", func(t *testing.T) {
		a.adopt(t, "SecretLine", "example", "path=/etc/motd", "line=hello", "--ansible", "lineinfile")
		a.declareSecret(t, "SecretLine", "line")
		log := a.syslog(t)
		a.write(t, "etc/secret.conf", "password = \"marker-old\" \u00e9\n")
		result := a.Report(t, `SecretLine/password {task: password, converged: true, path: /etc/secret.conf, regexp: '^password', line: 'password = "marker-new" ü \'}`)
		shown := fmt.Sprintf("%+v", result)
		if result.Counts.Changed != 1 || strings.Contains(shown, "marker") {
			t.Errorf("the report is %q", shown)
		}
		if text := log(); strings.Contains(text, "marker") {
			t.Errorf("the system's log has %q", text)
		}
	})
}

func TestUnsuitableAnsibleModulesAreRefused(t *testing.T) {
	a := newAuthor(t, "ansible")
	for module, want := range map[string]string{
		"wait_for": "the module ansible.builtin.wait_for has no check mode, so Fettle cannot tell whether it has something to change: run it in an Exec with a condition",
		"template": "part of the module template runs on Ansible's controller, which Fettle does not have: use a kind of Fettle, or another module",
		"nosuch":   "Ansible has no module nosuch",
	} {
		out, err := a.fettle(t, "type", "new", "Thing", "--ansible", module)
		if err == nil || !strings.Contains(err.Error()+out, want) {
			t.Errorf("%s: got %v, want %s", module, err, want)
		}
	}
}

// linesOf returns the report for people.
func linesOf(r report.Report) []string {
	var lines []string
	for _, r := range r.Resources {
		lines = append(lines, r.Lines()...)
	}
	return lines
}

// changedLines returns the removed and added lines in the differences of a report.
func changedLines(r report.Report) []string {
	var all []string
	for _, r := range r.Resources {
		for _, e := range r.Events {
			text := ""
			for line := range strings.Lines(e.Diff + "\n") {
				if (line[0] == '-' || line[0] == '+') && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "+++") {
					text += line
				}
			}
			all = append(all, text)
		}
	}
	return all
}

// syslog receives the system's log of the host. The function that it returns ends that, and returns the log.
func (a *author) syslog(t *testing.T) func() string {
	t.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(a.root, "dev/log"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return func() string {
		text, buffer := "", make([]byte, 64<<10)
		if err := socket.SetReadDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		for {
			n, err := socket.Read(buffer)
			if err != nil {
				return text
			}
			text += string(buffer[:n])
		}
	}
}
