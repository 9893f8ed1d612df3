package resource

import "github.com/fettle-dev/fettle/internal/resource/schedule"

// An Item is one resource of a catalog, as input of the engine. The order of items is the catalog's
// order.
type Item struct {
	Ref Ref
	// Resource is bound to its type. It is nil if it can't be bound; Invalid is then the reason.
	Resource Resource
	// Invalid fails the resource without touching the host, such as for invalid attributes or an
	// unknown kind.
	Invalid error
	// Location is where it manages something if it can't be bound; "" if that is unknown: see [Type].Location.
	Location string
	// Noop is the resource's own noop; nil inherits the run's.
	Noop *bool
	// Provider is the provider that the resource asks for; "" selects the host's default.
	Provider string
	// Audit means that the resource has audited properties; see [Resource.Audit].
	Audit bool
	// Schedule limits when the resource may be managed; nil means any time.
	Schedule *schedule.Schedule
	// Deletion says what happens to the object once no item manages it.
	Deletion DeletionPolicy
	// Deletes is the object that the item deletes or restores because no resource manages it any
	// more; nil for an item of a catalog.
	Deletes *Ref
	// Postponed is why the item must not be handled now, or nil.
	Postponed error
	// LogLevel is the level of its events; "" means notice.
	LogLevel LogLevel
	// Require, Before, Notify and Subscribe are the edges that a user wrote. An edge to a missing
	// resource fails this resource.
	Require, Before, Notify, Subscribe []Ref
}

// Object returns the object on the host that the item manages: its kind and canonical name, regardless
// of the resource's name. For an item that is not bound it returns [UnboundObject].
func (i Item) Object() Ref {
	if i.Resource == nil {
		return UnboundObject(i.Ref)
	}
	return Ref{i.Ref.Kind, i.Resource.CanonicalName()}
}

// UnboundObject stands for the unknown object of a resource that is not bound. It differs from every
// other object.
func UnboundObject(ref Ref) Ref { return Ref{ref.Kind, MetadataName + "=" + ref.Name} }

// A LogLevel is the severity of an event, as in syslog. "" means notice.
type LogLevel string

// The log levels that Fettle distinguishes. The others are errors of other severities.
const (
	LevelDebug   LogLevel = "debug"
	LevelInfo    LogLevel = "info"
	LevelNotice  LogLevel = "notice"
	LevelWarning LogLevel = "warning"
	LevelErr     LogLevel = "err"
)
