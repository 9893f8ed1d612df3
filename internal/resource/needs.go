package resource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// Needs are a provider's requirements on a host, as data. All of them must be met. The zero value
// requires nothing.
type Needs struct {
	Commands []string // in the PATH of the host's root user
	Files    []string // files or directories that exist
	Facts    Where    // conditions on the host's facts
	Exits    []Exit   // commands that exit with a code
	Not      *Needs   // none of these conditions may hold; its Remedy and Not mean nothing
	// Remedy tells people how to meet the needs, such as "install the package openrc". Optional.
	Remedy string
}

// Unmet returns an error that lists everything the host lacks and the remedy, or nil.
func (n Needs) Unmet(facts Facts, h host.Reader) error {
	reasons := slices.Concat(
		missing("the command", "is not installed", n.Commands, func(name string) error {
			_, err := h.LookPath(name)
			return err
		}),
		missing("the file", "is not there", n.Files, func(file string) error {
			_, err := h.Stat(file)
			return err
		}),
		n.Facts.lacks(facts),
		n.differentExits(h),
		n.Not.met(facts, h),
	)
	if len(reasons) == 0 {
		return nil
	}
	if n.Remedy != "" {
		reasons = append(reasons, n.Remedy)
	}
	return errors.New(strings.Join(reasons, "; "))
}

// An Exit is a command that only reads, and exits with a code.
type Exit struct {
	Command []string
	Code    int
}

// String describes the condition: "systemctl is-active pdns exits with 0".
func (e Exit) String() string {
	return fmt.Sprintf("%s exits with %d", strings.Join(e.Command, " "), e.Code)
}

// Limits of the command of an [Exit].
const (
	exitTimeout = 10 * time.Second
	exitOutput  = 64 << 10  // in bytes
	exitMemory  = 128 << 20 // in bytes
	exitTasks   = 32
)

// code returns the exit code of the command.
func (e Exit) code(h host.Reader) (int, error) {
	res, err := h.Query(context.Background(), host.Cmd{
		Args: e.Command, Timeout: exitTimeout, MaxOutput: exitOutput, Confinement: &host.Confinement{ReadOnly: true, Memory: exitMemory, Tasks: exitTasks},
	})
	return res.ExitCode, err
}

func (n Needs) differentExits(h host.Reader) []string {
	var reasons []string
	for _, e := range n.Exits {
		switch code, err := e.code(h); {
		case err != nil:
			reasons = append(reasons, fmt.Sprintf("cannot run %s: %v", e.Command[0], err))
		case code != e.Code:
			reasons = append(reasons, fmt.Sprintf("%s exits with %d, not %d", strings.Join(e.Command, " "), code, e.Code))
		}
	}
	return reasons
}

// met returns a reason for each condition that holds, or that cannot be looked at. n may be nil.
func (n *Needs) met(facts Facts, h host.Reader) []string {
	if n == nil {
		return nil
	}
	reasons := slices.Concat(
		found("the command", "is installed", n.Commands, func(name string) error {
			_, err := h.LookPath(name)
			return err
		}),
		found("the file", "is there", n.Files, func(file string) error {
			_, err := h.Stat(file)
			return err
		}),
	)
	for _, fact := range slices.Sorted(maps.Keys(n.Facts)) {
		if facts.like(fact, n.Facts[fact]) {
			reasons = append(reasons, fmt.Sprintf("the fact %s is %s", fact, facts.String(fact)))
		}
	}
	for _, e := range n.Exits {
		switch code, err := e.code(h); {
		case err != nil:
			reasons = append(reasons, fmt.Sprintf("cannot run %s: %v", e.Command[0], err))
		case code == e.Code:
			reasons = append(reasons, e.String())
		}
	}
	return reasons
}

