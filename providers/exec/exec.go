// Package exec is the resource type Exec: commands that are run on a host.
//
// A command leaves nothing that could be read back, so the type says that it acts: what
// is read is whether the command is to run, by its checks. This file says what an Exec
// is; words.go what is run, context.go as whom and where, posix.go when.
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

// Attributes are an Exec's, and what its checks say.
type Attributes struct {
	v1alpha1.ExecAttributes
	name string // metadata.name
	// due says that the command is to run. False in what a user wrote.
	due bool
	// secret are further variables of the environment, as KEY=value, out of Secrets.
	secret []string
}

// Values of logOutput.
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

		SideEffects: true,
		Acts:        true,
	}
}

// notRun is what a command returned that is to run.
const notRun = "notrun"

func returns() resource.Property[Attributes] {
	return resource.Property[Attributes]{
		Name:    "returns",
		Doc:     "Exit codes that mean success; 0 by default.",
		Done:    "executed successfully",
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
		{Name: "command", Doc: "What to run: split into words by POSIX quoting, without expansion."},
		{Name: "args", Doc: "The words after the command, which then is not split."},
		{Name: "shell", Doc: "Runs command, refresh and checks by /bin/sh -c."},
		{Name: "creates", Doc: "Files: the command runs only if none of them exists."},
		{Name: "onlyIf", Doc: "Commands: runs only if all of them exit with 0. Run in noop, too."},
		{Name: "unless", Doc: "Commands: runs only if none of them exits with 0. Run in noop, too."},
		{Name: "refreshOnly", Doc: "Runs only when notified."},
		{Name: "refresh", Doc: "Run in place of command when notified."},
		{Name: "tries", Doc: "How often to run until it succeeds; 1 by default."},
		{Name: "trySleepSeconds", Doc: "Pause between two tries; none by default."},
		{Name: "timeoutSeconds", Doc: "How long each try and check may take; 300 by default, 0 is as long as it likes."},
		{Name: "cwd", Doc: "Directory to run in; / by default."},
		{Name: "user", Doc: "User to run as, by name or number; root by default."},
		{Name: "group", Doc: "Group to run as, by name or number; the user's own by default."},
		{Name: "umask", Doc: "Umask of the command, in octal."},
		{Name: "environment", Doc: "KEY=value; beside PATH there is nothing else. Values are kept out of all output."},
		{Name: "path", Doc: "Directories where commands are looked for."},
		{Name: "logOutput", Doc: "When the end of the output is told: onFailure (default), always or never."},
	}
}

// addSecret makes a list of its own, as attributes are copied.
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

// files are those that a command needs as far as can be told: its directory, and what
// it and its checks begin with.
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
