// Package redact removes secrets from text that people will see.
package redact

import (
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// minSecret is the minimum length, in bytes, of an environment value that counts as a secret.
// Shorter values would match everywhere.
const minSecret = 4

// Mark replaces a secret wherever it would be shown.
const Mark = "[redacted]"

// EnvironmentSecrets returns the values of an environment, given as NAME=value, that may be secret,
// and the lines of each.
func EnvironmentSecrets(environment []string) []string {
	var secrets []string
	for _, entry := range environment {
		_, value, _ := strings.Cut(entry, "=")
		for _, s := range append(strings.Split(value, "\n"), value) {
			if len(s) >= minSecret {
				secrets = append(secrets, s)
			}
		}
	}
	return secrets
}

// Text replaces every secret in a text by [Mark]; overlapping ones by a single mark. The text must
// not be truncated, since a part of a secret is not recognized. Empty secrets are ignored.
func Text(s string, secrets []string) string { return masked(s, occurrences(s, secrets)) }

// Output is Text for the output of a command. If output was dropped, each stream may end within a
// secret or a character, so an incomplete one is removed from its end.
func Output(res host.Result, secrets []string) host.Result {
	redact := func(stream []byte) []byte {
		s := string(stream)
		end := len(s)
		if res.Truncated {
			end = min(len(text.TrimIncomplete(s)), len(s)-longestBeginning(s, secrets))
		}
		return []byte(masked(s[:end], occurrences(s, secrets)))
	}
	res.Stdout, res.Stderr = redact(res.Stdout), redact(res.Stderr)
	return res
}

// occurrences reports for each byte of s whether it belongs to a secret.
func occurrences(s string, secrets []string) []bool {
	hidden := make([]bool, len(s))
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		end := 0 // of the last occurrence
		for at := strings.Index(s, secret); at >= 0; {
			for i := max(at, end); i < at+len(secret); i++ {
				hidden[i] = true
			}
			end = at + len(secret)
			next := strings.Index(s[at+1:], secret) // they may overlap
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	return hidden
}

// masked returns s with each run of hidden bytes replaced by [Mark].
func masked(s string, hidden []bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i + 1
		for end < len(s) && hidden[end] == hidden[i] {
			end++
		}
		if hidden[i] {
			b.WriteString(Mark)
		} else {
			b.WriteString(s[i:end])
		}
		i = end
	}
	return b.String()
}

// longestBeginning returns the length of the longest suffix of s that is a proper prefix of a
// secret.
func longestBeginning(s string, secrets []string) (longest int) {
	for _, secret := range secrets {
		for n := min(len(secret)-1, len(s)); n > longest; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				longest = n
			}
		}
	}
	return longest
}
