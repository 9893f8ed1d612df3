package user_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/providers/user"
)

// An accepted day reads back as it was written; otherwise no user could be in sync.
func FuzzExpiry(f *testing.F) {
	for _, expiry := range []string{"2027-03-01", "absent", "1970-01-01", "1969-12-31", "2024-02-30", "9999-12-31", "", "-1", "20000-01-01", "2027-3-1"} {
		f.Add(expiry)
	}
	f.Fuzz(func(t *testing.T, expiry string) {
		got, err := user.Expiry(expiry)
		if err == nil && got != expiry {
			t.Errorf("%q reads back as %q", expiry, got)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "expiry ") {
			t.Errorf("the error does not name the attribute: %v", err)
		}
	})
}
