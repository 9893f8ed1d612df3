package purge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// instances purges the instances that the default provider of a kind lists.
type instances struct{}

func (instances) Name() string { return "instances" }

func (instances) Suits(resource.Facts, host.Reader) error { return nil }

func (instances) Read(_ context.Context, _ resource.Reader, want attributes) (attributes, error) {
	return want, nil
}

// Write is never called: a Purge has no property that could be out of sync.
func (instances) Write(context.Context, resource.Writer, attributes, attributes, []resource.Change) error {
	return nil
}

// Generate implements [resource.Generator]: an absent resource for each instance that is not in the
// catalog, unless it is excluded.
func (instances) Generate(ctx context.Context, h resource.Reader, want attributes, inventory resource.Inventory) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		kind, all, failed := list(ctx, h, want, inventory)
		if _, partial := errors.AsType[*resource.PartialListError](failed); failed != nil && !partial {
			yield(nil, failed)
			return
		}
		excluded, err := newExclusions(h, want)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, i := range lastFirst(all) {
			if inventory.Has(want.Kind, i.CanonicalName) || excluded.has(i) {
				continue
			}
			if !yield(absent(kind, i)) {
				return
			}
		}
		if failed != nil {
			yield(nil, failed)
		}
	}
}

func list(ctx context.Context, h resource.Reader, want attributes, inventory resource.Inventory) (resource.Kind, []resource.Instance, error) {
	kind, ok := inventory.Kind(want.Kind)
	if !ok {
		return nil, nil, fmt.Errorf("kind %q is unknown: `fettle describe` lists the known ones", want.Kind)
	}
	if err := await(ctx, want, inventory); err != nil {
		return nil, nil, err
	}
	// The default provider, which removes them, might not know the instances of another.
	all, err := kind.Instances(ctx, inventory.Facts(), h, resource.Chosen(kind, inventory.Facts(), h))
	return kind, all, err
}

// await returns a [*resource.WaitError] if nobody knows what a resource of the kind manages.
func await(ctx context.Context, want attributes, inventory resource.Inventory) error {
	each := func(resource.Withheld) bool { return true }
	if err := resource.WaitFor("skipped", inventory.Withheld(want.Kind), each, func(resource.Withheld) string { return "may manage what would be removed" }); err != nil {
		return err
	}
	if ref, err := inventory.Unnamed(ctx, want.Kind); err != nil {
		return &resource.WaitError{Reason: fmt.Sprintf("skipped: the canonical name of %s on this host is unknown, and it may manage what would be removed: %s", ref, text.Error(err))}
	}
	return nil
}

// lastFirst sorts the tenth before the second, so that instances that are named by a number, such
// as the unnamed keys of a file, keep it until their turn.
func lastFirst(all []resource.Instance) []resource.Instance {
	slices.SortFunc(all, func(a, b resource.Instance) int {
		return cmp.Or(cmp.Compare(len(b.Namevar), len(a.Namevar)), strings.Compare(b.Namevar, a.Namevar))
	})
	return all
}

// absent returns the resource that removes an instance: with its parameters, which locate it, and without
// its properties.
func absent(kind resource.Kind, i resource.Instance) (resource.Resource, error) {
	var attributes map[string]any
	if err := json.Unmarshal(i.Attributes, &attributes); err != nil {
		return nil, err
	}
	if !utf8.ValidString(i.Namevar) { // attributes are JSON: it would be another name
		return nil, fmt.Errorf("%s has the name %q, which is not UTF-8: remove it by hand", kind.Name(), i.Namevar)
	}
	d := kind.Describe()
	for _, a := range d.Attributes {
		if a.Property {
			delete(attributes, a.Name)
		}
	}
	if _, ok := attributes[d.Namevar]; !ok { // otherwise it may be one part of the name
		attributes[d.Namevar] = i.Namevar
	}
	attributes[resource.Ensure] = resource.Absent
	raw, err := json.Marshal(attributes)
	if err != nil {
		return nil, err
	}
	r, err := kind.Bind(resource.Ref{Kind: kind.Name(), Name: i.Namevar}, raw)
	if err != nil {
		return nil, fmt.Errorf("kind %s can't be purged: %w", kind.Name(), err)
	}
	return r, nil
}

// essential has the accounts that every host needs, whatever their numbers.
var essential = []string{"root", "nobody", "nogroup", "bin", "noaccess", "daemon", "sys"}

// exclusions are unmanaged instances that are not removed.
type exclusions struct {
	field   string // the attribute with the number of an account; "" for other kinds
	below   int64  // upper bound of the numbers of system accounts
	numbers []int64
	// accounts are those that will be left by then. For kinds other than Group there are none.
	accounts forecast.Accounts
}

func newExclusions(h resource.Reader, want attributes) (s exclusions, err error) {
	s.numbers = want.UnlessUID
	limit := map[string]string{"User": "UID_MIN", "Group": "GID_MIN"}[want.Kind]
	if limit == "" {
		return s, nil
	}
	s.field = map[string]string{"User": "uid", "Group": "gid"}[want.Kind]
	if want.Kind == "Group" {
		if s.accounts, err = forecast.Read(h); err != nil {
			return s, err
		}
	}
	if want.UnlessSystemUser != nil && !*want.UnlessSystemUser {
		return s, nil
	}
	text, err := h.ReadFile("/etc/login.defs")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("cannot read the numbers of system accounts: %w", err)
	}
	s.below = setting(string(text), limit, 1000)
	return s, nil
}

// setting returns a number from a file like login.defs, or the default if it is not set.
func setting(text, name string, otherwise int64) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
			if n, err := strconv.ParseInt(f[1], 0, 64); err == nil {
				return n
			}
		}
	}
	return otherwise
}

func (s exclusions) has(i resource.Instance) bool {
	if s.field == "" {
		return false
	}
	var all map[string]json.RawMessage
	var number int64
	if json.Unmarshal(i.Attributes, &all) != nil || json.Unmarshal(all[s.field], &number) != nil {
		return true // it may be a system account
	}
	return slices.Contains(essential, i.Namevar) || number < s.below || slices.Contains(s.numbers, number) || s.keeps(i.Namevar)
}

// keeps reports whether a group stays because it is the primary group of a user, or goes with one.
func (s exclusions) keeps(group string) bool {
	if s.field != "gid" { // of a User
		return false
	}
	g, there := s.accounts.Groups.Named(group)
	return !there || s.accounts.PrimaryOf(g) != ""
}
