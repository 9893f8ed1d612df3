// Package output prints lines, tables, diffs, reports and progress of the fettle command.
//
// It escapes all text from hosts and manifests. A failed write does not stop the command, which reports it at the
// end.
package output

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/internal/text"
)

// A Printer writes results to Out and everything else to Err. It is safe for concurrent use.
type Printer struct {
	Out, Err io.Writer
	// OutTerminal and ErrTerminal shorten sums, for people.
	OutTerminal, ErrTerminal bool
	// OutColors and ErrColors color the lines of each. ErrProgress shows progress on Err, which is a terminal.
	OutColors, ErrColors, ErrProgress bool
	// Debugging prints the lines of Debug.
	Debugging bool

	mu       sync.Mutex
	progress string // the line of progress that is shown; "" if none is
}

// A Color is an escape sequence of terminals; "" is the default color.
type Color string

// Colors of a terminal.
const (
	Green  Color = "\x1b[32m"
	Yellow Color = "\x1b[33m"
	Red    Color = "\x1b[31m"
	Cyan   Color = "\x1b[36m"
	reset        = "\x1b[0m"
)

func colored(enabled bool, color Color, line string) string {
	if !enabled || color == "" {
		return line
	}
	return string(color) + line + reset
}

// Colored is part of a line in its own color.
type Colored struct {
	Color Color
	Text  string
}

// A Block is text of several lines, which stay lines.
type Block string

// Print writes a line to Out. Its arguments are untrusted: each is escaped to stay on the line, unless
// it is a Block.
func (p *Printer) Print(format string, args ...any) { p.PrintIn("", format, args...) }

// PrintIn is Print in a color.
func (p *Printer) PrintIn(color Color, format string, args ...any) {
	p.write(p.Out, p.OutColors, color, format, args)
}

// Warn writes a line to Err, escaped like Print.
func (p *Printer) Warn(format string, args ...any) { p.WarnIn("", format, args...) }

// WarnIn is Warn in a color.
func (p *Printer) WarnIn(color Color, format string, args ...any) {
	p.write(p.Err, p.ErrColors, color, format, args)
}

// Debug writes a line to Err if Debugging is on.
func (p *Printer) Debug(format string, args ...any) {
	if p.Debugging {
		p.WarnIn(Cyan, "debug: "+format, args...)
	}
}

func (p *Printer) write(to io.Writer, colors bool, color Color, format string, args []any) {
	line := colored(colors, color, fmt.Sprintf(format, escape(colors, args)...))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearProgress()
	_, _ = fmt.Fprintln(to, line)
}

// escape returns printable arguments.
func escape(colors bool, args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case Block:
			out[i] = text.Block(string(v))
		case Colored:
			out[i] = colored(colors, v.Color, text.Line(v.Text))
		case string:
			out[i] = text.Line(v)
		case error:
			out[i] = text.Line(text.Error(v))
		case fmt.Stringer:
			out[i] = text.Line(v.String())
		default: // numbers
			out[i] = v
		}
	}
	return out
}

// Diff writes a diff, with a color for each kind of line.
func (p *Printer) Diff(diff string) {
	for line := range strings.SplitSeq(strings.TrimRight(diff, "\n"), "\n") {
		var color Color
		switch {
		case strings.HasPrefix(line, "+"):
			color = Green
		case strings.HasPrefix(line, "-"):
			color = Red
		case strings.HasPrefix(line, "@@"):
			color = Cyan
		}
		p.PrintIn(color, "%s", Block(line))
	}
}
