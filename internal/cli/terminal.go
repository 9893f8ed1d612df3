package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/nodeagent/engine"
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
	cmd.PersistentFlags().BoolVar(&a.debug, "debug", false, "tell on stderr which providers suit, which commands run and how long everything takes, and of resources of logLevel: debug, too")
	complete(cmd, "color", colorAuto, colorAlways, colorNever)
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		return oneOf("--color", a.color, colorAuto, colorAlways, colorNever)
	}
}

// colors reports whether a stream that is a terminal, or is none, gets colors.
func (a *app) colors(terminal bool) bool {
	return a.color == colorAlways || a.color != colorNever && terminal && !a.NoColor
}

// paint colors what goes to Out.
func (a *app) paint(color, text string) string { return painted(a.colors(a.OutTerminal), color, text) }

// paintErr colors what goes to Err.
func (a *app) paintErr(color, text string) string {
	return painted(a.colors(a.ErrTerminal), color, text)
}

func painted(colors bool, color, text string) string {
	if !colors || color == "" {
		return text
	}
	return color + text + plain
}

func (a *app) paintDiff(diff string) string {
	lines := strings.Split(strings.TrimRight(diff, "\n"), "\n")
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l, "+"):
			lines[i] = a.paint(green, l)
		case strings.HasPrefix(l, "-"):
			lines[i] = a.paint(red, l)
		case strings.HasPrefix(l, "@@"):
			lines[i] = a.paint(cyan, l)
		}
	}
	return strings.Join(lines, "\n")
}

// say writes a line to Out, for people: what can't be written does not stop a run. Lines
// may come from many goroutines, as a host is changed by many.
func (a *app) say(format string, args ...any) {
	a.talking.Lock()
	defer a.talking.Unlock()
	a.hideProgress()
	_, _ = fmt.Fprintf(a.Out, format+"\n", args...)
}

// complain writes a line to Err.
func (a *app) complain(format string, args ...any) {
	a.talking.Lock()
	defer a.talking.Unlock()
	a.hideProgress()
	_, _ = fmt.Fprintf(a.Err, format+"\n", args...)
}

// tellDebug writes a line to Err that only --debug asks for.
func (a *app) tellDebug(format string, args ...any) {
	if a.debug {
		a.complain("%s", a.paintErr(cyan, fmt.Sprintf("debug: "+format, args...)))
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
