package trace_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/host/trace"
)

// traced returns a host whose clock advances by 2 ms per reading, and its log.
func traced(t *testing.T) (*hosttest.Host, host.Host, *[]string) {
	t.Helper()
	h, now, lines := hosttest.New(t), time.Time{}, &[]string{}
	clock := func() time.Time {
		now = now.Add(2 * time.Millisecond)
		return now
	}
	return h, trace.New(h, clock, func(line string) { *lines = append(*lines, line) }), lines
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTraceOfCommand(t *testing.T) {
	for name, c := range map[string]struct {
		cmd  host.Cmd
		res  host.Result
		want []string
	}{
		"no output": {host.Cmd{Args: []string{"tool", "a b", "--", "c"}}, host.Result{}, []string{"ran tool 'a b' -- c: exit 0 in 0.002s"}},
		"output without Show": {
			host.Cmd{Args: []string{"tool"}},
			host.Result{ExitCode: 3, Stdout: []byte("s3cret\n"), Stderr: []byte("s3cret")},
			[]string{"ran tool: exit 3 in 0.002s, 13 bytes of output not shown"},
		},
		"output with Show": {
			host.Cmd{Args: []string{"tool"}, Show: host.Output},
			host.Result{Stdout: []byte("one"), Stderr: []byte("two\nthree\n")},
			[]string{"ran tool: exit 0 in 0.002s, 13 bytes of output:", "output: one", "output: two", "output: three"},
		},
		"output shown in part": {
			host.Cmd{Args: []string{"tool"}, Show: func(host.Result) string { return "public" }},
			host.Result{Stdout: []byte("s3cret")},
			[]string{"ran tool: exit 0 in 0.002s, 6 bytes of output:", "output: public"},
		},
		"output that Show hides": {
			host.Cmd{Args: []string{"tool"}, Show: func(host.Result) string { return "" }},
			host.Result{Stdout: []byte("s")},
			[]string{"ran tool: exit 0 in 0.002s, 1 byte of output not shown"},
		},
		"arguments replaced by ShownArgs": {
			host.Cmd{Args: []string{"tool", "s3cret"}, ShownArgs: []string{"tool", "[redacted]"}},
			host.Result{},
			[]string{`ran tool \[redacted]: exit 0 in 0.002s`},
		},
		"input and environment are omitted": {
			host.Cmd{Args: []string{"tool"}, Stdin: []byte("s3cret"), Env: []string{"A=s3cret"}, Show: host.Output},
			host.Result{},
			[]string{"ran tool: exit 0 in 0.002s"},
		},
		"long arguments": {
			host.Cmd{Args: []string{"tool", strings.Repeat("x", 500)}},
			host.Result{},
			[]string{"ran tool " + strings.Repeat("x", 392) + "...: exit 0 in 0.002s"},
		},
		"the end of long output": {
			host.Cmd{Args: []string{"tool"}, Show: host.Output},
			host.Result{Stdout: []byte("begin" + strings.Repeat("x", 4093) + "end")},
			[]string{"ran tool: exit 0 in 0.002s, 4101 bytes of output:", "output: ..." + strings.Repeat("x", 4090) + "end"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, door, lines := traced(t)
			h.Handle("tool", func(host.Cmd) host.Result { return c.res })
			if res, err := door.Run(t.Context(), c.cmd); err != nil || res.ExitCode != c.res.ExitCode {
				t.Fatal(res, err)
			}
			same(t, *lines, c.want...)
		})
	}
}

// broken is a host on which commands cannot run.
type broken struct{ host.Host }

func (broken) Query(context.Context, host.Cmd) (host.Result, error) {
	return host.Result{Stderr: []byte("s3cret")}, fs.ErrNotExist
}

func TestTraceOfQueriesAndFailedCommands(t *testing.T) {
	h, door, lines := traced(t)
	h.Handle("tool", func(host.Cmd) host.Result { return host.Result{} })
	who := host.Credentials{UID: 1, GID: 1}
	_, err := door.Query(t.Context(), host.Cmd{Args: []string{"tool"}})
	_, missing := trace.New(broken{h}, time.Now, func(line string) { *lines = append(*lines, line[:len("queried nowhere: no exit code")]) }).
		Query(t.Context(), host.Cmd{Args: []string{"nowhere"}, Show: host.Output})
	if err != nil || !errors.Is(missing, fs.ErrNotExist) {
		t.Fatal(err, missing)
	}
	_, as := door.LookAs(who).Query(t.Context(), host.Cmd{Args: []string{"tool", "looks"}})
	_, acts := door.ActAs(who).Run(t.Context(), host.Cmd{Args: []string{"tool", "acts"}})
	if as != nil || acts != nil {
		t.Fatal(as, acts)
	}
	same(t, *lines, "queried tool: exit 0 in 0.002s", "queried nowhere: no exit code", "queried tool looks: exit 0 in 0.002s", "ran tool acts: exit 0 in 0.002s")
}

func TestTraceOfChangesOmitsContent(t *testing.T) {
	h, door, lines := traced(t)
	h.PutDir("/d")
	content := func() host.NewFile { return host.NewFile{Content: strings.NewReader("s3cret"), UID: -1, GID: -1} }
	_, err := door.WriteFile(t.Context(), "/d/a", content())
	if err = errors.Join(err, door.Mkdir("/d/b", 0o755), door.Symlink("x", "/d/c"), door.Remove("/d/c"), door.RemoveAll("/d/b"), door.Mkdir("/no/where", 0o755)); err == nil {
		t.Error("a directory was created in a missing one")
	}
	dir, err := door.Edit("/d", host.Links{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = dir.WriteFile(t.Context(), "e", content())
	file, again := dir.Edit("e")
	if err = errors.Join(err, again); err != nil {
		t.Fatal(err)
	}
	sub, err := dir.Mkdir("f", 0o755)
	if err = errors.Join(err, file.Chmod(0o600), file.Chown(0, 0), sub.Close(), dir.Remove("e", nil), dir.RemoveAll("f"), file.Close(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	same(t, *lines, "wrote /d/a", "made directory /d/b", "made symlink /d/c", "removed /d/c", "removed all of /d/b",
		"wrote /d/e", "made directory /d/f", "changed mode of /d/e", "changed owner or group of /d/e", "removed /d/e", "removed all of /d/f")
}
