package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// How much of each stream is kept, and how much of both is told, in bytes.
const (
	maxOutput = 1 << 20
	maxTold   = 2 << 10
)

// tellOutput gives the output of a success to the report, if that is asked for.
func tellOutput(ctx context.Context, res host.Result, a Attributes) {
	if logOutput(a) == always {
		resource.Tell(ctx, output(res, a))
	}
}

func logOutput(a Attributes) string {
	if a.LogOutput == nil {
		return onFailure
	}
	return *a.LogOutput
}

// failure says how a command ended and, unless that is not wanted, its last words.
func failure(res host.Result, a Attributes) error {
	text := fmt.Sprintf("exit status %d", res.ExitCode)
	switch expected := codes(a.Returns); {
	case res.ExitCode == notFound:
		text += ": there is no such command"
	case expected != "0":
		text += ", not one of " + expected
	}
	if said := strings.TrimSpace(output(res, a)); said != "" && logOutput(a) != never {
		text += "; it said: " + said
	}
	return errors.New(text)
}

// output is the end of what a command wrote, standard error last, without the values
// of its environment.
func output(res host.Result, a Attributes) string {
	stdout, stderr := stream(res.Stdout, res.Truncated, a), stream(res.Stderr, res.Truncated, a)
	if stdout != "" && !strings.HasSuffix(stdout, "\n") {
		stdout += "\n"
	}
	text := stdout + stderr
	if len(text) > maxTold {
		text = "..." + text[len(text)-maxTold:]
	}
	return strings.ToValidUTF8(text, "")
}

// stream is one stream, redacted. Where it was cut, a value may have been cut with it,
// which nothing would find: so much of the end goes that none can be left.
func stream(data []byte, truncated bool, a Attributes) string {
	text := strings.ToValidUTF8(string(data), "") // first: what is left out must not complete a value
	if truncated {
		for _, s := range secrets(a) {
			text = trimPrefixOf(text, s)
		}
	}
	return redact(text, a)
}

// trimPrefixOf removes the longest beginning of a secret from the end of a text.
func trimPrefixOf(text, secret string) string {
	for n := min(len(secret)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, secret[:n]) {
			return text[:len(text)-n]
		}
	}
	return text
}

// minSecret is the length, in bytes, from which a value is looked for in a text: a
// shorter one is no secret, and would be found everywhere.
const minSecret = 4

// secrets are the values of the environment and their lines, the longest first. What comes
// from a Secret is one however short it is.
func secrets(a Attributes) []string {
	var all []string
	for _, kv := range slices.Concat(a.Environment, a.secret) {
		_, value, _ := strings.Cut(kv, "=")
		for _, s := range append(strings.Split(value, "\n"), value) {
			if len(s) >= minSecret {
				all = append(all, s)
			}
		}
	}
	for _, kv := range a.secret {
		if _, value, _ := strings.Cut(kv, "="); value != "" {
			all = append(all, value)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}

func redact(text string, a Attributes) string {
	for _, s := range secrets(a) {
		text = strings.ReplaceAll(text, s, resource.Redacted)
	}
	return text
}
