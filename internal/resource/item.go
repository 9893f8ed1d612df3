package resource

import "github.com/fettle-dev/fettle/internal/resource/schedule"

// An Item is one resource of a catalog as the engine takes it. Its place in the
// list of items is its place in the catalog's order.
type Item struct {
	Ref Ref
	// Resource is bound to its type; nil where Invalid says why it can't be.
	Resource Resource
	// Invalid fails the resource without touching the host: attributes that its
	// type refuses, a kind that this program does not know.
	Invalid error
	// Noop as the resource says; nil takes the run's.
	Noop *bool
	// Provider as the resource says; "" takes the host's default.
	Provider string
	// Audit says that the resource has properties to audit; see [Resource.Audit].
	Audit bool
	// Schedule limits when it may be looked at; nil is any time.
	Schedule *schedule.Schedule
	// Deletion is what happens to the thing once no item is about it.
	Deletion Deletion
	// Deletes is the thing that the item removes or restores because no resource manages it any
	// more; nil for an item of a catalog.
	Deletes *Ref
	// Postponed says why nothing is to be done now.
	Postponed error
	// LogLevel of its events; "" is notice.
	LogLevel LogLevel
	// The edges that a user wrote. One that leads to nothing fails the resource.
	Require, Before, Notify, Subscribe []Ref
}

// Thing is what the item is about on the host: its kind and namevar, whatever the resource
// is called. Of one that is not bound nothing is known but its own name: see [UnboundThing].
func (i Item) Thing() Ref {
	if i.Resource == nil {
		return UnboundThing(i.Ref)
	}
	return Ref{i.Ref.Kind, i.Resource.Namevar()}
}

// UnboundThing stands for the thing of a resource of which it is not known what it is about.
// It is no other thing's.
func UnboundThing(ref Ref) Ref { return Ref{ref.Kind, MetadataName + "=" + ref.Name} }

// A LogLevel is the severity of an event, as in syslog. "" means notice.
type LogLevel string

// The log levels that are distinguished from the rest: the others are errors, more or less.
const (
	LevelDebug   LogLevel = "debug"
	LevelInfo    LogLevel = "info"
	LevelNotice  LogLevel = "notice"
	LevelWarning LogLevel = "warning"
	LevelErr     LogLevel = "err"
)
