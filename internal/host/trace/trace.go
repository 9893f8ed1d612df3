// Package trace logs what is done to a host, for debugging.
//
// It is safe by construction: it logs the arguments of a command, which every user of the host
// can read anyway, and only the part of its output that the command's own Show returns, by default
// none. It never logs the contents of files, nor input and environment except for the command's own Repeat.
package trace

import (
	"context"
	"fmt"
	"strings"
	"time"

	// Arguments are quoted for a shell.
	"github.com/kballard/go-shellquote"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// Bounds of the logged part of a command, in bytes.
const (
	maxArgs   = 400
	maxOutput = 4 << 10 // of the end
	maxRepeat = 16 << 10
)

// New returns a host that calls log with a line for each command and each change. Lines are not escaped. log
// must be safe for concurrent use.
func New(h host.Host, now func() time.Time, log func(line string)) host.Host {
	return traced{h, tracer{now, log}}
}

type tracer struct {
	now func() time.Time
	log func(line string)
}

// A traced host logs commands and changes.
type traced struct {
	host.Host
	tracer
}

// A reader logs its commands.
type reader struct {
	host.Reader
	tracer
}

// Query implements [host.Reader].
func (r reader) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return r.command(ctx, "queried", cmd, r.Reader.Query)
}

// LookAs implements [host.Reader].
func (r reader) LookAs(who host.Credentials) host.Reader {
	return reader{r.Reader.LookAs(who), r.tracer}
}

// Query implements [host.Reader].
func (t traced) Query(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return t.command(ctx, "queried", cmd, t.Host.Query)
}

// Run implements [host.Host].
func (t traced) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return t.command(ctx, "ran", cmd, t.Host.Run)
}

// LookAs implements [host.Reader].
func (t traced) LookAs(who host.Credentials) host.Reader {
	return reader{t.Host.LookAs(who), t.tracer}
}

// ActAs implements [host.Host].
func (t traced) ActAs(who host.Credentials) host.Host {
	return traced{t.Host.ActAs(who), t.tracer}
}

func (t tracer) command(ctx context.Context, verb string, cmd host.Cmd, run func(context.Context, host.Cmd) (host.Result, error)) (host.Result, error) {
	began := t.now()
	res, err := run(ctx, cmd)
	took := t.now().Sub(began).Seconds()
	if cmd.Repeat != "" {
		t.log("repeat with: " + text.Clip(cmd.Repeat, maxRepeat))
	}
	if err != nil {
		t.log(fmt.Sprintf("%s %s: no exit code, after %.3fs", verb, line(cmd), took))
		return res, err
	}
	output := show(cmd, res)
	t.log(fmt.Sprintf("%s %s: exit %d in %.3fs%s", verb, line(cmd), res.ExitCode, took, size(res, output)))
	for l := range strings.Lines(output) {
		t.log("output: " + strings.TrimRight(l, "\r\n"))
	}
	return res, nil
}

// line is a command on one line, clipped.
func line(cmd host.Cmd) string {
	args := cmd.Args
	if cmd.ShownArgs != nil {
		args = cmd.ShownArgs
	}
	return text.Clip(shellquote.Join(args...), maxArgs)
}

// show is the end of the part of the output that may be logged.
func show(cmd host.Cmd, res host.Result) string {
	if cmd.Show == nil {
		return ""
	}
	return text.ClipFront(strings.TrimSpace(cmd.Show(res)), maxOutput)
}

// size describes the size of the output.
func size(res host.Result, shown string) string {
	n := len(res.Stdout) + len(res.Stderr)
	switch {
	case n == 0:
		return ""
	case shown == "":
		return fmt.Sprintf(", %s of output not shown", text.Count(n, "byte"))
	}
	return fmt.Sprintf(", %s of output:", text.Count(n, "byte"))
}

// WriteFile implements [host.Host].
func (t traced) WriteFile(ctx context.Context, path string, f host.NewFile) ([32]byte, error) {
	sum, err := t.Host.WriteFile(ctx, path, f)
	t.logChange("wrote", path, err)
	return sum, err
}

// Mkdir implements [host.Host].
func (t traced) Mkdir(path string, mode uint32) error {
	err := t.Host.Mkdir(path, mode)
	t.logChange("made directory", path, err)
	return err
}

// Symlink implements [host.Host].
func (t traced) Symlink(target, path string) error {
	err := t.Host.Symlink(target, path)
	t.logChange("made symlink", path, err)
	return err
}

// Remove implements [host.Host].
func (t traced) Remove(path string) error {
	err := t.Host.Remove(path)
	t.logChange("removed", path, err)
	return err
}

// RemoveAll implements [host.Host].
func (t traced) RemoveAll(path string) error {
	err := t.Host.RemoveAll(path)
	t.logChange("removed all of", path, err)
	return err
}

func (t tracer) logChange(what, path string, err error) {
	if err == nil {
		t.log(what + " " + path)
	}
}
