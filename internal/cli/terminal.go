package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/text"
)

// Colors of a terminal.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	cyan   = "\x1b[36m"
	plain  = "\x1b[0m"
)

// stateColors are those of what is told of a resource.
var stateColors = map[engine.State]string{
	engine.Changed: green, engine.Refreshed: green, engine.Noop: yellow, engine.Skipped: yellow, engine.Failed: red,
}

// The words of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// addOutput adds the flags that say how to talk, to all subcommands.
func (a *app) addOutput(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&a.color, "color", colorAuto, "auto (on a terminal, unless NO_COLOR is set), always or never")
	cmd.PersistentFlags().BoolVar(&a.debug, "debug", false, "log to stderr which providers suit, the current and target state of every property, commands with what of their output is public, and timings; include resources with logLevel: debug")
	complete(cmd, "color", colorAuto, colorAlways, colorNever)
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		return oneOf("--color", a.color, colorAuto, colorAlways, colorNever)
	}
}

// colors reports whether a stream that is a terminal, or is none, gets colors.
func (a *app) colors(terminal bool) bool {
	return a.color == colorAlways || a.color != colorNever && terminal && !a.NoColor
}

func painted(colors bool, color, line string) string {
	if !colors || color == "" {
		return line
	}
	return color + line + plain
}

// paint colors a word of a line that is otherwise ours.
func (a *app) paint(color, word string) painting { return painting{color, word} }

// A painting is part of a line in a color of its own.
type painting struct{ color, text string }

// A block is text of several lines, which stay lines.
type block string

// say writes a line to Out. What can't be written does not stop a run; see [Run]. Lines may
// come from many goroutines. Arguments are untrusted: each is escaped to stay on its line,
// unless it is a block.
func (a *app) say(format string, args ...any) { a.sayIn("", format, args...) }

// sayIn is say in a color.
func (a *app) sayIn(color, format string, args ...any) {
	a.write(a.Out, a.colors(a.OutTerminal), color, format, args)
}

// complain writes a line to Err, as say does.
func (a *app) complain(format string, args ...any) { a.complainIn("", format, args...) }

// complainIn is complain in a color.
func (a *app) complainIn(color, format string, args ...any) {
	a.write(a.Err, a.colors(a.ErrTerminal), color, format, args)
}

// tellDebug writes a line to Err that only --debug asks for.
func (a *app) tellDebug(format string, args ...any) {
	if a.debug {
		a.complainIn(cyan, "debug: "+format, args...)
	}
}

// write is how every line for people leaves the program.
func (a *app) write(to io.Writer, colors bool, color, format string, args []any) {
	line := painted(colors, color, fmt.Sprintf(format, escaped(colors, args)...))
	a.talking.Lock()
	defer a.talking.Unlock()
	a.hideProgress()
	_, _ = fmt.Fprintln(to, line)
}

// escaped are the arguments of a line as they may be printed.
func escaped(colors bool, args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case block:
			out[i] = text.Block(string(v))
		case painting:
			out[i] = painted(colors, v.color, text.Line(v.text))
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

// sayDiff writes a diff, each line in the color of its kind.
func (a *app) sayDiff(diff string) {
	for line := range strings.SplitSeq(strings.TrimRight(diff, "\n"), "\n") {
		color := ""
		switch {
		case strings.HasPrefix(line, "+"):
			color = green
		case strings.HasPrefix(line, "-"):
			color = red
		case strings.HasPrefix(line, "@@"):
			color = cyan
		}
		a.sayIn(color, "%s", block(line))
	}
}

// showProgress says on a terminal how far a run is, in a line that gives way to others.
func (a *app) showProgress(done, total int) {
	a.talking.Lock()
	defer a.talking.Unlock()
	if a.ErrTerminal && done < total {
		_, _ = fmt.Fprintf(a.Err, "\r\x1b[K%d/%d resources", done, total)
		a.progress = true
	}
}

// endProgress takes the line away.
func (a *app) endProgress() {
	a.talking.Lock()
	defer a.talking.Unlock()
	a.hideProgress()
}

// hideProgress is for who holds talking.
func (a *app) hideProgress() {
	if a.progress {
		_, _ = fmt.Fprint(a.Err, "\r\x1b[K")
		a.progress = false
	}
}
