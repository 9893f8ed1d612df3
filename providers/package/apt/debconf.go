package apt

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// Preseed hands a file with answers to debconf, by name: it may contain secrets. For the same
// reason an error quotes nothing of the output but line numbers.
func (t Tools) Preseed(ctx context.Context, file string) error {
	_, err := t.Host.Stat(file) // the tool treats a missing file as an empty one
	if err != nil {
		return fmt.Errorf("cannot read responseFile: %w", err)
	}
	res, err := t.runUnlocked(ctx, host.Cmd{Args: []string{"debconf-set-selections", file}, Env: quiet()})
	if err != nil {
		return fmt.Errorf("cannot read responseFile %q: %w", file, err)
	}
	if why := PreseedError(res); why != nil {
		return fmt.Errorf("cannot read responseFile %q: %w", file, why)
	}
	return nil
}

var rejectedLine = regexp.MustCompile(`(?m)^(?:error: parse error on|warning: Unknown type .*skipping) (line [0-9]+)\b`)

// PreseedError returns an error with the lines that debconf-set-selections rejected, or nil. The
// tool skips a line of an unknown type and still exits with 0.
func PreseedError(res host.Result) error {
	var lines []string
	for _, found := range rejectedLine.FindAllStringSubmatch(string(res.Stderr), -1) {
		lines = append(lines, found[1])
	}
	switch {
	case len(lines) > 0:
		return fmt.Errorf("debconf-set-selections rejects %s: write owner, question, type and value", text.List(lines))
	case debconfLocked(res):
		return errors.New("another process holds the lock of debconf's database")
	case res.ExitCode != 0:
		return fmt.Errorf("debconf-set-selections exited with %d", res.ExitCode)
	}
	return nil
}

func debconfLocked(res host.Result) bool {
	return res.ExitCode != 0 && strings.Contains(string(res.Stderr), "is locked by another process")
}
