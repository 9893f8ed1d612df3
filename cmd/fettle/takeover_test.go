package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/program"
)

// A host is a machine with systemd that has the command, and a manifest whose second Exec ends when something is written to /go.
type host struct{ *debian.Machine }

const work = "apiVersion: fettle.dev/v1alpha1\nkind: Exec\nmetadata: {name: mark}\n" +
	"spec: {nodeSelector: {}, command: /usr/bin/touch /marked, before: [Exec/migrate]}\n---\n" +
	"apiVersion: fettle.dev/v1alpha1\nkind: Exec\nmetadata: {name: migrate}\n" +
	"spec: {nodeSelector: {}, shell: true, command: 'echo x >> /ran; touch /begun; read line < /go; echo $line', logOutput: always}\n"

func boot(t *testing.T) host {
	t.Helper()
	m := host{debian.Boot(t)}
	program.Make(t, "cmd/fettle", filepath.Join(m.Root(), "usr/local/bin/fettle"))
	if err := os.WriteFile(filepath.Join(m.Root(), "work.yaml"), []byte(work), 0o644); err != nil {
		t.Fatal(err)
	}
	m.sh(t, "mkfifo /go")
	return m
}

func (m host) sh(t *testing.T, script string) string {
	t.Helper()
	out, err := m.Run(t.Context(), "sh", "-c", script)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return out
}

func (m host) has(t *testing.T, path string) func() bool {
	return func() bool {
		_, err := m.Run(t.Context(), "test", "-e", path)
		return err == nil
	}
}

// An applying is an apply in a process of its own, whose number in the machine is in /pid.
type applying struct {
	*exec.Cmd
	output *bytes.Buffer
}

func (m host) apply(t *testing.T) applying {
	t.Helper()
	m.sh(t, "rm -f /marked /pid")
	a := applying{m.Command(t.Context(), "sh", "-c", "echo $$ > /pid; exec fettle apply -f /work.yaml"), new(bytes.Buffer)}
	a.Stdout, a.Stderr = a.output, a.output
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the run has begun", m.has(t, "/marked"))
	return a
}

// result returns what an apply said about the command, without times.
func (a applying) result(t *testing.T) string {
	t.Helper()
	err := a.Wait()
	var lines []string
	for line := range strings.Lines(a.output.String()) {
		if strings.HasPrefix(line, "Exec/migrate") {
			lines = append(lines, line)
		}
	}
	if err != nil {
		lines = append(lines, err.Error()+"\n")
	}
	return strings.Join(lines, "")
}

func (m host) begin(t *testing.T) applying {
	t.Helper()
	m.sh(t, "rm -f /begun /ran")
	a := m.apply(t)
	until(t, "the command runs", m.has(t, "/begun"))
	return a
}

func (m host) expect(t *testing.T, want, got string) {
	t.Helper()
	if got != want {
		t.Errorf("the next run said\n%swant\n%s", got, want)
	}
	if ran := m.sh(t, "cat /ran; ls /run/fettle-units"); ran != "x\n" {
		t.Errorf("the command ran, and left: %q", ran)
	}
}

const took = "Exec/migrate: output: well\nExec/migrate: executed successfully\n"

func TestNextRunTakesOverTheCommandOfAKilledOne(t *testing.T) {
	m := boot(t)
	t.Run("that still runs", func(t *testing.T) {
		killed := m.begin(t)
		m.sh(t, "kill -9 $(cat /pid)")
		_ = killed.Wait()
		next := m.apply(t)
		m.sh(t, "echo well > /go")
		m.expect(t, took, next.result(t))
	})
	t.Run("that has ended", func(t *testing.T) {
		killed := m.begin(t)
		m.sh(t, "kill -9 $(cat /pid)")
		_ = killed.Wait()
		m.sh(t, "echo well > /go")
		until(t, "the unit has ended", func() bool { return m.sh(t, "systemctl --quiet is-active 'fettle-*' || echo ended") != "" })
		m.expect(t, took, m.apply(t).result(t))
	})
	t.Run("by a second signal", func(t *testing.T) {
		aborted := m.begin(t)
		m.sh(t, "kill -INT $(cat /pid)")
		m.sh(t, "kill -INT $(cat /pid)")
		said := aborted.result(t)
		if unit := m.sh(t, "ls /run/fettle-units"); said != "Exec/migrate: command failed: cannot run \"/bin/sh\": aborted, but transient unit "+
			strings.TrimSpace(unit)+" may still run it: the next run waits for that; systemctl stop "+strings.TrimSpace(unit)+" ends it\nexit status 1\n" {
			t.Errorf("the aborted run said\n%s", said)
		}
		next := m.apply(t)
		m.sh(t, "echo well > /go")
		m.expect(t, took, next.result(t))
	})
}

// In a chroot whose /run is that of the machine, commands run in the chroot, and not in a unit of the machine.
func TestCommandsOfAChrootRunInIt(t *testing.T) {
	m := boot(t)
	m.sh(t, `mkdir /chroot && cd /chroot && mkdir usr etc run proc dev tmp var && ln -s usr/bin usr/sbin usr/lib usr/lib64 . && cp /work.yaml .
		for d in usr etc run proc dev; do mount --rbind /$d $d; done; mkfifo go`)
	done := m.Command(t.Context(), "chroot", "/chroot", "fettle", "apply", "-f", "/work.yaml", "Exec/mark")
	if out, err := done.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !m.has(t, "/chroot/marked")() || m.has(t, "/marked")() {
		t.Error("the command did not run in the chroot")
	}
}
