package facts_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
)

func TestTheOwnersFacts(t *testing.T) {
	h := withFiles(t, map[string]string{
		"/etc/fettle/facts.d/10-rack.txt":   "# where it is\nrack = b12\nsize=1\n\n",
		"/etc/fettle/facts.d/20-role.yaml":  "role: web\nports: [80, 443]\nsize: 2\n",
		"/etc/fettle/facts.d/30-more.json":  `{"kernel": "Mine", "deep": {"on": true}}`,
		"/etc/fettle/facts.d/40-bad.json":   `{"half`,
		"/etc/fettle/facts.d/50-bad.txt":    "no assignment\n",
		"/etc/fettle/facts.d/README":        "text",
		"/etc/fettle/facts.d/.hidden.txt":   "hidden=yes\n",
		"/etc/fettle/facts.d/60-runs":       "",
		"/etc/fettle/facts.d/70-fails":      "",
		"/etc/fettle/facts.d/80-open":       "",
		"/etc/fettle/facts.d/90-large.yaml": "a: " + strings.Repeat("x", 300<<10),
	})
	for name, mode := range map[string]os.FileMode{"60-runs": 0o755, "70-fails": 0o755, "80-open": 0o777} {
		if err := os.Chmod(filepath.Join(h.Dir(), "etc/fettle/facts.d", name), mode); err != nil {
			t.Fatal(err)
		}
	}
	h.Handle("/etc/fettle/facts.d/60-runs", func(host.Cmd) host.Result { return host.Result{Stdout: []byte("from_command=yes\n")} })
	h.Handle("/etc/fettle/facts.d/70-fails", func(host.Cmd) host.Result { return host.Result{ExitCode: 3} })

	got, errs := facts.Gather(t.Context(), h)
	for fact, want := range map[string]any{
		"rack": "b12", "size": 2.0, "role": "web", "ports": []any{80.0, 443.0}, "kernel": "Mine",
		"deep": map[string]any{"on": true}, "from_command": "yes", "hidden": nil, "a": nil,
	} {
		if diff := cmp.Diff(want, got[fact]); diff != "" {
			t.Errorf("%s: %s", fact, diff)
		}
	}
	want := []string{
		"cannot take facts from /etc/fettle/facts.d/40-bad.json: unexpected end of JSON input",
		"cannot take facts from /etc/fettle/facts.d/50-bad.txt: a line is not name=value",
		"cannot take facts from /etc/fettle/facts.d/70-fails: it ended with exit code 3",
		"cannot take facts from /etc/fettle/facts.d/80-open: it has mode 0777 and would run as root: let nobody but its owner write it",
		"cannot take facts from /etc/fettle/facts.d/90-large.yaml: it has 307203 bytes, more than 262144",
	}
	if diff := cmp.Diff(want, texts(errs)); diff != "" {
		t.Error(diff)
	}
}

func TestExecutablesMayWriteAnyFormat(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		want   any
	}{
		"JSON":  {"  {\"fact\": [1]}\n", []any{1.0}},
		"lines": {"fact=a: b\n", "a: b"},
		"YAML":  {"fact:\n  - x=y\n", []any{"x=y"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := executables(t, "run")
			h.Handle("/etc/fettle/facts.d/run", func(host.Cmd) host.Result { return host.Result{Stdout: []byte(c.output)} })
			got, errs := facts.Gather(t.Context(), h)
			if diff := cmp.Diff(c.want, got["fact"]); diff != "" || len(errs) > 0 {
				t.Error(diff, errs)
			}
		})
	}
}

func TestThereIsAnEndToWhatTheOwnerAdds(t *testing.T) {
	t.Run("to the files", func(t *testing.T) {
		files := map[string]string{}
		for i := range 120 {
			files[fmt.Sprintf("/etc/fettle/facts.d/%03d.txt", i)] = fmt.Sprintf("fact%03d=x\n", i)
		}
		got, errs := facts.Gather(t.Context(), withFiles(t, files))
		if got["fact099"] != "x" || got["fact100"] != nil {
			t.Errorf("fact099 is %v and fact100 is %v", got["fact099"], got["fact100"])
		}
		want := []string{"/etc/fettle/facts.d has 120 files, only the first 100 are read: put facts together"}
		if diff := cmp.Diff(want, texts(errs)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("to what one writes", func(t *testing.T) {
		h := executables(t, "run")
		h.Handle("/etc/fettle/facts.d/run", func(host.Cmd) host.Result {
			return host.Result{Stdout: []byte(strings.Repeat("fact=x\n", 100_000))}
		})
		got, errs := facts.Gather(t.Context(), h)
		want := []string{"cannot take facts from /etc/fettle/facts.d/run: it wrote more than 262144 bytes"}
		if diff := cmp.Diff(want, texts(errs)); diff != "" || got["fact"] != nil {
			t.Error(got["fact"], diff)
		}
	})
	t.Run("to the time of each and of all", func(t *testing.T) {
		h := &endless{Reader: executables(t, "1", "2", "3", "4", "5", "6")}
		_, errs := facts.Gather(t.Context(), h)
		if diff := cmp.Diff(slices.Repeat([]time.Duration{5 * time.Second}, 4), h.limits); diff != "" {
			t.Error(diff)
		}
		if n := len(errs); n != 6 || errs[5].Error() != "cannot take facts from /etc/fettle/facts.d/6: the executables before it took all of 20s" {
			t.Error(texts(errs))
		}
	})
}

// executables is a host whose owner has executables for facts.
func executables(t *testing.T, names ...string) *hosttest.Host {
	t.Helper()
	h := hosttest.New(t)
	for _, name := range names {
		h.Put("/etc/fettle/facts.d/"+name, "")
		if err := os.Chmod(filepath.Join(h.Dir(), "etc/fettle/facts.d", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// An endless host has commands that end with their time alone.
type endless struct {
	host.Reader
	limits []time.Duration
}

func (e *endless) Query(_ context.Context, cmd host.Cmd) (host.Result, error) {
	e.limits = append(e.limits, cmd.Timeout)
	return host.Result{}, context.DeadlineExceeded
}

func (e *endless) LookPath(string) (string, error) { return "", fs.ErrNotExist }

func texts(errs []error) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}
