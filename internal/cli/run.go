package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// Run executes the command with arguments. If something could not be written to Out, such as help or a
// report, the error says so, whatever else happened.
func Run(ctx context.Context, o Options, args []string) error {
	out := &checkedWriter{to: o.Out}
	o.Out = out
	cmd := Command(o)
	cmd.SetArgs(args)
	if o.Abort != nil {
		ctx = host.WithAbort(ctx, o.Abort)
	}
	err := cmd.ExecuteContext(ctx)
	if out.err == nil {
		return err
	}
	failure := fmt.Errorf("cannot write to standard output: %w", out.err)
	if _, silent := errors.AsType[Exit](err); silent || err == nil {
		return failure
	}
	return errors.Join(err, failure)
}

// A checkedWriter remembers the first error, and writes nothing after it.
type checkedWriter struct {
	to  io.Writer
	mu  sync.Mutex
	err error
}

// Write implements [io.Writer].
func (w *checkedWriter) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		n, w.err = w.to.Write(p)
	}
	return n, w.err
}

// Message is an error for a terminal: a line for each joined error.
func Message(err error) string {
	lines := text.Errors(err)
	for i, l := range lines {
		lines[i] = text.Line(l)
	}
	return strings.Join(lines, "\n")
}
