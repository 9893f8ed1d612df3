package dsc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Names of canonical properties, which mean the same for all resources.
const (
	Exist          = "_exist"
	InDesiredState = "_inDesiredState"
	Purge          = "_purge"
)

// Canonical has the canonical properties of a state.
type Canonical struct {
	Exist          bool  // true if it is missing
	InDesiredState *bool // nil if it is missing
	// Restart is what has to be restarted: "the system", "the service x".
	Restart []string
}

// Canonical returns the canonical properties of a state. Texts such as "false" count as booleans in _exist, because a
// resource that is shipped with DSC prints them. Everything else that is not as it should be is an error.
func (s State) Canonical() (c Canonical, err error) {
	exist, err := boolean(s, Exist)
	if err != nil {
		return c, err
	}
	c.Exist = exist == nil || *exist
	if c.InDesiredState, err = boolean(s, InDesiredState); err != nil {
		return c, err
	}
	c.Restart, err = restart(s["_restartRequired"])
	return c, err
}

// IsCanonical reports whether a property means the same for all resources.
func IsCanonical(name string) bool { return strings.HasPrefix(name, "_") }

// boolean returns a property that is true or false; nil if it is missing.
func boolean(s State, name string) (*bool, error) {
	switch v := s[name].(type) {
	case nil:
		return nil, nil
	case bool:
		return &v, nil
	case string:
		if strings.EqualFold(v, "true") || strings.EqualFold(v, "false") {
			return new(strings.EqualFold(v, "true")), nil
		}
	}
	return nil, fmt.Errorf("%s is neither true nor false", name)
}

// restart returns what has to be restarted.
func restart(value any) ([]string, error) {
	if value == nil {
		return nil, nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var list []struct {
		System  string
		Service string
		Process *struct {
			Name string
			ID   json.Number
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("_restartRequired is not a list of system, service and process")
	}
	var all []string
	for _, r := range list {
		switch {
		case r.Service != "":
			all = append(all, "the service "+r.Service)
		case r.Process != nil:
			all = append(all, strings.TrimSuffix(fmt.Sprintf("the process %s (%s)", r.Process.Name, r.Process.ID), " ()"))
		default:
			all = append(all, "the system")
		}
	}
	return slices.Compact(all), nil
}
