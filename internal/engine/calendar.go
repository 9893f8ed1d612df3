package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// localTime is the file with the time zone of a host.
const localTime = "/etc/localtime"

// A calendar tells the time of a host.
type calendar struct {
	host host.Reader
	now  func() time.Time
	zone *time.Location // nil until it is known
}

// localNow returns the time in the time zone of the host, which is read once; UTC if it has none.
func (c *calendar) localNow() (time.Time, error) {
	if c.zone == nil {
		zone, err := timeZone(c.host)
		if err != nil {
			return time.Time{}, err
		}
		c.zone = zone
	}
	return c.now().In(c.zone), nil
}

func timeZone(h host.Reader) (*time.Location, error) {
	rules, err := h.ReadFile(localTime)
	if errors.Is(err, fs.ErrNotExist) {
		return time.UTC, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the host's time zone: %w", err)
	}
	zone, err := time.LoadLocationFromTZData(localTime, rules)
	if err != nil {
		return nil, fmt.Errorf("cannot read the host's time zone from %s: %w", localTime, err)
	}
	return zone, nil
}
