package accounts

import (
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// Remedies tell a person how to fix a failure, by the exit code of the tool.
type Remedies map[int]string

// A ToolError is the failure of a tool.
type ToolError struct {
	Tool     string
	ExitCode int
	Stderr   string // in one line, without the tool's name
	Remedy   string // "" if none is known
}

// Error returns the exit code, the standard error and the remedy.
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

// maxStderr limits the quoted output of a tool, in bytes.
const maxStderr = 1024

// Run runs a tool that changes accounts. A non-zero exit is a *[ToolError], which does not contain
// the passwords that the tool got on standard input.
func Run(ctx context.Context, h host.Host, cmd host.Cmd, remedies Remedies) error {
	cmd.MaxOutput = maxStderr
	if len(cmd.Stdin) == 0 { // otherwise the output may contain a password
		cmd.Show = host.Output
	}
	res, err := h.Run(ctx, cmd)
	if err != nil || res.ExitCode == 0 {
		return err
	}
	tool := cmd.Args[0]
	return &ToolError{tool, res.ExitCode, oneLine(tool, withoutPasswords(res, cmd.Stdin)), remedies[res.ExitCode]}
}

// withoutPasswords returns the standard error without the passwords of the input, which are lines of
// name:password. If the output was truncated, a password may be too, so the last line is dropped.
func withoutPasswords(res host.Result, stdin []byte) string {
	stderr := string(res.Stderr)
	if res.Truncated && len(stdin) > 0 {
		stderr = stderr[:strings.LastIndexByte(stderr, '\n')+1]
	}
	for line := range strings.Lines(string(stdin)) {
		if _, password, _ := strings.Cut(strings.TrimSpace(line), ":"); password != "" {
			stderr = strings.ReplaceAll(stderr, password, "[redacted]")
		}
	}
	return stderr
}

// oneLine joins the lines of a tool's output without the tool's name.
func oneLine(tool, stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(strings.TrimPrefix(line, tool+": ")); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
