package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/internal/text"
)

// A recorder knows the secrets of a process, and shows what it read and printed without them: in messages and in debug logs.
type recorder struct {
	hidden  []string // names of attributes whose values are secret
	values  []any    // known secrets
	secrets func() redact.Secrets
}

// recorder returns a recorder that knows the secrets of states, desired and present.
func (p declared) recorder(known ...Attributes) recorder {
	r := p.newRecorder()
	for _, a := range known {
		r.hide(a.secrets...)
	}
	for _, a := range known {
		r.know(a.values, a.canonical)
	}
	return r.complete()
}

// recorderOf returns a recorder that knows the secrets of resources in a request.
func (p declared) recorderOf(resources []wire.Resource) recorder {
	r := p.newRecorder()
	for _, about := range resources {
		r.hide(about.Sensitive...)
	}
	for _, about := range resources {
		r.know(about.Should, about.Is)
	}
	return r.complete()
}

func (p declared) newRecorder() *recorder {
	r := &recorder{}
	for i := range p.Spec.Attributes {
		if at := &p.Spec.Attributes[i]; at.Sensitive {
			r.hide(at.Name)
		}
	}
	return r
}

// hide adds attributes whose values are secret.
func (r *recorder) hide(names ...string) {
	for _, name := range names {
		if !slices.Contains(r.hidden, name) {
			r.hidden = append(r.hidden, name)
		}
	}
}

// hides reports whether a property is secret, in any case: PowerShell writes names in its own.
func (r *recorder) hides(name string) bool {
	return slices.ContainsFunc(r.hidden, func(hidden string) bool { return strings.EqualFold(hidden, name) })
}

// know adds the secrets in states.
func (r *recorder) know(states ...wire.State) {
	for _, state := range states {
		for _, name := range r.hidden {
			if value, ok := state[name]; ok {
				r.values = append(r.values, value)
			}
		}
	}
}

// complete prepares the search for the secrets, which many texts share and most processes do not need.
func (r recorder) complete() recorder {
	values := r.values
	r.secrets = sync.OnceValue(func() redact.Secrets { return redact.Of(values...) })
	return r
}

// text returns a text of a program without secrets. The text must not be shortened before.
func (r recorder) text(from string) string {
	if from == "" {
		return ""
	}
	return r.secrets().Text(from)
}

// message returns a message of a program as people may see it: without secrets, in one line.
func (r recorder) message(from string) string { return text.Clip(text.Line(r.text(from)), maxMessage) }

// without removes secrets from an error.
func (r recorder) without(err error) error {
	if err == nil {
		return nil
	}
	message := r.message(err.Error())
	if _, ok := errors.AsType[*resource.OtherNameError](err); ok {
		return &resource.OtherNameError{Reason: message}
	}
	return errors.New(message)
}

// recorded returns a command with what debug logs show of it, and of its reply. Further lines follow those of the
// reply. Commands with secrets are only started in ways that keep these out of arguments and the environment.
func (r recorder) recorded(cmd host.Cmd, further func(recorder, host.Result) []string) host.Cmd {
	call := quoted(cmd.Args...)
	if len(cmd.Env) > 0 {
		call = "env " + quoted(cmd.Env...) + " " + call
	}
	if lines := r.lines(cmd.Stdin); len(lines) > 0 {
		call = `printf '%s\n' ` + quoted(lines...) + " | " + call
	}
	cmd.Repeat = "cd " + quoted(cmd.Dir) + " && " + call
	cmd.Show = func(res host.Result) string {
		res, _ = contract.Bounded(res)
		all := r.with(res.Stdout)
		shown := prefixed("reply: ", all.lines(res.Stdout))
		shown = append(shown, prefixed("stderr: ", all.lines(res.Stderr))...)
		if further != nil {
			shown = append(shown, further(all, res)...)
		}
		return strings.Join(shown, "\n")
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
	if len(r.hidden) == 0 {
		return r
	}
	r.values = slices.Clone(r.values)
	for line := range bytes.Lines(output) {
		if tree, ok := parsed(line); ok {
			r.collect(tree)
		}
	}
	return r.complete()
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
			if r.hides(name) {
				r.values = append(r.values, value)
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
			all = append(all, r.text(string(line)))
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
func (r recorder) redacted(tree any) any { return r.secrets().Tree(r.marked(tree)) }

// marked returns a JSON value without the values of hidden attributes.
func (r recorder) marked(tree any) any {
	switch t := tree.(type) {
	case []any:
		all := make([]any, len(t))
		for i, e := range t {
			all[i] = r.marked(e)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(t))
		for name, value := range t {
			if all[name] = redact.Mark; !r.hides(name) {
				all[name] = r.marked(value)
			}
		}
		return all
	}
	return tree
}
