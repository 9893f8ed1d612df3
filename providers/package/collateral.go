package pkg

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/providers/package/debversion"
)

// An alteration is what a transaction does to one package. A version of "" stands for a package
// that is not installed.
type alteration struct{ name, from, to string }

// alterations compares two moments of dpkg's database, sorted by name. It leaves out the packages
// that were asked for by name.
func alterations(before, after database, asked map[string]bool) []alteration {
	var all []alteration
	add := func(k key, from, to string) {
		name := after.canonical(k.name + ":" + k.arch)
		if from != to && !asked[name] {
			all = append(all, alteration{name, from, to})
		}
	}
	for k, is := range after.records {
		add(k, before.records[k].installedVersion(), is.installedVersion())
	}
	for k, was := range before.records {
		if _, still := after.records[k]; !still {
			add(k, was.installedVersion(), "")
		}
	}
	slices.SortFunc(all, func(a, b alteration) int { return cmp.Compare(a.name, b.name) })
	return all
}

// installedVersion is the version of which there are files, "" where there is none.
func (r record) installedVersion() string {
	if r.installed() || r.unfinished() {
		return r.version
	}
	return ""
}

// The lines of apt-get --simulate: "Inst tree [1.0] (2.0 Debian:12 [amd64])" and "Remv tree [1.0]",
// with "Purg" in place of the latter when the configuration goes, too.
var simulated = regexp.MustCompile(`(?m)^(Inst|Remv|Purg) (\S+)(?: \[([^\]]+)\])?(?: \((\S+))?`)

// parseSimulation reads what apt-get would do, in its order, without the packages that were asked for.
func parseSimulation(out string, asked map[string]bool) []alteration {
	var all []alteration
	for _, m := range simulated.FindAllStringSubmatch(out, -1) {
		if !asked[m[2]] {
			all = append(all, alteration{name: m[2], from: m[3], to: m[4]})
		}
	}
	return all
}

// collateral describes what a transaction does to other packages than it was asked to: a line each
// for those that it removes, upgrades, downgrades and installs. It is "" where there are none.
func collateral(verb string, t transaction, all []alteration) string {
	var removed, upgraded, downgraded, installed []string
	for _, a := range all {
		switch {
		case a.to == "":
			removed = append(removed, a.name+" "+a.from)
		case a.from == "":
			installed = append(installed, a.name+" "+a.to)
		case debversion.Compare(a.from, a.to) < 0:
			upgraded = append(upgraded, fmt.Sprintf("%s %s to %s", a.name, a.from, a.to))
		default:
			downgraded = append(downgraded, fmt.Sprintf("%s %s to %s", a.name, a.from, a.to))
		}
	}
	var text strings.Builder
	for _, kind := range []struct {
		what  string
		names []string
	}{{"removed", removed}, {"upgraded", upgraded}, {"downgraded", downgraded}, {"installed", installed}} {
		if len(kind.names) > 0 {
			fmt.Fprintf(&text, "%s with %s: %s\n", verb+kind.what, t.summary(), strings.Join(kind.names, ", "))
		}
	}
	return text.String()
}

// asked are the packages that a transaction names.
func (t transaction) asked() map[string]bool {
	all := map[string]bool{}
	for _, o := range t.orders {
		all[o.name] = true
	}
	return all
}

// summary names the first packages of a transaction.
func (t transaction) summary() string {
	var names []string
	for _, o := range t.orders {
		names = append(names, o.name)
	}
	return text.List(names)
}
