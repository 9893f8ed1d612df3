package group

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// groupadd reads the host's file of groups and changes it with the tools that every
// Linux distribution has: groupadd, groupmod, groupdel.
type groupadd struct{}

func (groupadd) Name() string { return "groupadd" }

func (groupadd) Suits(_ resource.Facts, h host.Reader) error {
	return accounts.Installed(h, "groupadd", "groupmod", "groupdel")
}

func (groupadd) Features() []resource.Feature {
	return []resource.Feature{systemGroups, allowsDuplicates}
}

func (g groupadd) Read(ctx context.Context, h host.Reader, want attributes) (attributes, error) {
	states, err := g.ReadAll(ctx, h, []attributes{want})
	if err != nil {
		return attributes{}, err
	}
	return states[0], nil
}

// ReadAll reads any number of groups with one look at the file.
func (groupadd) ReadAll(_ context.Context, h host.Reader, wants []attributes) ([]attributes, error) {
	groups, err := accounts.ReadGroups(h)
	if err != nil {
		return nil, err
	}
	states := make([]attributes, len(wants))
	for i, want := range wants {
		states[i] = state(groups, want.Name)
	}
	return states, nil
}

// List reads all groups of the host.
func (groupadd) List(_ context.Context, h host.Reader) ([]attributes, error) {
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
	return attributes{Name: g.Name, Ensure: new(resource.Present), GID: &g.GID}
}

// Write runs the one tool that makes all of the changes.
func (groupadd) Write(ctx context.Context, h host.Host, is, want attributes, _ []resource.Change) error {
	step := decide(is, want)
	if err := accounts.Run(ctx, h, host.Cmd{Args: step.args}, step.remedies); err != nil {
		return fmt.Errorf("cannot %s group %s: %w", step.verb, want.Name, err)
	}
	return nil
}

// A step is a tool with its arguments, and what to tell people when it fails.
type step struct {
	verb     string
	args     []string
	remedies accounts.Remedies
}

// decide picks the step that leads from what is to what should be.
func decide(is, want attributes) step {
	taken := accounts.Remedies{4: "choose another gid, or set allowDupe: true"}
	inUse := accounts.Remedies{8: "make that User absent, or give it another gid, before this Group goes"}
	switch {
	case !exists(want):
		return step{"remove", []string{"groupdel", "--", want.Name}, inUse}
	case !exists(is):
		return step{"create", slices.Concat([]string{"groupadd"}, gid(want), system(want), []string{"--", want.Name}), taken}
	default:
		return step{"change", slices.Concat([]string{"groupmod"}, gid(want), []string{"--", want.Name}), taken}
	}
}

func gid(want attributes) []string {
	switch {
	case want.GID == nil:
		return nil
	case isTrue(want.AllowDupe):
		return []string{"--non-unique", "--gid", strconv.FormatInt(*want.GID, 10)}
	default:
		return []string{"--gid", strconv.FormatInt(*want.GID, 10)}
	}
}

func system(want attributes) []string {
	if isTrue(want.System) {
		return []string{"--system"}
	}
	return nil
}

func isTrue(b *bool) bool { return b != nil && *b }
