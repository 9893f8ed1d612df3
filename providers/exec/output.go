package exec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/internal/text"
)

// The limits of each captured stream, and of both in a report, in bytes.
const (
	maxOutput   = 1 << 20
	maxReported = 2 << 10
)

// reportOutput adds the output of a successful command to the report if logOutput requests it.
func reportOutput(h resource.Writer, res host.Result, a Attributes) {
	if logOutput(a) == always {
		h.Note(output(res, a))
	}
}

func logOutput(a Attributes) string {
	if a.LogOutput == nil {
		return onFailure
	}
	return *a.LogOutput
}

// failure returns the error of a command, with the end of its output unless logOutput is never.
func failure(res host.Result, a Attributes) error {
	message := fmt.Sprintf("exit status %d", res.ExitCode)
	switch expected := codes(a.Returns); {
	case res.ExitCode == notFound:
		message += ": command not found"
	case expected != "0":
		message += ", not one of " + expected
	}
	if said := strings.TrimSpace(output(res, a)); said != "" && logOutput(a) != never {
		message += "; output: " + said
	}
	return errors.New(message)
}

// output returns the end of a command's output, standard error last, without secrets.
func output(res host.Result, a Attributes) string {
	return text.ClipFront(host.Output(secrets(a).Output(res)), maxReported)
}

// secrets returns the values of the environment. Those from a Secret are secret in every part, even if they are short.
func secrets(a Attributes) redact.Secrets {
	all := redact.OfEnvironment(slices.Concat(a.Environment, a.secret))
	for _, entry := range a.secret {
		_, value, _ := strings.Cut(entry, "=")
		all = all.And(redact.Of(value))
	}
	return all
}

func redacted(text string, a Attributes) string { return secrets(a).Text(text) }
