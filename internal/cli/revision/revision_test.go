package revision_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/revision"
)

func entry(kind, name, attributes string) v1alpha1.CatalogEntry {
	return v1alpha1.CatalogEntry{Kind: kind, Name: name, Attributes: &runtime.RawExtension{Raw: []byte(attributes)}}
}

// content is a revision with one targeting.
func content(role, when string, entries ...v1alpha1.CatalogEntry) revision.Content {
	selector := &metav1.LabelSelector{}
	if role != "" {
		selector.MatchLabels = map[string]string{"role": role}
	}
	targets := []v1alpha1.RevisionTarget{{NodeSelector: selector, When: when, Catalogs: []v1alpha1.CatalogRef{{Name: "a"}}}}
	return revision.Of(targets, func(string) []v1alpha1.CatalogEntry { return entries })
}

func withheld(ref v1alpha1.ResourceRef) revision.Content {
	fault := v1alpha1.RevisionFault{Withheld: v1alpha1.Withheld{Ref: ref, Reason: "InvalidSpec", Message: "mode is wrong"}}
	return revision.Of([]v1alpha1.RevisionTarget{{NodeSelector: &metav1.LabelSelector{}, Faulty: []v1alpha1.RevisionFault{fault}}}, nil)
}

func TestRevisionsAreCompared(t *testing.T) {
	t.Parallel()

	motd := entry("File", "motd", `{"content":"hello\nworld\n","path":"/etc/motd"}`)
	const head = "--- File/motd (r1)\n+++ File/motd (r2)\n"
	for name, c := range map[string]struct {
		was, is revision.Content
		action  reports.Action
		diff    string
	}{
		"the same revision": {content("", "", motd), content("", "", motd), "", ""},
		"an attribute": {
			content("", "", motd), content("", "", entry("File", "motd", `{"content":"hello\nmoon\n","path":"/etc/motd"}`)), reports.ActionChange,
			head + "@@ -1,6 +1,6 @@\n attributes:\n   content: |\n     hello\n-    world\n+    moon\n   path: /etc/motd\n nodeSelector: {}\n",
		},
		"the order of attributes": {content("", "", motd), content("", "", entry("File", "motd", `{"path":"/etc/motd","content":"hello\nworld\n"}`)), "", ""},
		"the nodes": {
			content("", "", entry("File", "motd", `{}`)), content("web", "true", entry("File", "motd", `{}`)), reports.ActionChange,
			head + "@@ -1,2 +1,5 @@\n attributes: {}\n-nodeSelector: {}\n+nodeSelector:\n+  matchLabels:\n+    role: web\n+when: \"true\"\n",
		},
		"a new resource": {
			nil, content("", "", entry("File", "motd", `{}`)), reports.ActionAdd,
			head + "@@ -0,0 +1,2 @@\n+attributes: {}\n+nodeSelector: {}\n",
		},
		"a resource that is gone": {
			content("", "", entry("File", "motd", `{}`)), nil, reports.ActionRemove,
			head + "@@ -1,2 +0,0 @@\n-attributes: {}\n-nodeSelector: {}\n",
		},
		"a resource at fault": {
			content("", "", entry("File", "motd", `{}`)), withheld("File/motd"), reports.ActionWithhold,
			head + "@@ -1,2 +1,2 @@\n-attributes: {}\n nodeSelector: {}\n+withheld: 'InvalidSpec: mode is wrong'\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			want := []revision.Change{}
			if c.action != "" {
				want = append(want, revision.Change{Ref: "File/motd", Action: c.action, Diff: c.diff})
			}
			got := revision.Compare(revision.Version{Name: "r1", Content: c.was}, revision.Version{Name: "r2", Content: c.is}, nil)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestComparisonShowsNoSecret(t *testing.T) {
	t.Parallel()

	const old, now = "$6$OLDSECRET", "$6$NEWSECRET"
	user := func(password string) v1alpha1.CatalogEntry {
		return entry("User", "ann", `{"name":"ann","password":"`+password+`"}`)
	}
	token := func(value string) v1alpha1.CatalogEntry {
		return entry("Account", "ann", `{"properties":{"owner":"ann","token":"`+value+`"}}`)
	}
	compare := func(was, is revision.Content) []revision.Change {
		return revision.Compare(revision.Version{Name: "r1", Content: was}, revision.Version{Name: "r2", Content: is}, revision.Secrets{"Account": {"token"}})
	}
	for name, changes := range map[string][]revision.Change{
		"changed":       compare(content("", "", user(old), token(old)), content("", "", user(now), token(now))),
		"added":         compare(nil, content("", "", user(now), token(now))),
		"removed":       compare(content("", "", user(old), token(old)), nil),
		"changed nodes": compare(content("", "", user(old), token(old)), content("web", "", user(old), token(old))),
	} {
		if len(changes) != 2 {
			t.Errorf("%s: %d changes", name, len(changes))
		}
		for _, c := range changes {
			if strings.Contains(c.Diff, "SECRET") || !strings.Contains(c.Diff, "[redacted]") {
				t.Errorf("%s: %s", name, c.Diff)
			}
			if another := strings.Contains(c.Diff, "another value"); another != (name == "changed") {
				t.Errorf("%s: %s", name, c.Diff)
			}
		}
	}
}

func TestRevisionIsFoundByTheBeginningOfItsHash(t *testing.T) {
	t.Parallel()

	first, second := "sha256-"+strings.Repeat("0a", 32), "sha256-0b"+strings.Repeat("0", 62)
	for word, want := range map[string]string{
		first:         first,
		"0a":          first,
		"0B":          second,
		"sha256-0b00": second,
		"0":           `"0" is the beginning of ` + first + ", " + second + ": write more of it",
		"ff":          `no CatalogRevision begins with "ff": see kubectl get catalogrevisions`,
		"":            `"" is not a CatalogRevision: write its name, or the beginning of the hash in it`,
		"sha256-":     `"sha256-" is not a CatalogRevision: write its name, or the beginning of the hash in it`,
		"latest":      `"latest" is not a CatalogRevision: write its name, or the beginning of the hash in it`,
	} {
		got, err := revision.Find(word, []string{first, second, first})
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