// found returns a reason for each name that is found or can't be looked up.
func found(what, is string, names []string, find func(string) error) []string {
	var reasons []string
	for _, name := range names {
		switch err := find(name); {
		case err == nil:
			reasons = append(reasons, fmt.Sprintf("%s %s %s", what, name, is))
		case !errors.Is(err, fs.ErrNotExist):
			reasons = append(reasons, fmt.Sprintf("cannot look for %s: %v", name, err))
		}
	}
	return reasons
}

// missing returns a reason for each name that is not found or can't be looked up.
func missing(what, is string, names []string, find func(string) error) []string {
	var reasons []string
	for _, name := range names {
		switch err := find(name); {
		case errors.Is(err, fs.ErrNotExist):
			reasons = append(reasons, fmt.Sprintf("%s %s %s", what, name, is))
		case err != nil:
			reasons = append(reasons, fmt.Sprintf("cannot look for %s: %v", name, err))
		}
	}
	return reasons
}

// Where is a condition on facts, as data. It holds if each of its facts has one of the values
// listed for it. Values must match entirely and are case-insensitive. A value between slashes is a
// regular expression that is searched for in the lower-cased fact. A missing or empty fact matches
// nothing. The empty condition always holds.
type Where map[string][]string

// Holds reports whether the condition holds for a host.
func (w Where) Holds(facts Facts) bool {
	for fact, values := range w {
		if !facts.like(fact, values) {
			return false
		}
	}
	return true
}

// String describes the condition: "init is one of init, openrc-init and os.family is Gentoo".
func (w Where) String() string {
	var parts []string
	for _, fact := range slices.Sorted(maps.Keys(w)) {
		parts = append(parts, fact+" is "+oneOf(w[fact]))
	}
	return strings.Join(parts, " and ")
}

// lacks returns a reason for each fact that has none of its values.
func (w Where) lacks(facts Facts) []string {
	var reasons []string
	for _, fact := range slices.Sorted(maps.Keys(w)) {
		if !facts.like(fact, w[fact]) {
			reasons = append(reasons, fmt.Sprintf("the fact %s is %q, not %s", fact, facts.String(fact), oneOf(w[fact])))
		}
	}
	return reasons
}

// Problem returns an error if the condition can never hold.
func (w Where) Problem() error {
	for fact, values := range w {
		if len(values) == 0 {
			return fmt.Errorf("fact %s is given no value", fact)
		}
		for _, v := range values {
			if text, ok := pattern(v); ok {
				if _, err := regexp.Compile(text); err != nil {
					return fmt.Errorf("fact %s: %w", fact, err)
				}
			}
		}
	}
	return nil
}

func oneOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return "one of " + strings.Join(values, ", ")
}

// pattern returns the regular expression of a value between slashes.
func pattern(value string) (text string, ok bool) {
	text, ok = strings.CutPrefix(value, "/")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(text, "/")
}

func (f Facts) like(name string, values []string) bool {
	is := f.String(name)
	return is != "" && slices.ContainsFunc(values, func(v string) bool {
		text, ok := pattern(v)
		if !ok {
			return strings.EqualFold(is, v)
		}
		found, err := regexp.MatchString(text, strings.ToLower(is))
		return err == nil && found
	})
}

// Defaults declare the hosts on which a provider is the default: those that match a condition in
// For and none in NotFor.
type Defaults struct{ For, NotFor []Where }

// Specificity returns the number of facts in the largest condition that holds; 0 means that the
// provider is not a default.
func (d Defaults) Specificity(facts Facts) int {
	holds := func(w Where) bool { return len(w) > 0 && w.Holds(facts) }
	if slices.ContainsFunc(d.NotFor, holds) {
		return 0
	}
	most := 0
	for _, w := range d.For {
		if holds(w) {
			most = max(most, len(w))
		}
	}
	return most
}

// Problem returns an error if a condition can never hold.
func (d Defaults) Problem() error {
	for _, w := range slices.Concat(d.For, d.NotFor) {
		if err := w.Problem(); err != nil {
			return err
		}
	}
	return nil
}
