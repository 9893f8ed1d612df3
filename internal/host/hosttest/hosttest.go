// Package hosttest is a host for tests: real files in a temporary root, and fake
// commands that keep their state in the test.
//
// It records everything in a transcript: a command that only reads as "? argv", and every change as
// "! ...". So a test that expects no change expects a transcript without "!".
package hosttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
)

var _ host.Host = (*Host)(nil)

// A Host is a fake host. It is safe for concurrent use.
type Host struct {
	t      testing.TB
	dir    string
	files  *linux.Host
	owners *owners

	mu         sync.Mutex
	commands   map[string]func(host.Cmd) host.Result
	transcript []string
	jobs       map[string]host.Resumed // by owner
}

// New returns a host that is removed when the test ends. It has an empty root directory and no commands.
func New(t testing.TB) *Host {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := linux.Open(linux.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Host{
		t:        t,
		dir:      dir,
		files:    files,
		owners:   newOwners(),
		commands: map[string]func(host.Cmd) host.Result{},
		jobs:     map[string]host.Resumed{},
	}
}

// Dir is the path of the host's root on the machine that runs the test.
func (h *Host) Dir() string { return h.dir }

// Put creates a file with mode 0644 and its parent directories, without an entry in the transcript.
func (h *Host) Put(path, content string) {
	h.t.Helper()
	h.create(path, func(file string) error { return os.WriteFile(file, []byte(content), 0o644) })
}

// PutDir creates a directory with mode 0755 and its parents, without an entry in the transcript.
func (h *Host) PutDir(path string) {
	h.t.Helper()
	h.create(path+"/.", func(string) error { return nil })
}

// create does not follow symlinks: it prepares a host before there are any.
func (h *Host) create(name string, put func(file string) error) {
	h.t.Helper()
	file := h.dir + "/" + strings.TrimPrefix(name, "/")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), put(file)); err != nil {
		h.t.Fatalf("cannot put %s: %v", name, err)
	}
}

// Handle adds a command by its Args[0], a bare name or an absolute path;
// a bare name also matches its absolute paths. run may keep state and
// change the host's files, and may be called concurrently.
func (h *Host) Handle(name string, run func(cmd host.Cmd) host.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commands[name] = run
}

// Transcript returns everything since the start or the last Reset, in order: "? argv"
// for a Query, "! argv" for a Run, and for changes of files the verb and its
// arguments, such as "! write /etc/motd 0644 root root". Arguments with spaces or quotes are
// quoted as in Go. The Confinement of a command follows it, such as in "? argv (read-only, network)". It never contains Stdin, Env or the contents of files.
func (h *Host) Transcript() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.transcript)
}

// Reset clears the transcript.
func (h *Host) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.transcript = nil
}

// ReadOnly returns the same host as a Reader that cannot be converted to a
// [host.Host].
func (h *Host) ReadOnly() host.Reader { return struct{ host.Reader }{h} }

// LookPath implements [host.Reader]: a command with a bare name is in /usr/bin, unless
// the root has a file with that name earlier in the search path.
func (h *Host) LookPath(name string) (string, error) {
	file, err := h.files.LookPath(name)
	if !errors.Is(err, fs.ErrNotExist) || h.command(name) == nil {
		return file, err
	}
	if path.IsAbs(name) {
		return name, nil
	}
	return "/usr/bin/" + name, nil
}

// Query implements [host.Reader] with the commands of Handle.
func (h *Host) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	h.t.Helper()
	return h.call(ctx, "?", cmd)
}

// Run implements [host.Host] with the commands of Handle.
func (h *Host) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	h.t.Helper()
	return h.call(ctx, "!", cmd)
}

// PutJob prepares what the next Resume of its owner returns.
func (h *Host) PutJob(job host.Resumed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs[job.Job.Owner] = job
}

// Resume implements [host.Host] with the jobs of PutJob.
func (h *Host) Resume(_ context.Context, owner string) (*host.Resumed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	job, ok := h.jobs[owner]
	if !ok {
		return nil, nil
	}
	delete(h.jobs, owner)
	h.transcript = append(h.transcript, "! resume "+line([]string{owner}))
	return &job, nil
}

// call fails the test for an unknown command: a provider must not use a command that the test
// does not expect.
func (h *Host) call(ctx context.Context, mark string, cmd host.Cmd) (host.Result, error) {
	h.t.Helper()
	if len(cmd.Args) == 0 {
		return host.Result{}, errors.New("cannot run a command without Args: name one in Args[0]")
	}
	if err := ctx.Err(); err != nil {
		return host.Result{}, fmt.Errorf("cannot run %q: %w", cmd.Args[0], err)
	}
	h.mu.Lock()
	h.transcript = append(h.transcript, mark+" "+line(cmd.Args)+confinement(cmd.Confinement))
	h.mu.Unlock()
	run := h.command(cmd.Args[0])
	if run == nil {
		h.t.Errorf("hosttest: unknown command %s: add h.Handle(%q, ...)", line(cmd.Args), cmd.Args[0])
		return host.Result{}, fmt.Errorf("cannot run %q: %w", cmd.Args[0], fs.ErrNotExist)
	}
	return bound(run(cmd), cmd.MaxOutput), nil
}

// confinement describes what a command may do.
func confinement(c *host.Confinement) string {
	if c == nil {
		return ""
	}
	words := []string{"limited"}
	if c.ReadOnly {
		words[0] = "read-only"
	}
	if c.Network {
		words = append(words, "network")
	}
	if c.Services {
		words = append(words, "services")
	}
	return " (" + strings.Join(append(words, c.Sockets...), ", ") + ")"
}

func (h *Host) command(name string) func(host.Cmd) host.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	if run, known := h.commands[name]; known {
		return run
	}
	if path.IsAbs(name) {
		return h.commands[path.Base(name)]
	}
	return nil
}

// bound truncates the output like the real host.
func bound(res host.Result, limit int) host.Result {
	if limit <= 0 {
		limit = host.DefaultMaxOutput
	}
	res.Truncated = res.Truncated || max(len(res.Stdout), len(res.Stderr)) > limit
	res.Stdout = res.Stdout[:min(limit, len(res.Stdout))]
	res.Stderr = res.Stderr[:min(limit, len(res.Stderr))]
	return res
}

// record adds a change to the transcript.
func (h *Host) record(words ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.transcript = append(h.transcript, "! "+line(words))
}

// line joins words to one unambiguous line.
func line(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n\r\"") {
			quoted[i] = strconv.Quote(word)
		}
	}
	return strings.Join(quoted, " ")
}
