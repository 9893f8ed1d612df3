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

func TestExternalFacts(t *testing.T) {
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
		"cannot take facts from /etc/fettle/facts.d/70-fails: it exited with 3",
		"cannot take facts from /etc/fettle/facts.d/80-open: /etc/fettle/facts.d/80-open has mode 0777, so users other than root can change it: chmod go-w /etc/fettle/facts.d/80-open",
		"cannot take facts from /etc/fettle/facts.d/90-large.yaml: it has 307203 bytes, more than 262144",
	}
	if diff := cmp.Diff(want, texts(errs)); diff != "" {
		t.Error(diff)
	}
}

func TestExecutableFactsAcceptEveryFormat(t *testing.T) {
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

func TestExternalFactsAreBounded(t *testing.T) {
	t.Run("by number of files", func(t *testing.T) {
		files := map[string]string{}
		for i := range 120 {
			files[fmt.Sprintf("/etc/fettle/facts.d/%03d.txt", i)] = fmt.Sprintf("fact%03d=x\n", i)
		}
		got, errs := facts.Gather(t.Context(), withFiles(t, files))
		if got["fact099"] != "x" || got["fact100"] != nil {
			t.Errorf("fact099 is %v and fact100 is %v", got["fact099"], got["fact100"])
		}
		want := []string{"/etc/fettle/facts.d has 120 files, only the first 100 are read: merge some of them"}
		if diff := cmp.Diff(want, texts(errs)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("by size of output", func(t *testing.T) {
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
	t.Run("by time, each and in total", func(t *testing.T) {
		h := &endless{Reader: executables(t, "1", "2", "3", "4", "5", "6")}
		_, errs := facts.Gather(t.Context(), h)
		if diff := cmp.Diff(slices.Repeat([]time.Duration{5 * time.Second}, 4), h.limits); diff != "" {
			t.Error(diff)
		}
		if n := len(errs); n != 6 || errs[5].Error() != "cannot take facts from /etc/fettle/facts.d/6: the executables before it used up the limit of 20s" {
			t.Error(texts(errs))
		}
	})
}

// executables returns a host with executable facts.
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

// An endless host has commands that end only at their timeout.
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

// Users other than root who can change a file or its parent directories must not make root run it, or forge facts.
func TestFactFilesWritableByOthersAreIgnored(t *testing.T) {
	const dir = "/etc/fettle/facts.d"
	owned := func(uid int, file string) func(*testing.T, *hosttest.Host) {
		return func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			if err := h.Chown(file, uid, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	open := func(mode uint32, file string) func(*testing.T, *hosttest.Host) {
		return func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			if err := h.Chmod(file, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	linked := func(file, to string, uid int) func(*testing.T, *hosttest.Host) {
		return func(t *testing.T, h *hosttest.Host) {
			t.Helper()
			h.Put("/home/ann/facts.txt", "fact=ann\n")
			h.Put("/srv/facts.txt", "fact=root\n")
			for _, err := range []error{h.Chown("/home/ann", 1000, 1000), h.RemoveAll(file), h.Symlink(to, file), h.Chown(file, uid, -1)} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		given func(*testing.T, *hosttest.Host)
		want  string // the error; "" if the facts are read
	}{
		"a file of a user":             {owned(1000, dir+"/a.txt"), "cannot take facts from " + dir + "/a.txt: " + dir + "/a.txt belongs to user 1000, who could make root run anything: chown root " + dir + "/a.txt"},
		"an executable of a user":      {owned(1000, dir+"/run"), "cannot take facts from " + dir + "/run: " + dir + "/run belongs to user 1000, who could make root run anything: chown root " + dir + "/run"},
		"a file open to a group":       {open(0o664, dir+"/a.txt"), "cannot take facts from " + dir + "/a.txt: " + dir + "/a.txt has mode 0664, so users other than root can change it: chmod go-w " + dir + "/a.txt"},
		"a directory open to all":      {open(0o1777, dir), "cannot take facts from " + dir + ": " + dir + " has mode 1777, so users other than root can change it: chmod go-w " + dir},
		"a directory of a user":        {owned(1000, dir), "cannot take facts from " + dir + ": " + dir + " belongs to user 1000, who could make root run anything: chown root " + dir},
		"a parent directory of a user": {owned(1000, "/etc/fettle"), "cannot take facts from " + dir + ": /etc/fettle belongs to user 1000, who could make root run anything: chown root /etc/fettle"},
		"a link to a user's home":      {linked(dir+"/a.txt", "/home/ann/facts.txt", 0), "cannot take facts from " + dir + "/a.txt: /home/ann belongs to user 1000, who could make root run anything: chown root /home/ann"},
		"a directory that links there": {
			linked(dir, "../../home/ann", 0), "cannot take facts from " + dir + ": /home/ann belongs to user 1000, who could make root run anything: chown root /home/ann",
		},
		"a link of a user":                 {linked(dir+"/a.txt", "/srv/facts.txt", 1000), "cannot take facts from " + dir + "/a.txt: " + dir + "/a.txt belongs to user 1000, who could make root run anything: chown root " + dir + "/a.txt"},
		"a link to itself":                 {linked(dir+"/a.txt", "a.txt", 0), "cannot take facts from " + dir + "/a.txt: " + dir + "/a.txt leads through more than 40 symlinks"},
		"a link that only root can change": {linked(dir+"/a.txt", "/srv/facts.txt", 0), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := withFiles(t, map[string]string{dir + "/a.txt": "fact=a\n", dir + "/run": ""})
			if err := h.Chmod(dir+"/run", 0o755); err != nil {
				t.Fatal(err)
			}
			h.Handle(dir+"/run", func(host.Cmd) host.Result { return host.Result{Stdout: []byte("ran=yes\n")} })
			c.given(t, h)
			got, errs := facts.Gather(t.Context(), h)
			if c.want == "" {
				if got["fact"] != "root" || len(errs) > 0 {
					t.Errorf("got %v, %v", got["fact"], errs)
				}
				return
			}
			if said := texts(errs); len(said) != 1 || said[0] != c.want {
				t.Errorf("got  %v\nwant %s", said, c.want)
			}
			if got["fact"] == "ann" || strings.Contains(c.want, "run:") && got["ran"] != nil || !strings.Contains(c.want, ".txt") && !strings.Contains(c.want, "run:") && got["ran"] != nil {
				t.Errorf("facts were read: %v, %v", got["fact"], got["ran"])
			}
		})
	}
}

func TestTotalSizeOfExternalFactsIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 6 {
		files[fmt.Sprintf("/etc/fettle/facts.d/%d.txt", i)] = fmt.Sprintf("fact%d=%s\n", i, strings.Repeat("x", 200<<10))
	}
	got, errs := facts.Gather(t.Context(), withFiles(t, files))
	want := []string{"cannot take facts from /etc/fettle/facts.d/5.txt: all files together exceed 1048576 bytes: remove facts"}
	if diff := cmp.Diff(want, texts(errs)); diff != "" || got["fact4"] == nil || got["fact5"] != nil {
		t.Error(diff)
	}
}
