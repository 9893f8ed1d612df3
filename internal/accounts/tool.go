package accounts

import (
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// Remedies say, by exit code of a tool, what a person can do about it.
type Remedies map[int]string

// A ToolError is a tool that refused.
type ToolError struct {
	Tool     string
	ExitCode int
	Stderr   string // in one line, without the tool's name; "" if it said nothing
	Remedy   string // "" where none is known
}

// Error gives the exit code, what the tool said, and the remedy.
func (e *ToolError) Error() string {
	msg := fmt.Sprintf("%s exited with %d", e.Tool, e.ExitCode)
	if e.Stderr != "" {
		msg += ": " + e.Stderr
	}
	if e.Remedy != "" {
		msg += "; " + e.Remedy
	}
	return msg
}

// maxStderr is how much of what a tool said, in bytes, is worth telling.
const maxStderr = 1024

// Run runs one of the tools that change accounts. A non-zero exit is a *[ToolError],
// which does not repeat the passwords that the tool was given on standard input.
func Run(ctx context.Context, h host.Host, cmd host.Cmd, remedies Remedies) error {
	cmd.MaxOutput = maxStderr
	if len(cmd.Stdin) == 0 { // else it may repeat a password
		cmd.Show = host.Output
	}
	res, err := h.Run(ctx, cmd)
	if err != nil || res.ExitCode == 0 {
		return err
	}
	tool := cmd.Args[0]
	return &ToolError{tool, res.ExitCode, oneLine(tool, discreet(res, cmd.Stdin)), remedies[res.ExitCode]}
}

// discreet is what a tool said, without the passwords in its input, which are lines of
// name:password. Where output was cut one may be cut, too, so the last line goes.
func discreet(res host.Result, stdin []byte) string {
	said := string(res.Stderr)
	if res.Truncated && len(stdin) > 0 {
		said = said[:strings.LastIndexByte(said, '\n')+1]
	}
	for line := range strings.Lines(string(stdin)) {
		if _, password, _ := strings.Cut(strings.TrimSpace(line), ":"); password != "" {
			said = strings.ReplaceAll(said, password, "[redacted]")
		}
	}
	return said
}

// oneLine joins what a tool said and drops its name from the lines.
func oneLine(tool, stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(strings.TrimPrefix(line, tool+": ")); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
