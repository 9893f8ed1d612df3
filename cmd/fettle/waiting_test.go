package main_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

func TestRunNamesTheProcessThatItWaitsFor(t *testing.T) {
	program := build(t)
	other := sleep(t, program)
	plan := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"plan", "-f", "-", "--root", other.root}, args...)...)
		cmd.Stdin = strings.NewReader("apiVersion: fettle.dev/v1alpha1\nkind: File\nmetadata: {name: a}\nspec: {nodeSelector: {}, path: /a, content: x}\n")
		return cmd
	}
	dir, holder := other.root+"/var/lib/fettle", fmt.Sprintf("PID %d (fettle apply)", other.cmd.Process.Pid)
	waiting := "waiting for the lock of " + dir + ", which " + holder + " holds"
	locked := "fettle: another run is in progress on this host: " + holder + " has locked the state in " + dir + ": wait for it to end and try again"
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, locked + "\n"},
		{[]string{"--wait-for-lock", "1ms"}, waiting + "\n" + locked + "\n"},
	} {
		if out, err := plan(c.args...).CombinedOutput(); err == nil || string(out) != c.want {
			t.Errorf("%v: got %q, %v; want %q", c.args, out, err, c.want)
		}
	}

	patientOne := plan("--wait-for-lock", patient.Limit.String())
	stderr, err := patientOne.StderrPipe()
	if err == nil {
		err = patientOne.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	if !lines.Scan() || lines.Text() != waiting {
		t.Errorf("got %q, want %q", lines.Text(), waiting)
	}
	_ = syscall.Kill(-other.child, syscall.SIGKILL) // which ends the other run
	if lines.Scan() {
		t.Errorf("then it said %q", lines.Text())
	}
	if err := patientOne.Wait(); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	_ = other.cmd.Wait() // its command was killed
}
