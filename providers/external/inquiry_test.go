package external_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
)

// killing is a host that kills hung processes at their timeouts.
type killing struct{ host.Host }

func (k killing) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	res, err := k.Host.Query(ctx, cmd)
	return killed(cmd, res, err)
}

func (k killing) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	res, err := k.Host.Run(ctx, cmd)
	return killed(cmd, res, err)
}

func killed(cmd host.Cmd, res host.Result, err error) (host.Result, error) {
	if res.ExitCode == hung {
		<-time.After(cmd.Timeout)
		return res, fmt.Errorf("killed after its timeout of %s: %w", cmd.Timeout, context.DeadlineExceeded)
	}
	return res, err
}

// poisoned returns a fixture with many resources and without requests that the tests don't poison.
func poisoned(t *testing.T, count int) (*fixture, []string) {
	t.Helper()
	w := newFixtureOf(t, strings.Replace(entry, "requests: [", "timeoutSeconds: 64\n  requests: [Check, ", 1))
	w.Host = killing{w.host}
	w.registry.check = func(wire.Resource) wire.Answer { return wire.Answer{} }
	var resources []string
	for i := range count {
		resources = append(resources, fmt.Sprintf("Entry/e%d {zone: z, id: %d}", i, i))
	}
	return w, resources
}

// failures returns the lines about failed resources, and how many others were created.
func failures(all []string) (failed []string, created int) {
	for _, line := range all {
		switch {
		case strings.HasSuffix(line, ": created"):
			created++
		case !strings.Contains(line, ": output: "):
			failed = append(failed, line)
		}
	}
	return failed, created
}

func TestOnlyTheCulpritFails(t *testing.T) {
	t.Parallel()

	for request, verb := range map[string]string{
		wire.Check: "its check before the run failed", wire.Canonicalize: "cannot read the present state", wire.Get: "cannot read the present state",
		wire.Validate: "change of ensure from absent to present failed", wire.Set: "change of ensure from absent to present failed",
	} {
		for how, what := range map[string]string{"crash": "the program exited with 137: out of luck", "garbage": "a line of the program's output is not an answer", "hang": "killed after its timeout of "} {
			for _, batch := range []bool{false, true} {
				for _, at := range []int{0, 77, 99} {
					t.Run(fmt.Sprintf("%s/%s/%v/%d", request, how, batch, at), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							w, resources := poisoned(t, 100)
							w.registry.batch = batch
							w.registry.poison = map[string]string{fmt.Sprintf("%s z:%d", request, at): how}
							began := time.Now()
							failed, created := failures(w.Apply(t, resources...))
							want := fmt.Sprintf("Entry/e%d: %s: %s", at, verb, what)
							if len(failed) != 1 || !strings.HasPrefix(failed[0], want) || created != 99 {
								t.Errorf("%d were created, want 99, and %d failed, such as %q, want %s\n%q", created, len(failed), failed[:min(len(failed), 2)], want, w.registry.calls)
							}
							if n := len(w.registry.calls); n > 40 {
								t.Errorf("there were %d processes", n)
							}
							if took := time.Since(began); took > 128*time.Second {
								t.Errorf("the run waited %s for hung processes", took)
							}
						})
					})
				}
			}
		}
	}
}

func TestEachCulpritFailsAlone(t *testing.T) {
	t.Parallel()

	for _, batch := range []bool{false, true} {
		w, resources := poisoned(t, 30)
		w.registry.batch = batch
		w.registry.poison = map[string]string{"get z:3": "crash", "get z:4": "garbage", "get z:20": "crash"}
		failed, created := failures(w.Apply(t, resources...))
		if len(failed) != 3 || created != 27 || !strings.Contains(failed[1], "Entry/e4: cannot read the present state: a line of the program's output is not an answer") {
			t.Errorf("batch %v: %d were created, and failed are %q", batch, created, failed)
		}
	}
}

