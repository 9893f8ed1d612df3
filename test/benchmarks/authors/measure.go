package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// counts are the numbers of changes by what was found out.
type counts struct{ program, name, unknown int }

// settle is how long events are awaited after a command has ended.
const settle = 3 * time.Millisecond

func (c *counts) count(by *host.Author) {
	switch {
	case by == nil:
		c.unknown++
	case strings.HasPrefix(by.Executable, "/"):
		c.program++
	default:
		c.name++
	}
}

// measure counts what a watch finds out about a command that changes a file, as the agent watches it.
func measure(ctx context.Context, s *bench.Stage, script string, runs int) (c counts) {
	s.Logf("%s", script)
	root := s.TempDir("")
	h, err := linux.Open(linux.Options{Root: root})
	s.Must(err)
	defer func() { s.Warn(h.Close()) }()
	watch, err := h.Watch()
	s.Must(err)
	defer func() { s.Warn(watch.Close()) }()
	watch.Ready() // events are read as they come
	s.Must(watch.Follow([]string{"/managed"}))
	w := startWriter(ctx, s, root, script)
	defer w.close()
	for range runs {
		c.count(w.change(ctx, s, root, watch))
	}
	return c
}

// A writer is a shell that runs a command for each line that it reads. It is no child of this process: its parent has ended.
type writer struct {
	orders  *os.File
	replies *os.File
	lines   *bufio.Reader
}

func startWriter(ctx context.Context, s *bench.Stage, dir, script string) *writer {
	orders, order, err := os.Pipe()
	s.Must(err)
	defer orders.Close()
	replies, reply, err := os.Pipe()
	s.Must(err)
	defer reply.Close()
	const loop = `sh -c 'while read x; do sh -c "$0"; echo; done' "$0" <&3 >&4 2>/dev/null &`
	cmd := exec.CommandContext(ctx, "sh", "-c", loop, script)
	cmd.Dir, cmd.ExtraFiles = dir, []*os.File{orders, reply}
	s.Must(cmd.Run())
	return &writer{order, replies, bufio.NewReader(replies)}
}

func (w *writer) close() { _, _ = w.orders.Close(), w.replies.Close() }

// change has the command change the file, and returns its author.
func (w *writer) change(ctx context.Context, s *bench.Stage, dir string, watch host.Watch) *host.Author {
	for name, text := range map[string]string{"managed": "a\n", "new": "b\n"} {
		s.Must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	watch.Take()
	watch.Authors()
	_, err := io.WriteString(w.orders, "\n")
	s.Must(err)
	_, err = w.lines.ReadString('\n')
	s.Must(err)
	s.Pause(ctx, settle)
	if len(watch.Take()) == 0 {
		s.Fatalf("the change was not seen")
	}
	return watch.Authors()["/managed"]
}

// busy keeps processors busy until the function that it returns is called.
func busy(ctx context.Context, s *bench.Stage, processors int) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	s.Cleanup(cancel)
	var all []*exec.Cmd
	for range processors {
		cmd := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		s.Must(cmd.Start())
		all = append(all, cmd)
	}
	return func() {
		cancel()
		for _, cmd := range all {
			_ = cmd.Wait() // it was killed
		}
	}
}
