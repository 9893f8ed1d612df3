package pkg

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// explanation is what a tool said about its failure, in a few lines and without the
// values of its environment, which may be secret.
func explanation(res host.Result, environment []string) string {
	const most, longest = 8, 1000
	secrets := resource.EnvironmentSecrets(environment)
	res = resource.RedactOutput(res, secrets)
	lines := slices.Concat(reasons(string(res.Stdout)), complaints(string(res.Stderr)))
	lines = slices.Compact(lines)
	if n := len(lines) - most; n > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines omitted)", n)}, lines[n:]...)
	}
	message := strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
	return text.ClipFront(resource.Redact(message, secrets), longest) // again: reasons collapses blanks
}

// reasons are the lines of a standard output that explain a failure, which apt does
// there: whose dependencies can't be met, and who holds the lock.
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

// complaints are the lines of a standard error that are not of something else.
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

// lockedOut reports whether a tool gave up because another one holds a lock. Its exit
// code does not tell.
func lockedOut(res host.Result) bool {
	stderr := string(res.Stderr)
	return res.ExitCode != 0 && slices.ContainsFunc([]string{
		"lock was locked by another process",          // dpkg
		"E: Could not get lock",                       // apt, which did not wait
		"E: Unable to acquire the dpkg frontend lock", // apt, which waited
	}, func(said string) bool { return strings.Contains(stderr, said) })
}
