// Package exec is the resource type Exec: commands that are run on a host.
//
// A command leaves no state that could be read back: a read only finds out, by the checks, whether the
// command is to run. This file defines the type; words.go splits commands, context.go sets up their
// environment, and posix.go runs them.
package exec

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

//go:embed doc.md
var doc string

//go:embed example.yaml
var example string

// Attributes are the attributes of an Exec, and the result of its checks.
type Attributes struct {
	v1alpha1.ExecAttributes
	name string // metadata.name
	// due is set by Read if the command is to run.
	due bool
	// secret has further environment variables from Secrets, as KEY=value.
	secret []string
}

// The values of logOutput.
const (
	onFailure = "onFailure"
	always    = "always"
	never     = "never"
)

// Type is the resource type Exec.
func Type() *resource.Type[Attributes] {
	return &resource.Type[Attributes]{
		Name:        "Exec",
		Doc:         doc,
		Example:     example,
		Properties:  []resource.Property[Attributes]{returns()},
		Parameters:  parameters(),
		Providers:   []resource.Provider[Attributes]{posix{}},
		NamevarName: resource.MetadataName,
		Namevar:     func(a *Attributes) *string { return &a.name },
		Default:     setDefaults,
		OneOf: []resource.OneOf[Attributes]{
			{Attribute: "logOutput", Value: func(a *Attributes) *string { return a.LogOutput }, Words: []string{"onFailure", "always", "never"}},
		},
		Validate: validate,
		Auto:     relations(),

		SecretEntries: map[string]func(*Attributes, string, string){"environment": addSecret},

		Traits: resource.Traits{Imperative: true, SideEffects: true},
	}
}

// notRun is the present value of returns if the command is to run.
const notRun = "not run"

func returns() resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name:    "returns",
		Doc:     "Exit codes that mean success; 0 by default.",
		Done:    "executed successfully",
		Pending: "would have been executed",
		Failed:  "command failed",
		Managed: func(want Attributes) bool { return want.Command != "" },
		InSync:  func(is, _ Attributes) bool { return !is.due },
		Show: func(a Attributes) string {
			if a.due {
				return notRun
			}
			return codes(a.Returns)
		},
	}
}

func codes(list []int32) string {
	words := make([]string, len(list))
	for i, code := range list {
		words[i] = strconv.Itoa(int(code))
	}
	return strings.Join(words, ",")
}

func parameters() []resource.Parameter {
	return []resource.Parameter{
		{Name: "command", Doc: "The command line. It is split into words by POSIX quoting. Without shell, a line that only a shell understands is refused."},
		{Name: "args", Doc: "The arguments of the command; with them, command is not split."},
		{Name: "shell", Doc: "Runs command, refresh and checks with /bin/sh -c."},
		{Name: "creates", Doc: "Paths: the command runs only if none of them exists."},
		{Name: "onlyIf", Doc: "Checks: the command runs only if all of them exit with 0. They also run with noop."},
		{Name: "unless", Doc: "Checks: the command runs only if none of them exits with 0. They also run with noop."},
		{Name: "refreshOnly", Doc: "Runs the command only when the Exec is notified."},
		{Name: "refresh", Doc: "A command that runs instead of command when the Exec is notified."},
		{Name: "tries", Doc: "The maximum number of attempts; 1 by default."},
		{Name: "trySleepSeconds", Doc: "The pause between attempts, in seconds or with a unit, such as 10m; none by default."},
		{Name: "timeoutSeconds", Doc: "The time limit of each attempt and check, in seconds or with a unit, such as 1h; 300 by default, 0 for no limit."},
		{Name: "cwd", Doc: "Directory to run in; / by default."},
		{Name: "user", Doc: "User to run as, by name or number; root by default."},
		{Name: "group", Doc: "Group to run as, by name or number; the user's own by default."},
		{Name: "umask", Doc: "Umask of the command, in octal."},
		{Name: "environment", Doc: "Variables, as KEY=value. The command gets these and PATH, nothing else. Their values are redacted in all output."},
		{Name: "path", Doc: "Directories in which commands are looked up."},
		{Name: "logOutput", Doc: "When the end of the output is reported: onFailure (default), always or never."},
	}
}

// addSecret copies the list, which is shared between copies of the attributes.
func addSecret(a *Attributes, name, value string) {
	a.secret = append(slices.Clip(a.secret), name+"="+value)
}

func setDefaults(a *Attributes) {
	if a.Returns == nil {
		a.Returns = []int32{0}
	}
}

func relations() []resource.AutoRelation[Attributes] {
	return []resource.AutoRelation[Attributes]{
		{Relation: resource.Require, Kind: "File", Names: files},
		{Relation: resource.Require, Kind: "User", Names: func(want Attributes) []string {
			if name, _, isNumber := nameOrNumber(want.User); name != "" && !isNumber {
				return []string{name}
			}
			return nil
		}},
	}
}

// files returns the files that a command is known to need: its directory, and the programs of the
// command and its checks.
func files(want Attributes) []string {
	var names []string
	if want.Cwd != nil {
		names = append(names, *want.Cwd)
	}
	for _, line := range append(slices.Concat([]string{want.Command}, want.OnlyIf), want.Unless...) {
		if file := program(line, want); strings.HasPrefix(file, "/") {
			names = append(names, file)
		}
	}
	return names
}
