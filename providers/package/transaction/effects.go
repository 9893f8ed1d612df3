package transaction

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/debversion"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
)

// Simulation simulates the first command, which has all packages of the transaction. It needs no
// lock, and writes neither apt's cache nor its planner's log. It has nothing from an author but names, versions, the path of a
// source and safe options: others, and variables, have apt-get run programs as root, or do what it should only simulate. ok
// is false if there are such options.
func (t Transaction) Simulation(db dpkg.Database) (cmd host.Cmd, ok bool) {
	if !areSafe(t.Settings.Options()) {
		return cmd, false
	}
	args := []string{"apt-get", "--simulate", "-q", "-y", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "-o", "Dir::Log::Planner=/dev/null"}
	if slices.ContainsFunc(t.Orders, func(o Order) bool { return db.Find(o.Name).Held() }) {
		args = append(args, "--allow-change-held-packages") // an apply releases them first
	}
	return host.Cmd{
		Args: append(args, t.Commands()[0]...), Env: apt.Settings{}.FullEnvironment(), MaxOutput: 16 << 20, Show: host.Output,
	}, true
}

// safe are the options of apt-get that a simulation understands: which packages it chooses, and in which versions.
var safe = regexp.MustCompile(`^(` +
	`--(no-)?install-(recommends|suggests)|--allow-(downgrades|change-held-packages|unauthenticated|remove-essential)|` +
	`--(no-remove|no-upgrade|only-upgrade|auto-remove|autoremove)|` +
	`(-t|--target-release=|--default-release=)[A-Za-z0-9][A-Za-z0-9.,=+~_-]*` +
	`)$`)

// areSafe reports whether a simulation may have all of these options.
func areSafe(options []string) bool {
	for i := 0; i < len(options); i++ {
		option := options[i]
		if option == "-t" && i+1 < len(options) {
			i++
			option += options[i]
		}
		if !safe.MatchString(option) {
			return false
		}
	}
	return true
}

// The lines of apt-get --simulate: "Inst tree [1.0] (2.0 Debian:12 [amd64])" and "Remv tree [1.0]",
// with Purg instead of Remv if the configuration is removed too.
var simulated = regexp.MustCompile(`(?m)^(Inst|Remv|Purg) (\S+)(?: \[([^\]]+)\])?(?: \((\S+))?`)

// Simulated reads the output of the simulation.
func Simulated(out string) []dpkg.Change {
	var all []dpkg.Change
	for _, m := range simulated.FindAllStringSubmatch(out, -1) {
		all = append(all, dpkg.Change{Name: m[2], From: m[3], To: m[4]})
	}
	return all
}

// SideEffects describes changes to packages outside of the transaction: a line each for
// those that it removes, upgrades, downgrades and installs. verb begins each line, as in "also ".
// It is "" if there are none.
func (t Transaction) SideEffects(verb string, changes []dpkg.Change) string {
	var removed, upgraded, downgraded, installed []string
	names := t.names()
	for _, c := range changes {
		switch {
		case names[c.Name]:
		case c.To == "":
			removed = append(removed, c.Name+" "+c.From)
		case c.From == "":
			installed = append(installed, c.Name+" "+c.To)
		case debversion.Compare(c.From, c.To) < 0:
			upgraded = append(upgraded, fmt.Sprintf("%s %s to %s", c.Name, c.From, c.To))
		default:
			downgraded = append(downgraded, fmt.Sprintf("%s %s to %s", c.Name, c.From, c.To))
		}
	}
	var text strings.Builder
	for _, kind := range []struct {
		done  string
		names []string
	}{{"removed", removed}, {"upgraded", upgraded}, {"downgraded", downgraded}, {"installed", installed}} {
		if len(kind.names) > 0 {
			fmt.Fprintf(&text, "%s with %s: %s\n", verb+kind.done, t.summary(), strings.Join(kind.names, ", "))
		}
	}
	return text.String()
}
