package group

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// groupadd reads the host's group file and changes it with the tools of every Linux distribution:
// groupadd, groupmod, groupdel and gpasswd.
type groupadd struct{}

func (groupadd) Name() string { return "groupadd" }

func (groupadd) Needs() resource.Needs {
	return resource.Needs{
		Commands: []string{"groupadd", "groupmod", "groupdel", "gpasswd"},
		Remedy:   "install the package that contains it (passwd or shadow-utils)",
	}
}

func (groupadd) Suits(resource.Facts, host.Reader) error { return nil }

func (groupadd) Features() []resource.Feature {
	return []resource.Feature{managesMembers, systemGroups, allowsDuplicates}
}

func (g groupadd) Read(ctx context.Context, h resource.Reader, want attributes) (attributes, error) {
	result := g.ReadAll(ctx, h, []attributes{want})[0]
	return result.State, result.Err
}

// ReadAll implements [resource.BatchReader]. It reads the file once.
func (groupadd) ReadAll(_ context.Context, h resource.Reader, wants []attributes) []resource.Result[attributes] {
	groups, err := accounts.ReadGroups(h)
	if err != nil {
		return resource.Unreadable[attributes](len(wants), err)
	}
	results := make([]resource.Result[attributes], len(wants))
	for i, want := range wants {
		results[i].State = state(groups, want.Name)
	}
	return results
}

// List implements [resource.Lister]: all groups of the host.
func (groupadd) List(_ context.Context, h resource.Reader) ([]attributes, error) {
	groups, err := accounts.ReadGroups(h)
	if err != nil {
		return nil, err
	}
	states := make([]attributes, len(groups))
	for i, g := range groups {
		states[i] = present(g)
	}
	return states, nil
}

func state(groups accounts.Groups, name string) attributes {
	if g, ok := groups.Named(name); ok {
		return present(g)
	}
	return attributes{Name: name, Ensure: new(resource.Absent)}
}

func present(g accounts.Group) attributes {
	is := attributes{Name: g.Name, Ensure: new(resource.Present), GID: &g.GID}
	if len(g.Members) > 0 {
		is.Members = g.Members
	}
	return is
}

// Write implements [resource.Provider]: it creates a group and adds its members, removes it, or
// changes its properties one by one.
func (groupadd) Write(ctx context.Context, h resource.Writer, is, want attributes, changes []resource.Change) error {
	return resource.Simple[attributes]{Create: create, Update: update, Delete: remove}.Write(ctx, h, is, want, changes)
}

func update(ctx context.Context, h resource.Writer, is, want attributes, changes []resource.Change) error {
	a, err := forecast.Read(h)
	if err != nil {
		return err
	}
	return resource.OneByOne(changes, func(property string) error {
		if err := resource.Certain(checkChange(h, a, is, want, property)); err != nil {
			return err
		}
		return run(ctx, h, modification(is, want, property))
	})
}

func remove(ctx context.Context, h resource.Writer, is, want attributes) error {
	err := resource.Certain(checkRemoval(h, is, want))
	if err == nil {
		err = run(ctx, h, [][]string{{"groupdel", "--", want.Name}})
	}
	if err != nil {
		return fmt.Errorf("cannot remove group %s: %w", want.Name, err)
	}
	return nil
}

func create(ctx context.Context, h resource.Writer, is, want attributes) error {
	err := resource.Certain(checkCreation(h, is, want))
	if err == nil {
		err = run(ctx, h, creation(want))
	}
	if err != nil {
		return fmt.Errorf("cannot create group %s: %w", want.Name, err)
	}
	return nil
}

// run runs commands until one fails.
func run(ctx context.Context, h host.Host, commands [][]string) error {
	for _, args := range commands {
		if err := accounts.Run(ctx, h, host.Cmd{Args: args}, remedies(args[0])); err != nil {
			return err
		}
	}
	return nil
}

func remedies(tool string) accounts.Remedies {
	switch tool {
	case "groupdel":
		return accounts.Remedies{8: "before this Group, make that User absent or give it another gid"}
	case "gpasswd":
		return accounts.Remedies{3: "declare a User for each name in members, or remove members if the Users name this group in groups"}
	default:
		return accounts.Remedies{4: "use another gid, or set allowDupe: true"}
	}
}

// creation returns the commands that create a group and add its members.
func creation(want attributes) [][]string {
	commands := [][]string{slices.Concat([]string{"groupadd"}, gid(want), system(want), []string{"--", want.Name})}
	if len(want.Members) > 0 {
		commands = append(commands, setMembers(want))
	}
	return commands
}

// modification returns the commands that set a property of an existing group.
func modification(is, want attributes, property string) [][]string {
	switch {
	case property == "gid":
		return [][]string{slices.Concat([]string{"groupmod"}, gid(want), []string{"--", want.Name})}
	case isMinimum(want):
		return addMembers(is, want)
	default:
		return [][]string{setMembers(want)}
	}
}

// setMembers returns the command that replaces all members.
func setMembers(want attributes) []string {
	return []string{"gpasswd", "--members", strings.Join(want.Members, ","), "--", want.Name}
}

// addMembers returns commands that add each missing member and preserve members that were just added.
func addMembers(is, want attributes) [][]string {
	var commands [][]string
	for _, m := range want.Members {
		if !slices.Contains(is.Members, m) {
			commands = append(commands, []string{"gpasswd", "--add", m, "--", want.Name})
		}
	}
	return commands
}

func gid(want attributes) []string {
	switch {
	case want.GID == nil:
		return nil
	case ptr.Deref(want.AllowDupe, false):
		return []string{"--non-unique", "--gid", strconv.FormatInt(*want.GID, 10)}
	default:
		return []string{"--gid", strconv.FormatInt(*want.GID, 10)}
	}
}

func system(want attributes) []string {
	if ptr.Deref(want.System, false) {
		return []string{"--system"}
	}
	return nil
}
