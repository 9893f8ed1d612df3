// Package claims decides what happens to objects that no resource manages any more.
package claims

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// A Ledger holds the claims of a host, by kind and canonical name.
type Ledger interface {
	// Claims returns all claims. Do not modify them.
	Claims() map[resource.Ref]claim.Claim
	// SetClaim adds or replaces one.
	SetClaim(c claim.Claim)
	// DropClaim removes one.
	DropClaim(key resource.Ref)
}

// A Catalog is what the claims of a host are compared with.
type Catalog struct {
	// OwnerUID identifies the object that the catalog comes from. Claims of another owner are left
	// alone. "" is for items that are not a whole catalog: nothing is ever missing from those.
	OwnerUID string
	Items    []resource.Item
	// Withheld are resources of the host that are not among the items. Which objects they manage is not certain.
	Withheld []resource.Withheld
	Kinds    []resource.Kind
	Noop     bool
}

// UpdatePolicies records the items' current deletion policies and schedules in the claims on their
// objects, whether the items have a turn in this run or not. The policy of an item in noop is Orphan.
func (c Catalog) UpdatePolicies(ledger Ledger) {
	if c.OwnerUID == "" {
		return
	}
	unbound := map[resource.Ref]resource.Item{}
	for _, item := range c.Items {
		if item.Resource == nil {
			unbound[item.Ref] = item
		} else if claimed, ok := ledger.Claims()[item.Object()]; ok {
			updatePolicy(ledger, claimed, item)
		}
	}
	for _, claimed := range ledger.Claims() {
		if item, ok := unbound[claimed.Ref]; ok {
			updatePolicy(ledger, claimed, item)
		}
	}
}

func updatePolicy(ledger Ledger, c claim.Claim, item resource.Item) {
	policy := item.Deletion
	if item.Noop != nil && *item.Noop {
		policy = resource.Orphan
	}
	when := c.Schedule
	if item.Resource != nil { // otherwise its schedule may be unknown
		when = item.Schedule
	}
	if c.Deletion != policy || !reflect.DeepEqual(c.Schedule, when) {
		c.Deletion, c.Schedule = policy, when
		ledger.SetClaim(c)
	}
}

// Deletions returns an item for each claimed object that no item manages any more. They belong after
// the catalog's own items, and among themselves in the reverse of the order that their resources had.
// Claims with nothing to do are dropped, unless the catalog is in noop.
func (c Catalog) Deletions(ledger Ledger) []resource.Item {
	claims := ledger.Claims()
	if c.OwnerUID == "" || len(claims) == 0 {
		return nil
	}
	known := c.inventory()
	var items []resource.Item
	var due []claim.Claim
	for _, key := range slices.Backward(slices.SortedFunc(maps.Keys(claims), resource.Ref.Compare)) {
		claimed := claims[key]
		switch {
		case known.managed[key] || known.uncertain[claimed.Ref] || claimed.OwnerUID != c.OwnerUID:
		case claimed.Idle() && !c.Noop:
			ledger.DropClaim(key)
		case !claimed.Idle():
			items, due = append(items, c.deletion(claimed, known)), append(due, claimed)
		}
	}
	orderInReverse(items, due)
	return items
}

// An inventory lists the objects that the resources of a host manage, as far as they are known.
type inventory struct {
	managed       map[resource.Ref]bool // objects, by kind and canonical name
	named         map[resource.Ref]bool // resources
	uncertain     map[resource.Ref]bool // resources whose object is unknown
	uncertainKind map[string]error      // why something of a kind may be managed by one of those
}

func (c Catalog) inventory() inventory {
	known := inventory{map[resource.Ref]bool{}, map[resource.Ref]bool{}, map[resource.Ref]bool{}, map[string]error{}}
	for _, item := range c.Items {
		known.named[item.Ref] = true
		switch {
		case item.Resource == nil:
			known.addUncertain(item.Ref, "while that is withheld or invalid: correct it first")
		case !item.Resource.IsNamed():
			known.addUncertain(item.Ref, "until its provider tells its canonical name")
		default:
			known.managed[item.Object()] = true
		}
	}
	for _, w := range c.Withheld {
		known.addUncertain(w.Ref, "while that is withheld or invalid: correct it first")
	}
	return known
}

func (i inventory) addUncertain(ref resource.Ref, why string) {
	i.uncertain[ref] = true
	i.uncertainKind[ref.Kind] = fmt.Errorf("its resource is gone, but %s may manage the same thing, which is unknown %s", ref, why)
}

// Unmanaged returns those of the deletions whose objects no item manages. Canonical names that only providers know may show that
// claims are on objects of items, stored under other names: those claims get the names of the objects.
func (c Catalog) Unmanaged(ledger Ledger, deletions []resource.Item) []resource.Item {
	if len(deletions) == 0 {
		return nil
	}
	known := c.inventory()
	return slices.DeleteFunc(deletions, func(i resource.Item) bool {
		if i.Resource == nil || !i.Resource.IsNamed() || !known.managed[i.Object()] {
			return false
		}
		Rename(ledger, *i.Deletes, i.Object())
		return true
	})
}

// Rename gives a claim the name of another object, which is the same. A claim on that has the precedence, but gets what this one
// restores.
func Rename(ledger Ledger, from, to resource.Ref) {
	c, known := ledger.Claims()[from]
	if !known {
		return
	}
	ledger.DropClaim(from)
	if current, ok := ledger.Claims()[to]; ok {
		current.AddRestore(c.Restore)
		c = current
	}
	c.Namevar = to.Name
	ledger.SetClaim(c)
}

// deletion returns the item that carries out a claim.
func (c Catalog) deletion(claimed claim.Claim, known inventory) resource.Item {
	item := resource.Item{Ref: claimed.Ref, Provider: claimed.Provider, Schedule: claimed.Schedule, Deletes: new(claimed.Key())}
	if known.named[claimed.Ref] { // the resource manages something else now
		item.Ref = resource.Ref{Kind: claimed.Kind, Name: claimed.Namevar}
	}
	if why := known.uncertainKind[claimed.Kind]; why != nil {
		item.Schedule = nil // it waits at any time
		item.Postponed = why
	}
	i := slices.IndexFunc(c.Kinds, func(k resource.Kind) bool { return k.Name() == claimed.Kind })
	if i < 0 {
		item.Invalid = fmt.Errorf("its resource is gone, and kind %q is not known to this version of Fettle", claimed.Kind)
		return item
	}
	attributes, err := claimed.Attributes()
	if err == nil {
		item.Resource, err = c.Kinds[i].BindDeletion(item.Ref, attributes)
	}
	if err != nil {
		item.Resource, item.Invalid = nil, fmt.Errorf("cannot read the claim on %s %q: %w", claimed.Kind, claimed.Namevar, err)
	}
	return item
}

// orderInReverse puts each item before those that its resource came after. Claims that were recorded
// at different times may contradict each other: then any order will do.
func orderInReverse(items []resource.Item, due []claim.Claim) {
	at := make(map[resource.Ref]int, len(due))
	for i, c := range due {
		at[c.Ref] = i
	}
	var edges []plan.Edge
	for i, c := range due {
		for _, ref := range c.After {
			if other, ok := at[ref]; ok && other != i {
				edges = append(edges, plan.Edge{From: i, To: other})
			}
		}
	}
	for _, e := range plan.Acyclic(len(items), edges) {
		items[e.From].Before = append(items[e.From].Before, items[e.To].Ref)
	}
}
