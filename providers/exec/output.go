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

// How much of each stream is kept, and how much of both is told, in bytes.
const (
	maxOutput = 1 << 20
	maxTold   = 2 << 10
)

// tellOutput gives the output of a success to the report, if that is asked for.
func tellOutput(h resource.Writer, res host.Result, a Attributes) {
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

// failure says how a command ended and, unless that is not wanted, its last words.
func failure(res host.Result, a Attributes) error {
	message := fmt.Sprintf("exit status %d", res.ExitCode)
	switch expected := codes(a.Returns); {
	case res.ExitCode == notFound:
		message += ": there is no such command"
	case expected != "0":
		message += ", not one of " + expected
	}
	if said := strings.TrimSpace(output(res, a)); said != "" && logOutput(a) != never {
		message += "; it said: " + said
	}
	return errors.New(message)
}

// output is the end of what a command wrote, standard error last, without its secrets.
func output(res host.Result, a Attributes) string {
	return text.ClipFront(host.Output(redact.Output(res, secrets(a))), maxTold)
}

// secrets are the values of the environment. What comes from a Secret is one however short it is.
func secrets(a Attributes) []string {
	all := redact.EnvironmentSecrets(slices.Concat(a.Environment, a.secret))
	for _, entry := range a.secret {
		_, value, _ := strings.Cut(entry, "=")
		all = append(all, value)
	}
	return all
}

func redacted(text string, a Attributes) string { return redact.Text(text, secrets(a)) }
