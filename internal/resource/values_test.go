package resource_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
)

func TestFactsAreFoundByDottedName(t *testing.T) {
	facts := resource.Facts{
		"os":     map[string]any{"family": "Debian", "release": map[string]any{"major": "12"}},
		"cpus":   float64(8),
		"docker": nil,
		"empty":  "",
	}
	tests := map[string]struct {
		name string
		text string
		ok   bool
	}{
		"at the top":             {"cpus", "8", true},
		"below":                  {"os.release.major", "12", true},
		"without a value":        {"docker", "", true},
		"missing":                {"os.release.minor", "", false},
		"below what has nothing": {"cpus.count", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, ok := facts.Get(test.name)
			if text := facts.String(test.name); ok != test.ok || text != test.text {
				t.Errorf("%s is %q (%t), want %q (%t)", test.name, text, ok, test.text, test.ok)
			}
		})
	}
	if _, ok := resource.Facts(nil).Get("os"); ok {
		t.Error("no facts have one")
	}
}

func TestRefsAreParsedAndOrdered(t *testing.T) {
	for _, bad := range []string{"", "File", "/motd", "File/"} {
		if ref, err := resource.ParseRef(bad); err == nil {
			t.Errorf("%q is read as %v", bad, ref)
		}
	}
	var refs []resource.Ref
	for _, s := range []string{"User/ann", "File/motd", "File/etc/hosts"} {
		ref, err := resource.ParseRef(s)
		must(t, err)
		if ref.String() != s {
			t.Errorf("%q becomes %q", s, ref)
		}
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, resource.Ref.Compare)
	want := []resource.Ref{{Kind: "File", Name: "etc/hosts"}, {Kind: "File", Name: "motd"}, {Kind: "User", Name: "ann"}}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestMembersAreSortedAndUnique(t *testing.T) {
	is, want := []string{"c", "a"}, []string{"b", "a", "b"}
	if diff := cmp.Diff([]string{"a", "b"}, resource.Members(is, want, false)); diff != "" {
		t.Errorf("wanted alone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, resource.Members(is, want, true)); diff != "" {
		t.Errorf("with those there (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "a", "b"}, want); diff != "" {
		t.Errorf("the argument changed (-want +got):\n%s", diff)
	}
}
