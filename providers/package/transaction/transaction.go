// Package transaction groups orders for packages into runs of apt-get, and describes the effects of
// such a run on other packages. It runs nothing itself.
package transaction

import (
	"slices"

	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/debversion"
)

// A Transaction has orders that are carried out together.
type Transaction struct {
	Settings apt.Settings
	Orders   []Order
}

// Group makes transactions of the orders with the same settings, in the order of the batch. Packages
// to reinstall come first: apt-get does nothing else while a package is damaged whose file is
// not in the index.
func Group(orders []Order) []Transaction {
	var all []Transaction
	for _, o := range orders {
		i := slices.IndexFunc(all, func(t Transaction) bool { return t.Settings == o.Settings })
		if i < 0 {
			i = len(all)
			all = append(all, Transaction{Settings: o.Settings})
		}
		all[i].Orders = append(all[i].Orders, o)
	}
	reinstalls := func(t Transaction) int {
		if t.Settings.Reinstall {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b Transaction) int { return reinstalls(a) - reinstalls(b) })
	return all
}

// Halves cuts a transaction in two.
func (t Transaction) Halves() [2]Transaction {
	middle := len(t.Orders) / 2
	return [2]Transaction{{t.Settings, t.Orders[:middle]}, {t.Settings, t.Orders[middle:]}}
}

// Commands returns the ends of apt-get's command lines, in order. Packages are installed and
// removed by the same command, so that one can replace another. Those to be purged are removed by
// it too, and purged by the next one: apt-get would purge all or none.
func (t Transaction) Commands() [][]string {
	options, purges := t.Settings.Options(), t.arguments(Purge, "")
	var all [][]string
	switch {
	case t.Has(Install):
		args := slices.Concat(t.arguments(Install, ""), t.arguments(Remove, "-"), t.arguments(Purge, "-"))
		all = append(all, slices.Concat([]string{"install"}, t.reinstall(), t.downgrade(), options, args))
	case t.Has(Remove):
		args := slices.Concat(t.arguments(Remove, ""), purges)
		all = append(all, slices.Concat([]string{"remove"}, options, args))
	}
	if len(purges) > 0 {
		all = append(all, slices.Concat([]string{"purge"}, options, purges))
	}
	return all
}

// Has reports whether a transaction has an order of this action.
func (t Transaction) Has(a Action) bool {
	return slices.ContainsFunc(t.Orders, func(o Order) bool { return o.Action == a })
}

func (t Transaction) reinstall() []string {
	if t.Settings.Reinstall {
		return []string{"--reinstall"}
	}
	return nil
}

// downgrade allows downgrades if a resource requests a version, or if the host's pins prefer an older
// version to the installed one.
func (t Transaction) downgrade() []string {
	older := func(o Order) bool { return o.Version != "" && debversion.Compare(o.Version, o.From) < 0 }
	if slices.ContainsFunc(t.Orders, func(o Order) bool { return o.Pinned || older(o) }) {
		return []string{"--allow-downgrades"}
	}
	return nil
}

// arguments returns the packages of one action as arguments. apt-get install removes those that end in -.
func (t Transaction) arguments(a Action, suffix string) []string {
	var all []string
	for _, o := range t.Orders {
		if o.Action == a {
			all = append(all, o.argument()+suffix)
		}
	}
	return all
}

// names returns the names of the packages of a transaction.
func (t Transaction) names() map[string]bool {
	all := map[string]bool{}
	for _, o := range t.Orders {
		all[o.Name] = true
	}
	return all
}

// summary returns the names of the first packages of a transaction.
func (t Transaction) summary() string {
	var names []string
	for _, o := range t.Orders {
		names = append(names, o.Name)
	}
	return text.List(names)
}
