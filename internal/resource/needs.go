package resource

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// Needs are what a provider needs of a host, as data: all of it. The zero value needs
// nothing.
type Needs struct {
	Commands []string // that the host's root user would find
	Files    []string // files or directories that are there
	Facts    Where    // of the host
	// Remedy is how a host gets what it lacks, for people: "install the package
	// openrc". Optional.
	Remedy string
}

// Unmet returns nil, or everything that the host lacks and the remedy.
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
	)
	if len(reasons) == 0 {
		return nil
	}
	if n.Remedy != "" {
		reasons = append(reasons, n.Remedy)
	}
	return errors.New(strings.Join(reasons, "; "))
}

// missing is a reason for each name that is not found, or can't be looked for.
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

// Where is a condition on facts, as data: each fact in it has one of its values. Values
// are compared whole and whatever their case; one between slashes is a regular expression
// that is searched for in the fact in lower case. A fact that a host does not have, or
// that is empty, has no value. The empty condition always holds.
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

// String is for people: "init is one of init, openrc-init and os.family is Gentoo".
func (w Where) String() string {
	var parts []string
	for _, fact := range slices.Sorted(maps.Keys(w)) {
		parts = append(parts, fact+" is "+oneOf(w[fact]))
	}
	return strings.Join(parts, " and ")
}

// lacks is a reason for each fact that has none of its values.
func (w Where) lacks(facts Facts) []string {
	var reasons []string
	for _, fact := range slices.Sorted(maps.Keys(w)) {
		if !facts.like(fact, w[fact]) {
			reasons = append(reasons, fmt.Sprintf("the fact %s is %q, not %s", fact, facts.String(fact), oneOf(w[fact])))
		}
	}
	return reasons
}

// Problem returns an error if the condition could never hold.
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

// pattern is the regular expression that a value between slashes is.
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

// Defaults are the hosts that a provider is the default of, as data: those for which one
// of For holds, and none of NotFor.
type Defaults struct{ For, NotFor []Where }

// Specificity is the number of facts in the largest condition that holds; 0 for no
// default.
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

// Problem returns an error if a condition could never hold.
func (d Defaults) Problem() error {
	for _, w := range slices.Concat(d.For, d.NotFor) {
		if err := w.Problem(); err != nil {
			return err
		}
	}
	return nil
}
