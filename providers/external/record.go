package external

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// A recorder prepares commands for debug logs, without secrets: neither the values of sensitive attributes nor those that
// come from Secrets.
type recorder struct {
	hidden  []string // names of attributes
	secrets []string // known values
}

func (p declared) recorder(wants []Attributes) recorder {
	var r recorder
	for i := range p.Spec.Attributes {
		if at := &p.Spec.Attributes[i]; at.Sensitive {
			r.hidden = append(r.hidden, at.Name)
		}
	}
	for _, w := range wants {
		r.hidden = append(r.hidden, w.secrets...)
		r.secrets = append(r.secrets, w.secretTexts(p.Definition)...)
	}
	return r
}

// recorded returns a command with what debug logs show of it, and of its reply. Further lines follow those of the
// reply. Commands with secrets are only started in ways that keep these out of arguments and the environment.
func (r recorder) recorded(cmd host.Cmd, further func(host.Result) []string) host.Cmd {
	call := quoted(cmd.Args...)
	if len(cmd.Env) > 0 {
		call = "env " + quoted(cmd.Env...) + " " + call
	}
	if lines := r.lines(cmd.Stdin); len(lines) > 0 {
		call = `printf '%s\n' ` + quoted(lines...) + " | " + call
	}
	cmd.Repeat = "cd " + quoted(cmd.Dir) + " && " + call
	cmd.Show = func(res host.Result) string {
		all := r.with(res.Stdout)
		shown := prefixed("reply: ", all.lines(res.Stdout))
		shown = append(shown, prefixed("stderr: ", all.lines(res.Stderr))...)
		if further != nil {
			shown = append(shown, further(res)...)
		}
		return redact.Text(strings.Join(shown, "\n"), all.secrets)
	}
	return cmd
}

// plainWord matches words that a shell takes as they are. It is never changed.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted returns words for a shell, which people can read.
func quoted(words ...string) string {
	all := slices.Clone(words)
	for i, w := range all {
		if !plainWord.MatchString(w) {
			all[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(all, " ")
}

func prefixed(prefix string, lines []string) []string {
	for i := range lines {
		lines[i] = prefix + lines[i]
	}
	return lines
}

// with returns a recorder that also knows the secrets in a reply, such as a current password.
func (r recorder) with(output []byte) recorder {
	r.secrets = slices.Clone(r.secrets)
	for line := range bytes.Lines(output) {
		if tree, ok := parsed(line); ok {
			r.collect(tree)
		}
	}
	return r
}

// collect adds the values of hidden attributes.
func (r *recorder) collect(tree any) {
	switch t := tree.(type) {
	case []any:
		for _, e := range t {
			r.collect(e)
		}
	case map[string]any:
		for name, value := range t {
			if slices.Contains(r.hidden, name) {
				r.secrets = append(r.secrets, texts(value)...)
			} else {
				r.collect(value)
			}
		}
	}
}

// lines returns the lines of a text as they may be shown. If there are secrets, a line with a JSON value that is cut off
// could have a part of one: it is left out.
func (r recorder) lines(text []byte) []string {
	var all []string
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		tree, ok := parsed(line)
		switch {
		case len(line) == 0:
		case ok:
			all = append(all, show(r.redacted(tree)))
		case len(r.hidden) > 0 && bytes.ContainsAny(line, `{["`):
			all = append(all, "(invalid JSON, not shown because the type has secrets)")
		default:
			all = append(all, redact.Text(string(line), r.secrets))
		}
	}
	return all
}

func parsed(line []byte) (tree any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if d.Decode(&tree) != nil || d.More() {
		return nil, false
	}
	return tree, true
}

// redacted returns a JSON value without secrets.
func (r recorder) redacted(tree any) any {
	switch t := tree.(type) {
	case string:
		return redact.Text(t, r.secrets)
	case []any:
		all := make([]any, len(t))
		for i, e := range t {
			all[i] = r.redacted(e)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(t))
		for _, name := range slices.Sorted(maps.Keys(t)) {
			if slices.Contains(r.hidden, name) {
				all[name] = redact.Mark
			} else {
				all[redact.Text(name, r.secrets)] = r.redacted(t[name])
			}
		}
		return all
	}
	return tree
}
