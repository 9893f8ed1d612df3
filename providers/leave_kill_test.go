package providers_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/test/fixtures/budget"
)

// The environment of the process that is killed: a root, the directory of its
// state, and whether its catalog has the resources. With a moment, the process is the killer.
const (
	rootVar   = "FETTLE_TEST_ROOT"
	stateVar  = "FETTLE_TEST_STATE"
	hasVar    = "FETTLE_TEST_HAS"
	momentVar = "FETTLE_TEST_MOMENT"
)

// wasKilled is the exit code of the killer if the process was not done.
const wasKilled = 3

// TestKeeperProcess is the process that is killed, and the one that kills it.
func TestKeeperProcess(t *testing.T) {
	root := os.Getenv(rootVar)
	if root == "" {
		return // an ordinary run of the tests
	}
	if moment := os.Getenv(momentVar); moment != "" {
		kill(t, moment)
		return
	}
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{t, root, h, os.Getenv(stateVar)}
	k.apply(resource.Restore, catalogOf(os.Getenv(hasVar) != "")...)
}

func catalogOf(has bool) []want {
	if has {
		return changes
	}
	return nil
}

// kill runs the process, kills it and waits for all its child processes, as an init does: to
// shadow's tools, a dead process that nobody has waited for still holds its locks.
func kill(t *testing.T, moment string) {
	t.Helper()
	after, err := time.ParseDuration(moment)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKeeperProcess$")
	cmd.Env = append(os.Environ(), momentVar+"=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // killed, or done before
	timer.Stop()
	for err == nil || errors.Is(err, unix.EINTR) {
		_, err = unix.Wait4(-1, nil, 0, nil)
	}
	if cmd.ProcessState.ExitCode() < 0 {
		os.Exit(wasKilled)
	}
}

// killed runs a catalog in a process of its own, which is killed after a while.
func (k *keeper) killed(has bool, after time.Duration) (alive bool) {
	k.t.Helper()
	cmd := exec.CommandContext(k.t.Context(), os.Args[0], "-test.run=^TestKeeperProcess$")
	cmd.Env = append(os.Environ(), rootVar+"="+k.root, stateVar+"="+k.dir, hasVar+"="+map[bool]string{true: "1"}[has], momentVar+"="+after.String())
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); err != nil && code != wasKilled {
		k.t.Fatalf("the process that kills failed with %d: %s", code, out)
	}
	return err != nil
}

// Whenever a run is killed, the former state is preserved, and the next run completes
// the cleanup.
func TestFormerStateSurvivesKills(t *testing.T) {
	rounds, random := budget.Events(t, 3, 30), budget.Random(t)
	k := changed(t)
	before := k.looks(looks...)
	took := map[bool]time.Duration{}
	for _, has := range []bool{true, false} {
		began := time.Now()
		k.apply(resource.Restore, catalogOf(has)...)
		took[has] = time.Since(began)
	}
	killed, runs := 0, 0
	for ; killed < rounds; runs += 2 {
		for _, has := range []bool{true, false} {
			moment := time.Duration(random.Int64N(int64(took[has])))
			if k.killed(has, moment) {
				killed++
			} else {
				took[has] = moment + 1 // the machine was busy when the run was measured
			}
			k.apply(resource.Restore, catalogOf(has)...)
			if said := k.apply(resource.Restore, catalogOf(has)...); len(said) > 0 {
				t.Fatalf("killed after %s of %s (with resources: %t), made good, and then still %s", moment, took[has], has, said)
			}
		}
		if d := cmp.Diff(before, k.looks(looks...)); d != "" {
			t.Fatalf("the state before (-) and now (+):\n%s", d)
		}
	}
	t.Logf("%d of %d runs were killed", killed, runs)
}
