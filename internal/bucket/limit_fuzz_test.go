package bucket_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/bucket"
)

// A parsed limit is a number of bytes that parses to itself, and only 0 means no limit.
func FuzzParseLimit(f *testing.F) {
	for _, text := range []string{"500Mi", "0", "-1", "1e3", "0.5", "1e30", "9223372036854775807", "9223372036854775808", "1Ei", "100Ei", "", " 1", "-0", "1n", "E55555555"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := bucket.ParseLimit(text)
		if err != nil {
			return
		}
		if again, err := bucket.ParseLimit(strconv.FormatInt(n, 10)); err != nil || again != n || n < 0 {
			t.Errorf("%q is %d, and that is %d, %v", text, n, again, err)
		}
		if digits, _, _ := strings.Cut(strings.ToLower(text), "e"); n == 0 && strings.ContainsAny(digits, "123456789") {
			t.Errorf("%q is 0, which keeps all", text)
		}
	})
}
