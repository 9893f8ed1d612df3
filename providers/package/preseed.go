package pkg

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// preseed answers the questions of what is about to change, and returns the orders
// that can go on.
func (b *batch) preseed(ctx context.Context, orders []order) []order {
	tried := map[string]error{}
	var ready []order
	for _, o := range orders {
		if file := b.writes[o.write].Want.ResponseFile; file != nil {
			if _, done := tried[*file]; !done {
				tried[*file] = b.answer(ctx, *file)
			}
			if err := tried[*file]; err != nil {
				b.errs[o.write] = err
				continue
			}
		}
		ready = append(ready, o)
	}
	return ready
}

// answer hands a file to debconf, by name: what is in it may be secret. For the same
// reason nothing that the tool says is repeated but where it stumbled.
func (t tools) answer(ctx context.Context, file string) error {
	_, err := t.h.Stat(file) // the tool takes none for an empty one
	if err != nil {
		return fmt.Errorf("cannot read responseFile: %w", err)
	}
	res, err := t.persist(ctx, host.Cmd{Args: []string{"debconf-set-selections", file}, Env: quiet()})
	if err != nil {
		return fmt.Errorf("cannot read responseFile %q: %w", file, err)
	}
	if why := stumbled(res); why != nil {
		return fmt.Errorf("cannot read responseFile %q: %w", file, why)
	}
	return nil
}

// stumbled is what debconf did not take, nil if nothing. It skips a line of an unknown
// type and calls that a success.
func stumbled(res host.Result) error {
	at := regexp.MustCompile(`(?m)^(?:error: parse error on|warning: Unknown type .*skipping) (line [0-9]+)\b`)
	var lines []string
	for _, found := range at.FindAllStringSubmatch(string(res.Stderr), -1) {
		lines = append(lines, found[1])
	}
	switch {
	case len(lines) > 0:
		return fmt.Errorf("debconf-set-selections does not take %s: write owner, question, type and value", text.List(lines))
	case debconfLocked(res):
		return errors.New("another process holds the lock of debconf's database")
	case res.ExitCode != 0:
		return fmt.Errorf("debconf-set-selections ended with exit code %d", res.ExitCode)
	}
	return nil
}

// debconfLocked reports whether another process holds debconf's database.
func debconfLocked(res host.Result) bool {
	return res.ExitCode != 0 && strings.Contains(string(res.Stderr), "is locked by another process")
}
