package text_test

import (
	"net/netip"
	"testing"

	"github.com/fettle-dev/fettle/internal/text"
)

func TestListNamesAtMostFive(t *testing.T) {
	type name string
	for want, got := range map[string]string{
		"":                         text.List([]string{}),
		"a":                        text.List([]name{"a"}),
		"a, b, c, d, e":            text.List([]string{"a", "b", "c", "d", "e"}),
		"a, b, c, d, e and 2 more": text.List([]string{"a", "b", "c", "d", "e", "f", "g"}),
		"::1":                      text.List([]netip.Addr{netip.IPv6Loopback()}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestListOfCountsOmittedItems(t *testing.T) {
	for want, got := range map[string]string{
		"a":                        text.ListOf(1, []string{"a"}),
		"a and 2 more":             text.ListOf(3, []string{"a"}),
		"a, b and 1 more":          text.ListOf(3, []string{"a", "b"}),
		"a, b, c, d, e and 4 more": text.ListOf(9, []string{"a", "b", "c", "d", "e", "f"}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
