package drift_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A watched host is one of which the test says what changes, and by whom.
type watchedHost struct {
	*hosttest.Host
	touched []string
	authors map[string]*host.Author
}

func (h *watchedHost) Watch() (host.Watch, error) { return h, nil }
func (h *watchedHost) Follow([]string) error      { return nil }
func (h *watchedHost) Ready() <-chan struct{}     { return nil }
func (h *watchedHost) Begun() map[string]bool     { return nil }
func (h *watchedHost) Close() error               { return nil }

func (h *watchedHost) Take() []string {
	all := h.touched
	h.touched = nil
	return all
}

func (h *watchedHost) Authors() map[string]*host.Author {
	all := maps.Clone(h.authors)
	clear(h.authors)
	return all
}

// touch is a change by a process, or by an unknown one.
func (h *watchedHost) touch(path string, by *host.Author) {
	h.touched = append(h.touched, path)
	if by != nil {
		h.authors[path] = by
	}
}

func TestDriftHasTheAuthorOfTheChangesBeforeIt(t *testing.T) {
	t.Parallel()
	a, b := resource.Ref{Kind: "File", Name: "a"}, resource.Ref{Kind: "File", Name: "b"}
	vi, sed := &host.Author{Executable: "vi", PID: 1}, &host.Author{Executable: "sed", PID: 2}
	none := map[resource.Ref]*host.Author{}
	for name, c := range map[string]struct {
		before, during, aside, after func(h *watchedHost)             // the run, in it, before an aside, before the next run
		want                         [3]map[resource.Ref]*host.Author // after each of them
	}{
		"before the run": {
			before: func(h *watchedHost) { h.touch("/a", vi) },
			want:   [3]map[resource.Ref]*host.Author{{a: vi}, {a: vi}, none},
		},
		"during the run": {
			during: func(h *watchedHost) { h.touch("/a", vi) },
			want:   [3]map[resource.Ref]*host.Author{{a: vi}, {a: vi}, none},
		},
		"before the run, and another during it": {
			before: func(h *watchedHost) { h.touch("/a", vi) },
			during: func(h *watchedHost) { h.touch("/a", sed) },
			want:   [3]map[resource.Ref]*host.Author{{a: vi}, {a: sed}, none},
		},
		"before an aside, and another of what it does not handle": {
			aside: func(h *watchedHost) { h.touch("/a", vi); h.touch("/b", sed) },
			want:  [3]map[resource.Ref]*host.Author{none, {a: vi, b: sed}, {b: sed}},
		},
		"known before the run, and not since": {
			before: func(h *watchedHost) { h.touch("/a", vi) },
			aside:  func(h *watchedHost) { h.touch("/a", nil) },
			after:  func(h *watchedHost) { h.touch("/a", nil) },
			want:   [3]map[resource.Ref]*host.Author{{a: vi}, none, none},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &watchedHost{Host: hosttest.New(t), authors: map[string]*host.Author{}}
			l, err := drift.New(h, time.Hour)
			must(t, err)
			items := []resource.Item{file(t, "a", "/a"), file(t, "b", "/b")}
			run(t, l, h, nothing, nil, items...)
			do := func(step func(*watchedHost)) {
				if step != nil {
					step(h)
				}
			}
			authors := func() map[resource.Ref]*host.Author {
				all := map[resource.Ref]*host.Author{a: l.Author(a), b: l.Author(b)}
				maps.DeleteFunc(all, func(_ resource.Ref, by *host.Author) bool { return by == nil })
				return all
			}
			var got [3]map[resource.Ref]*host.Author
			do(c.before)
			l.Poll(start)
			l.Forget() // no run was possible
			run(t, l, h, func() { do(c.during) }, nil, items...)
			got[0] = authors()
			do(c.aside)
			l.BeginCorrection(start.Add(time.Hour), map[resource.Ref]bool{a: true}, true)
			must(t, l.EndCorrection(start, nil, true))
			got[1] = authors()
			do(c.after)
			run(t, l, h, nothing, nil, items...)
			got[2] = authors()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
