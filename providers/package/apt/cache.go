package apt

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
)

var debianName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._-]*(:[a-z0-9-]+)?$`)

// IsName reports whether a name could be a Debian package's, perhaps with an architecture. Apt
// interprets other names as expressions or options.
func IsName(name string) bool { return debianName.MatchString(name) }

// An Offer has the versions of a package in apt's index. It is zero for an unknown package.
type Offer struct {
	Candidate string   // the version that apt would install now, "" for none
	Versions  []string // all that are available or installed
	Providers []string // of a virtual package
}

// Policy asks apt for its offers of packages. It skips names that no package has.
func Policy(ctx context.Context, h host.Reader, names []string) (map[string]Offer, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !IsName(name) })
	if len(names) == 0 {
		return nil, nil
	}
	res, err := query(ctx, h, "policy", names)
	return ParsePolicy(string(res.Stdout)), err
}

// Offers is Policy, but it also finds the providers of virtual packages, and asks for the offer
// of a provider that is the only one.
func Offers(ctx context.Context, h host.Reader, names []string) (map[string]Offer, error) {
	offers, err := Policy(ctx, h, names)
	if err != nil {
		return nil, err
	}
	virtual, err := findProviders(ctx, h, offers)
	if err != nil {
		return nil, err
	}
	var only []string
	for name, providers := range virtual {
		offers[name] = Offer{Providers: providers}
		if len(providers) == 1 {
			only = append(only, providers[0])
		}
	}
	more, err := Policy(ctx, h, only)
	maps.Copy(offers, more)
	return offers, err
}

// findProviders queries the providers of the names that have no version.
func findProviders(ctx context.Context, h host.Reader, offers map[string]Offer) (map[string][]string, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(offers)) {
		if o := offers[name]; IsName(name) && o.Candidate == "" && len(o.Versions) == 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	res, err := query(ctx, h, "showpkg", names)
	return ParseProviders(string(res.Stdout)), err
}

// query runs apt-cache. It prevents apt from writing its cache, which would take some tenths of a
// second and break the promise of a Query.
func query(ctx context.Context, h host.Reader, command string, names []string) (host.Result, error) {
	res, err := Ask(ctx, h, host.Cmd{
		Args:      append([]string{"apt-cache", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", command, "--"}, names...),
		MaxOutput: 16 << 20, Show: host.Output,
	})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("cannot run apt-cache %s: %w", command, Failure(res, nil))
	}
	return res, err
}

// Ask is [host.Reader.Query] for apt's programs. They fail if somebody changes the database or the
// index while they read it ("Cache is out of sync"), so Ask repeats those that failed meanwhile.
func Ask(ctx context.Context, h host.Reader, cmd host.Cmd) (host.Result, error) {
	const tries = 10
	for range tries - 1 {
		before := inputs(h)
		res, err := h.Query(ctx, cmd)
		if err != nil || res.ExitCode == 0 || before == inputs(h) {
			return res, err
		}
	}
	return h.Query(ctx, cmd)
}

// inputs returns when the database and the index last changed; zero for one that does not exist.
func inputs(h host.Reader) (changed [2]time.Time) {
	for i, name := range []string{dpkg.StatusFile, listsDir} {
		if info, err := h.Stat(name); err == nil {
			changed[i] = info.ModTime
		}
	}
	return changed
}

// ParsePolicy reads the output of apt-cache policy: offers by name. Apt treats names as
// expressions, so there may be more than requested.
func ParsePolicy(out string) map[string]Offer {
	offers := map[string]Offer{}
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
		case line[0] != ' ':
			name = strings.TrimSuffix(line, ":")
			offers[name] = Offer{}
		default:
			offers[name] = offers[name].with(line)
		}
	}
	delete(offers, "")
	return offers
}

// with adds an indented line.
func (o Offer) with(line string) Offer {
	if candidate, ok := strings.CutPrefix(line, "  Candidate: "); ok && candidate != "(none)" {
		o.Candidate = candidate
	}
	if version, ok := versionLine(line); ok {
		o.Versions = append(o.Versions, version)
	}
	return o
}

// versionLine reads a line of the version table that begins a version; the lines below it name
// the sources of the version.
func versionLine(line string) (string, bool) {
	const mark = len(" *** ")
	if len(line) <= mark || line[mark] == ' ' || line[:mark] != " *** " && line[:mark] != "     " {
		return "", false
	}
	version, _, _ := strings.Cut(line[mark:], " ")
	return version, true
}

// ParseProviders reads the output of apt-cache showpkg: the providers of each name that has any,
// sorted.
func ParseProviders(out string) map[string][]string {
	all := map[string][]string{}
	name, in := "", false
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if next, ok := strings.CutPrefix(line, "Package: "); ok {
			name, in = next, false
			continue
		}
		provider, _, _ := strings.Cut(line, " ")
		if in && IsName(provider) && !slices.Contains(all[name], provider) {
			all[name] = append(all[name], provider)
		}
		in = in || line == "Reverse Provides: "
	}
	for _, providers := range all {
		slices.Sort(providers)
	}
	return all
}
