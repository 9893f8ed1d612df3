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

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// instances purges by what the default provider of a kind lists.
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

// Generate makes an absent resource of each instance that the catalog does not have
// and that nothing spares.
func (instances) Generate(ctx context.Context, h resource.Reader, want attributes, c resource.Catalog) iter.Seq2[resource.Resource, error] {
	return func(yield func(resource.Resource, error) bool) {
		kind, all, err := list(ctx, h, want, c)
		if err != nil {
			yield(nil, err)
			return
		}
		spared, err := newSpared(h, want)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, i := range lastFirst(all) {
			if c.Has(want.Kind, i.Namevar) || spared.spares(i) {
				continue
			}
			if !yield(absent(kind, i)) {
				return
			}
		}
	}
}

func list(ctx context.Context, h resource.Reader, want attributes, c resource.Catalog) (resource.Kind, []resource.Instance, error) {
	kind, ok := c.Kind(want.Kind)
	if !ok {
		return nil, nil, fmt.Errorf("kind %q is not known: `fettle describe` lists those that are", want.Kind)
	}
	if ref, missing := c.Missing(want.Kind); missing {
		return nil, nil, fmt.Errorf("what %s manages is not known while it is withheld or invalid, so nothing is purged: mend it first", ref)
	}
	// What others list the default provider, which is to remove it, might not know.
	all, err := kind.Instances(ctx, c.Facts(), h, resource.Chosen(kind, c.Facts(), h))
	return kind, all, err
}

// lastFirst has what is known by a number, as the keys without a name in a file are, keep
// it until its turn: the tenth comes before the second.
func lastFirst(all []resource.Instance) []resource.Instance {
	slices.SortFunc(all, func(a, b resource.Instance) int {
		return cmp.Or(cmp.Compare(len(b.Namevar), len(a.Namevar)), strings.Compare(b.Namevar, a.Namevar))
	})
	return all
}

// absent is an instance that is to go: found where it is, as the parameters say, and with
// nothing else said of it.
func absent(kind resource.Kind, i resource.Instance) (resource.Resource, error) {
	var attributes map[string]any
	if err := json.Unmarshal(i.Attributes, &attributes); err != nil {
		return nil, err
	}
	if !utf8.ValidString(i.Namevar) { // attributes are JSON: it would be another name
		return nil, fmt.Errorf("the name %q of a %s is not UTF-8: remove it by hand", i.Namevar, kind.Name())
	}
	d := kind.Describe()
	for _, a := range d.Attributes {
		if a.Property {
			delete(attributes, a.Name)
		}
	}
	attributes[d.Namevar], attributes[resource.Ensure] = i.Namevar, resource.Absent
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

// sacred are accounts that no host can do without, whatever their numbers.
var sacred = []string{"root", "nobody", "nogroup", "bin", "noaccess", "daemon", "sys"}

// spared is what must stay though nothing manages it.
type spared struct {
	field   string // the attribute that is an account's number; "" for other kinds
	below   int64  // numbers of system accounts
	numbers []int64
}

func newSpared(h host.Reader, want attributes) (spared, error) {
	s := spared{numbers: want.UnlessUID}
	limit := map[string]string{"User": "UID_MIN", "Group": "GID_MIN"}[want.Kind]
	if limit == "" {
		return s, nil
	}
	s.field = map[string]string{"User": "uid", "Group": "gid"}[want.Kind]
	if want.UnlessSystemUser != nil && !*want.UnlessSystemUser {
		return s, nil
	}
	text, err := h.ReadFile("/etc/login.defs")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("cannot read where system accounts end: %w", err)
	}
	s.below = setting(string(text), limit, 1000)
	return s, nil
}

// setting is a number in a file like login.defs, or what it is without.
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

func (s spared) spares(i resource.Instance) bool {
	if s.field == "" {
		return false
	}
	var all map[string]json.RawMessage
	var number int64
	if json.Unmarshal(i.Attributes, &all) != nil || json.Unmarshal(all[s.field], &number) != nil {
		return true // what can't be told apart from a system account stays
	}
	return slices.Contains(sacred, i.Namevar) || number < s.below || slices.Contains(s.numbers, number)
}
