package flags

import (
	"errors"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Until returns the time that a duration from now, or a time in RFC 3339, stands for. It must be in the future.
func Until(text string, now time.Time) (time.Time, error) {
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, err := v1alpha1.ParseDuration(text)
		if err != nil {
			return time.Time{}, errors.New("is neither a duration such as 2h or 7d nor a time such as 2026-01-02T15:04:05Z")
		}
		until = now.Add(d)
	}
	if !until.After(now) {
		return time.Time{}, errors.New("is not in the future")
	}
	return until.UTC().Truncate(time.Second), nil
}
