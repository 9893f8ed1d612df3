package notify_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/enginetest"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/exec"
	"github.com/fettle-dev/fettle/providers/notify"
)

func TestLaws(t *testing.T) {
	resourcetest.Define(t, notify.Type())
}

func TestEveryRunReportsTheMessage(t *testing.T) {
	tests := map[string]struct {
		noop      bool
		resources []string
		want      []string
	}{
		"reports its message": {
			resources: []string{`Notify/a {message: "The disk is full.\nAgain."}`},
			want:      []string{"Notify/a: message defined as The disk is full.\nAgain."},
		},
		"reports its name without a message": {
			resources: []string{`Notify/disk-is-full {}`},
			want:      []string{"Notify/disk-is-full: message defined as disk-is-full"},
		},
		"two with the same message are both reported": {
			resources: []string{`Notify/a {message: hello}`, `Notify/b {message: hello}`},
			want:      []string{"Notify/a: message defined as hello", "Notify/b: message defined as hello"},
		},
		"noop reports that it would be reported": {
			noop:      true,
			resources: []string{`Notify/a {message: hello}`},
			want:      []string{"Notify/a: message defined as hello (noop)"},
		},
		"a notified resource gets an event": {
			resources: []string{`Notify/a {message: hello, notify: [Exec/b]}`, `Exec/b {command: /bin/reload, refreshOnly: true}`},
			want:      []string{"Notify/a: message defined as hello", "Exec/b: refreshed by 1 event"},
		},
		"an event to it has no effect": {
			resources: []string{`Notify/a {message: hello, notify: [Notify/b]}`, `Notify/b {}`},
			want:      []string{"Notify/a: message defined as hello", "Notify/b: message defined as b"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := hosttest.New(t)
			h.Handle("/bin/reload", func(host.Cmd) host.Result { return host.Result{} })
			m := enginetest.Machine{Host: h, Kinds: kinds(), Store: memory{seen: map[resource.Ref]map[string]string{}}, Noop: test.noop}
			for range 2 {
				if diff := cmp.Diff(test.want, m.Apply(t, test.resources...)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// memory is a store for the runs of a test.
type memory struct {
	engine.Forgetful
	seen map[resource.Ref]map[string]string
}

func (m memory) Observed(ref resource.Ref) map[string]string { return m.seen[ref] }

func (m memory) SetObserved(ref resource.Ref, seen map[string]string) { m.seen[ref] = seen }

func kinds() []resource.Kind {
	return []resource.Kind{bound.Kind(exec.Type()), bound.Kind(notify.Type())}
}

func TestNotifyCannotBeReadByName(t *testing.T) {
	r, err := bound.Kind(notify.Type()).Named("a")
	must(t, err)
	h := hosttest.New(t).ReadOnly()
	must(t, r.Choose(nil, h, ""))
	if err := r.Read(t.Context(), resourcetest.Reader(h)); err == nil || err.Error() != "cannot look up a Notify by its name: apply one instead" {
		t.Errorf("got %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
