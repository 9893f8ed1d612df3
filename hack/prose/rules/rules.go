// Package rules finds habits of wording that readers stumble over.
//
// rules.txt lists them, each with a better wording.
package rules

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed rules.txt
var table string

// A Rule is a pattern, matched without regard to case, and the advice for whoever used it.
type Rule struct {
	Pattern *regexp.Regexp
	Advice  string
}

// A Finding is a place in a text that a rule objects to. Offset is in bytes.
type Finding struct {
	Offset        int
	Match, Advice string
}

// Default returns the rules of this repository.
func Default() ([]Rule, error) { return Parse(table) }

// Parse reads rules, one on each line: a regular expression, " => " and the advice. A blank in the
// expression matches any white space. Empty lines and lines that begin with # are comments.
func Parse(text string) ([]Rule, error) {
	var rules []Rule
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		expr, advice, ok := strings.Cut(line, " => ")
		if !ok {
			return nil, fmt.Errorf("rule %q has no advice: write PATTERN => ADVICE", line)
		}
		pattern, err := regexp.Compile(`(?is)` + strings.ReplaceAll(strings.TrimSpace(expr), " ", `\s+`))
		if err != nil {
			return nil, fmt.Errorf("rule %q: %w", line, err)
		}
		rules = append(rules, Rule{pattern, strings.TrimSpace(advice)})
	}
	return rules, nil
}

// Check returns what the rules object to in a text, rule by rule.
func Check(rules []Rule, text string) []Finding {
	var all []Finding
	for _, r := range rules {
		for _, m := range r.Pattern.FindAllStringIndex(text, -1) {
			match := text[m[0]:m[1]]
			blank := len(match) - len(strings.TrimLeft(match, " \n\t"))
			all = append(all, Finding{m[0] + blank, strings.Join(strings.Fields(match), " "), r.Advice})
		}
	}
	return all
}
