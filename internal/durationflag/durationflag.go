// Package durationflag is the value of flags for durations, which may have days and weeks: 7d, 2w, 1d12h, 1h30m.
package durationflag

import (
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Value is a flag.Value and a pflag.Value.
type Value time.Duration

// New sets a variable to its default and returns the flag that changes it.
func New(to *time.Duration, value time.Duration) *Value {
	*to = value
	return (*Value)(to)
}

// Set parses a duration.
func (v *Value) Set(text string) error {
	d, err := v1alpha1.ParseDuration(text)
	if err == nil {
		*v = Value(d)
	}
	return err
}

// String returns the duration in hours, minutes and seconds.
func (v *Value) String() string { return time.Duration(*v).String() }

// Type is what help calls such a value.
func (*Value) Type() string { return "duration" }
