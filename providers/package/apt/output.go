package apt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/internal/text"
)

// Failure returns an error for a failed command: the command's output, in a few
// lines and without the values of its environment, which may be secret.
func Failure(res host.Result, environment []string) error {
	if text := explanation(res, environment); text != "" {
		return errors.New(text)
	}
	return fmt.Errorf("exit code %d", res.ExitCode)
}

func explanation(res host.Result, environment []string) string {
	const maxLines, maxBytes = 8, 1000
	secrets := redact.OfEnvironment(environment)
	res = secrets.Output(res)
	lines := slices.Concat(reasons(string(res.Stdout)), complaints(string(res.Stderr)))
	lines = slices.Compact(lines)
	if n := len(lines) - maxLines; n > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines omitted)", n)}, lines[n:]...)
	}
	message := strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
	return text.ClipFront(secrets.Text(message), maxBytes) // again: reasons collapses blanks
}

// reasons returns the lines of a standard output that explain a failure: dependencies that can't be
// met, and the process that holds the lock.
func reasons(stdout string) []string {
	var lines []string
	_, unmet, _ := strings.Cut(stdout, "The following packages have unmet dependencies:\n")
	for line := range strings.Lines(unmet) {
		if strings.HasPrefix(line, " ") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	if at := strings.LastIndex(stdout, "Waiting for cache lock: "); at >= 0 {
		holder, _, _ := strings.Cut(stdout[at:], "\n")
		lines = append(lines, strings.TrimSpace(holder))
	}
	return lines
}

// complaints returns the lines of a standard error, except for lines of debconf.
func complaints(stderr string) []string {
	var lines []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "debconf: ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// LockedOut reports whether a tool failed because another process holds its lock. The exit
// code does not show that.
func LockedOut(res host.Result) bool {
	stderr := string(res.Stderr)
	return res.ExitCode != 0 && slices.ContainsFunc([]string{
		"lock was locked by another process",          // dpkg
		"E: Could not get lock",                       // apt, which did not wait
		"E: Unable to acquire the dpkg frontend lock", // apt, which waited
	}, func(message string) bool { return strings.Contains(stderr, message) })
}

// NotReinstalled returns the line about a package that apt-get could not reinstall, although it
// exits with 0.
func NotReinstalled(res host.Result) error {
	for line := range strings.Lines(string(res.Stdout)) {
		if strings.HasPrefix(line, "Reinstallation of ") {
			return errors.New(strings.TrimSpace(line))
		}
	}
	return nil
}