func TestTheSearchForCulpritsIsBounded(t *testing.T) {
	t.Parallel()

	all := map[string]string{}
	for i := range 100 {
		all[fmt.Sprintf("get z:%d", i)] = "hang"
	}
	for _, how := range []string{"crash", "hang"} {
		for _, batch := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w, resources := poisoned(t, 100)
				for name := range all {
					all[name] = how
				}
				w.registry.batch, w.registry.poison = batch, all
				began := time.Now()
				failed, created := failures(w.Apply(t, resources...))
				if len(failed) != 100 || created != 0 {
					t.Errorf("%d were created, %d failed", created, len(failed))
				}
				if n := len(w.registry.calls); n > 1+1+1+32 { // check, get, hello alone, and the search
					t.Errorf("%s: there were %d processes", how, n)
				}
				if took := time.Since(began); took > 128*time.Second {
					t.Errorf("%s: the run waited %s", how, took)
				}
				if last := failed[99]; !strings.Contains(last, "it is unknown because of which: ") {
					t.Errorf("%s: the report is %s", how, last)
				}
			})
		}
	}
}

func TestAProgramThatFailsWithoutResourcesIsNotAskedAgain(t *testing.T) {
	t.Parallel()

	w, resources := poisoned(t, 100)
	processes := 0
	w.host.Handle("entry", func(host.Cmd) host.Result {
		processes++
		return host.Result{ExitCode: 127, Stderr: []byte("python3: not found")}
	})
	failed, created := failures(w.Apply(t, resources...))
	if len(failed) != 100 || created != 0 || !strings.HasSuffix(failed[0], "the program exited with 127: python3: not found") || processes > 4 {
		t.Errorf("%d were created, %d failed after %d processes: %s", created, len(failed), processes, failed[0])
	}
}

func TestWhatAFailedProcessChangedIsNotChangedAgain(t *testing.T) {
	t.Parallel()

	w, resources := poisoned(t, 4)
	sets := map[string]int{}
	w.registry.asked = func(request string, r wire.Resource) {
		if request == wire.Set {
			sets[r.Name]++
			if r.Name == "z:0" { // it is changed, although the process dies before its answer
				w.registry.has[r.Name] = r.Should
			}
		}
	}
	w.registry.died = 0
	w.registry.set = func(r wire.Resource) wire.Answer {
		w.registry.has[r.Name] = r.Should
		return wire.Answer{}
	}
	w.registry.batch = true
	once := true
	w.host.Handle("entry", func(cmd host.Cmd) host.Result {
		res := w.registry.run(cmd)
		if once && strings.Contains(string(cmd.Stdin), `"request":"set"`) {
			once = false
			return host.Result{ExitCode: 137}
		}
		return res
	})
	lines := w.Apply(t, resources...)
	equal(t, map[string]int{"z:0": 1, "z:1": 1, "z:2": 1, "z:3": 1}, sets)
	equal(t, []string{
		"Entry/e0: output: the program changed it without an answer: the program exited with 137", "Entry/e0: created",
		"Entry/e1: output: the program changed it without an answer: the program exited with 137", "Entry/e1: created",
	}, lines[:4])
	equal(t, []string(nil), w.Apply(t, resources...))
}

func TestWhatAFailedProcessChangedInPartFails(t *testing.T) {
	t.Parallel()

	w, _ := poisoned(t, 0)
	once := true
	w.registry.set = func(r wire.Resource) wire.Answer {
		w.registry.has[r.Name] = wire.State{"zone": "z", "id": r.Should["id"]} // without its ttl
		return wire.Answer{}
	}
	w.host.Handle("entry", func(cmd host.Cmd) host.Result {
		res := w.registry.run(cmd)
		if once && strings.Contains(string(cmd.Stdin), `"request":"set"`) {
			once = false
			return host.Result{ExitCode: 137}
		}
		return res
	})
	lines := strings.Join(w.Apply(t, "Entry/a {zone: z, id: 1, ttl: 60}", "Entry/b {zone: z, id: 2, ttl: 60}"), "\n")
	if strings.Count(lines, "the change did not take effect: ttl is absent, should be 60") != 2 {
		t.Errorf("the report is\n%s", lines)
	}
}
