package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux"
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
func measure(ctx context.Context, script string, runs int) (c counts, err error) {
	root, err := os.MkdirTemp("", "authors")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	h, err := linux.Open(linux.Options{Root: root})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	watch, err := h.Watch()
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, watch.Close()) }()
	watch.Ready() // events are read as they come
	if err := watch.Follow([]string{"/managed"}); err != nil {
		return c, err
	}
	return measureIn(ctx, root, script, runs, watch)
}

func measureIn(ctx context.Context, root, script string, runs int, watch host.Watch) (c counts, err error) {
	w, err := startWriter(ctx, root, script)
	if err != nil {
		return c, err
	}
	defer w.close()
	for range runs {
		by, err := w.change(ctx, root, watch)
		if err != nil {
			return c, err
		}
		c.count(by)
	}
	return c, nil
}

// A writer is a shell that runs a command for each line that it reads. It is no child of this process: its parent has ended.
type writer struct {
	orders  *os.File
	replies *os.File
	lines   *bufio.Reader
}

func startWriter(ctx context.Context, dir, script string) (*writer, error) {
	orders, order, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer orders.Close()
	replies, reply, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, order.Close())
	}
	defer reply.Close()
	const loop = `sh -c 'while read x; do sh -c "$0"; echo; done' "$0" <&3 >&4 2>/dev/null &`
	cmd := exec.CommandContext(ctx, "sh", "-c", loop, script)
	cmd.Dir, cmd.ExtraFiles = dir, []*os.File{orders, reply}
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(err, order.Close(), replies.Close())
	}
	return &writer{order, replies, bufio.NewReader(replies)}, nil
}

func (w *writer) close() { _, _ = w.orders.Close(), w.replies.Close() }

// change has the command change the file, and returns its author.
func (w *writer) change(ctx context.Context, dir string, watch host.Watch) (*host.Author, error) {
	for name, text := range map[string]string{"managed": "a\n", "new": "b\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	watch.Take()
	watch.Authors()
	if _, err := io.WriteString(w.orders, "\n"); err != nil {
		return nil, err
	}
	if _, err := w.lines.ReadString('\n'); err != nil {
		return nil, err
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if len(watch.Take()) == 0 {
		return nil, errors.New("the change was not seen")
	}
	return watch.Authors()["/managed"], nil
}

// busy keeps processors busy until the function that it returns is called.
func busy(ctx context.Context, processors int) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all []*exec.Cmd
	end = func() {
		cancel()
		for _, cmd := range all {
			_ = cmd.Wait() // it was killed
		}
	}
	for range processors {
		cmd := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			end()
			return nil, err
		}
		all = append(all, cmd)
	}
	return end, nil
}
