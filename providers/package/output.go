package pkg

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// explanation is what a tool said about its failure, in a few lines and without the
// values of its environment, which may be secret.
func explanation(res host.Result, environment []string) string {
	const most, longest = 8, 1000
	stdout, stderr := redact(string(res.Stdout), environment), redact(string(res.Stderr), environment)
	lines := slices.Concat(reasons(stdout), complaints(stderr))
	lines = slices.Compact(lines)
	if n := len(lines) - most; n > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines omitted)", n)}, lines[n:]...)
	}
	text := redact(strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": "), environment) // blanks are fewer now
	if len(text) > longest {
		text = "..." + strings.ToValidUTF8(text[len(text)-longest:], "")
	}
	return text
}

// minSecret is the length, in bytes, from which a value is looked for in a text: a
// shorter one is no secret, and would be found everywhere.
const minSecret = 4

// redact marks the values of an environment and their lines, the longest first: one may
// be the beginning of another.
func redact(text string, environment []string) string {
	text = strings.ToValidUTF8(text, "") // first: what is left out must not complete a value
	var secrets []string
	for _, entry := range environment {
		_, value, _ := strings.Cut(entry, "=")
		secrets = append(append(secrets, value), strings.Split(value, "\n")...)
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, s := range secrets {
		if len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, resource.Redacted)
		}
	}
	return text
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
