package pkg

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/providers/package/debversion"
)

// An action is what apt-get is to do with a package.
type action string

// The actions.
const (
	install action = "install"
	remove  action = "remove"
	purge   action = "purge"
)

// An order is what one package needs.
type order struct {
	write   int    // its place in the batch
	name    string // as apt prints it
	action  action
	from    string // version before
	version string // to install; "" takes any
	pinned  bool   // apt-get is told the version, instead of choosing it
	source  string // the file to install; "" takes it from the index
	setting setting
}

// A setting is how apt-get is run. Orders that share one can share a transaction.
// Lists are joined, so that settings can be compared.
type setting struct {
	options, environment string
	replace              bool // changed configuration files are replaced by new ones
	reinstall            bool // what is there already is installed again
}

const listSeparator = "\x00"

func joined(list []string) string { return strings.Join(list, listSeparator) }

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, listSeparator)
}

// An unavailableError says that the index does not have what is asked for: a newer
// index may.
type unavailableError struct{ lack, remedy string }

func (e *unavailableError) Error() string { return e.lack + e.remedy }

// plan decides what a package, of which is is known and has can be had, needs: nil when
// it needs nothing.
func plan(want Attributes, name string, is record, has offer) (*order, error) {
	if ensureInSync(withLatest(is.attributes(name), has), want) {
		return nil, nil
	}
	o := &order{name: name, from: is.version}
	if !installing(want) {
		o.action = map[string]action{resource.Absent: remove, purged: purge}[ensureOf(want)]
		o.setting = settingOf(want, append(removal(is), want.UninstallOptions...))
		return o, nil
	}
	o.action, o.setting = install, settingOf(want, want.InstallOptions)
	o.setting.reinstall = is.damage() != nil // else apt-get takes the version that is half there for installed
	o.aim(ensureOf(want), has)
	return o, available(ensureOf(want), o, has)
}

// removal are the words that a removal needs: dpkg wants a package that is damaged installed
// again before it goes, which is no use to who wants it gone.
func removal(is record) []string {
	if is.damage() == nil {
		return nil
	}
	return []string{"-o", "DPkg::Options::=--force-remove-reinstreq"}
}

// aim finds the version to install. In a range it is the newest that can be had.
func (o *order) aim(ensure string, has offer) {
	switch {
	case has.source != "":
		o.version, o.pinned, o.source = has.candidate, true, has.source
	case debversion.IsRange(ensure):
		o.version, o.pinned = has.resolve(ensure), true
	case ensure == latest:
		o.version = has.candidate
	case ensure != resource.Present:
		o.version, o.pinned = ensure, true
	}
}

func withLatest(is Attributes, has offer) Attributes {
	is.found.latest = has.candidate
	return is
}

func settingOf(want Attributes, options []string) setting {
	return setting{
		options:     joined(options),
		environment: joined(want.Environment),
		replace:     want.ConfigFiles != nil && *want.ConfigFiles == replace,
	}
}

// available says what apt-get would not find, or would take for an expression or a
// flag: it is only ever given names that are in the index.
func available(ensure string, o *order, has offer) error {
	switch {
	case !debianName(o.name):
		return fmt.Errorf("name %q is not a Debian package's: use letters, digits and +-. and perhaps :architecture", o.name)
	case o.pinned && !slices.Contains(has.versions, o.version) && len(has.versions) > 0:
		return &unavailableError{
			lack:   fmt.Sprintf("version %q of package %q is not in apt's index", ensure, o.name),
			remedy: fmt.Sprintf(", which has %s: ask for one of these, or add a source", text.List(has.versions)),
		}
	case has.candidate == "":
		return &unavailableError{
			lack:   fmt.Sprintf("package %q is not in apt's index", o.name),
			remedy: ": check its name, or add a source that has it",
		}
	}
	return nil
}

// debianName reports whether a name could be a package's, perhaps with an architecture.
func debianName(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._-]*(:[a-z0-9-]+)?$`).MatchString(name)
}

// A transaction is orders that go into one.
type transaction struct {
	setting setting
	orders  []order
}

// transactions puts together what can go together, in the order of the batch. What is
// reinstalled goes first: as long as a package is damaged whose file is not in the index,
// apt-get does nothing else.
func transactions(orders []order) []transaction {
	var all []transaction
	for _, o := range orders {
		i := slices.IndexFunc(all, func(t transaction) bool { return t.setting == o.setting })
		if i < 0 {
			i = len(all)
			all = append(all, transaction{setting: o.setting})
		}
		all[i].orders = append(all[i].orders, o)
	}
	slices.SortStableFunc(all, func(a, b transaction) int { return a.setting.turn() - b.setting.turn() })
	return all
}

func (s setting) turn() int {
	if s.reinstall {
		return 0
	}
	return 1
}

// halves is a transaction cut in two.
func (t transaction) halves() [2]transaction {
	middle := len(t.orders) / 2
	return [2]transaction{{t.setting, t.orders[:middle]}, {t.setting, t.orders[middle:]}}
}

// words are the ends of apt-get's command lines, one a command. What is installed and
// removed goes together, so that one package can take another's place. What is purged
// is removed with them, and purged after that: apt-get would purge all or none.
func (t transaction) words() [][]string {
	options, purges := split(t.setting.options), t.arguments(purge, "")
	var all [][]string
	switch {
	case t.has(install):
		words := slices.Concat(t.arguments(install, ""), t.arguments(remove, "-"), t.arguments(purge, "-"))
		all = append(all, slices.Concat([]string{"install"}, t.again(), t.downgrade(), options, words))
	case t.has(remove):
		words := slices.Concat(t.arguments(remove, ""), purges)
		all = append(all, slices.Concat([]string{"remove"}, options, words))
	}
	if len(purges) > 0 {
		all = append(all, slices.Concat([]string{"purge"}, options, purges))
	}
	return all
}

func (t transaction) has(a action) bool {
	return slices.ContainsFunc(t.orders, func(o order) bool { return o.action == a })
}

func (t transaction) again() []string {
	if t.setting.reinstall {
		return []string{"--reinstall"}
	}
	return nil
}

// downgrade allows it where somebody wants a certain version, and where the host's pins
// prefer an older one to what is there.
func (t transaction) downgrade() []string {
	older := func(o order) bool { return o.version != "" && debversion.Compare(o.version, o.from) < 0 }
	if slices.ContainsFunc(t.orders, func(o order) bool { return o.pinned || older(o) }) {
		return []string{"--allow-downgrades"}
	}
	return nil
}

// arguments name the packages of one action; apt-get takes what ends in - out of
// what it would install.
func (t transaction) arguments(a action, suffix string) []string {
	var all []string
	for _, o := range t.orders {
		if o.action == a {
			all = append(all, o.argument()+suffix)
		}
	}
	return all
}

func (o order) argument() string {
	switch {
	case o.source != "":
		return o.source
	case o.pinned:
		return o.name + "=" + o.version
	}
	return o.name
}

// done reports whether the order is carried out. What apt-get chose as the latest may
// be another version than the index promised, if it was told to look elsewhere.
func (o order) done(is record) bool {
	switch {
	case is.damage() != nil:
		return false
	case o.action == remove:
		return !is.installed() && !is.unfinished()
	case o.action == purge:
		return is.state == "not-installed"
	case o.pinned || is.version == o.from:
		return is.installed() && (o.version == "" || is.version == o.version)
	default:
		return is.installed()
	}
}
