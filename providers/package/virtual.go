package pkg

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

func allowsVirtual(want Attributes) bool { return want.AllowVirtual != nil && *want.AllowVirtual }

// actual is the canonical name of the package that a resource is about: where it may
// name what others provide, and no package of that name is there, one that provides it.
func (db database) actual(want Attributes) string {
	name := db.canonical(want.Name)
	if !allowsVirtual(want) || db.find(name).installed() {
		return name
	}
	if providers := db.providers(name); len(providers) > 0 {
		return providers[0]
	}
	return name
}

// providers are the canonical names of what is installed and provides a name, sorted.
func (db database) providers(name string) []string {
	var all []string
	for k, r := range db.records {
		if r.installed() && provides(r.provides, name) {
			all = append(all, db.canonical(k.name+":"+k.arch))
		}
	}
	slices.Sort(all)
	return all
}

// provides reports whether a control file's Provides has a name, in whatever version.
func provides(relations, name string) bool {
	for relation := range strings.SplitSeq(relations, ",") {
		provided, _, _ := strings.Cut(strings.TrimSpace(relation), " ")
		if provided, _, _ = strings.Cut(provided, "("); strings.TrimSuffix(provided, ":any") == name {
			return true
		}
	}
	return false
}

// choose finds the package that a resource is about, by canonical name, and what can
// be had of it.
func (b *batch) choose(ctx context.Context, want Attributes, offers map[string]offer) (string, offer, error) {
	if installing(want) && want.Source != nil {
		has, err := b.offerOf(ctx, want)
		return b.db.canonical(want.Name), has, err
	}
	name := b.db.actual(want)
	if !installing(want) {
		return name, offer{}, b.db.ambiguous(want, name)
	}
	has := offers[name]
	switch {
	case len(has.providers) == 0:
		return name, has, nil
	case !allowsVirtual(want):
		return "", offer{}, fmt.Errorf("name %q is no package but what others provide: name one of %s, or set allowVirtual", name, text.List(has.providers))
	case len(has.providers) > 1:
		return "", offer{}, fmt.Errorf("name %q is what several packages provide: name one of %s", name, text.List(has.providers))
	}
	return has.providers[0], offers[has.providers[0]], nil
}

// ambiguous refuses to pick one of several packages that provide what is to go.
func (db database) ambiguous(want Attributes, actual string) error {
	if actual == db.canonical(want.Name) {
		return nil
	}
	if all := db.providers(want.Name); len(all) > 1 {
		return fmt.Errorf("name %q is what several packages provide: name the one that is to go, %s", want.Name, text.List(all))
	}
	return nil
}

// offers asks apt what it has of all that is to be installed, and of what alone
// provides it.
func (b *batch) offers(ctx context.Context) (map[string]offer, error) {
	offers, err := policy(ctx, b.look, b.names())
	if err != nil {
		return nil, err
	}
	virtual, err := findProviders(ctx, b.look, offers)
	if err != nil {
		return nil, err
	}
	var only []string
	for name, providers := range virtual {
		offers[name] = offer{providers: providers}
		if len(providers) == 1 {
			only = append(only, providers[0])
		}
	}
	more, err := policy(ctx, b.look, only)
	maps.Copy(offers, more)
	return offers, err
}

// findProviders asks apt who provides the names of which it has no version.
func findProviders(ctx context.Context, h host.Reader, offers map[string]offer) (map[string][]string, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(offers)) {
		if o := offers[name]; debianName(name) && o.candidate == "" && len(o.versions) == 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	res, err := aptCache(ctx, h, "showpkg", names)
	return parseProviders(string(res.Stdout)), err
}

// parseProviders reads the output of apt-cache showpkg: who provides a name, without
// what nobody provides.
func parseProviders(out string) map[string][]string {
	all := map[string][]string{}
	name, in := "", false
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if next, ok := strings.CutPrefix(line, "Package: "); ok {
			name, in = next, false
			continue
		}
		provider, _, _ := strings.Cut(line, " ")
		if in && debianName(provider) && !slices.Contains(all[name], provider) {
			all[name] = append(all[name], provider)
		}
		in = in || line == "Reverse Provides: "
	}
	for _, providers := range all {
		slices.Sort(providers)
	}
	return all
}
