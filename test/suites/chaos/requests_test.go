package chaos_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// A request is one that the API server has seen, by its own account.
type request struct {
	at       time.Time // when it came
	answered bool      // false as it comes; the same one follows when it has an answer
	who      string    // the name of a node, or "" for the manager
	verb     string
	about    string // resource, or resource/subresource
	name     string
	code     int
}

// won reports whether it was done.
func (r request) won() bool { return r.answered && r.code < 300 }

// A journal takes what an API server writes down, and has all of it. Safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	rest []byte // a line that has yet to end
	all  []request
}

// Write takes a part of the API server's account.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rest = append(j.rest, p...)
	for {
		line, rest, whole := bytes.Cut(j.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if r, ok := parse(line); ok {
			j.all = append(j.all, r)
		}
		j.rest = bytes.Clone(rest)
	}
}

// parse takes what a line ends with: an API server that was killed may have left half of one before it.
func parse(line []byte) (request, bool) {
	var e struct {
		Stage, Verb              string
		RequestReceivedTimestamp time.Time
		User                     struct {
			Username string
			Extra    map[string][]string
		}
		ObjectRef      struct{ Resource, Subresource, Name string }
		ResponseStatus struct{ Code int }
	}
	if err := json.Unmarshal(line[max(0, bytes.LastIndex(line, []byte(`{"kind":"Event"`))):], &e); err != nil {
		return request{}, false
	}
	r := request{
		at: e.RequestReceivedTimestamp, answered: e.Stage == "ResponseComplete", verb: e.Verb,
		about: e.ObjectRef.Resource, name: e.ObjectRef.Name, code: e.ResponseStatus.Code,
	}
	if e.ObjectRef.Subresource != "" {
		r.about += "/" + e.ObjectRef.Subresource
	}
	if !strings.HasSuffix(e.User.Username, ":fettle-manager") {
		r.who = strings.Join(e.User.Extra["authentication.kubernetes.io/node-name"], "")
	}
	return r, true
}

// mark is a place in the journal.
func (j *journal) mark() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.all)
}

// since is what came after a mark.
func (j *journal) since(mark int) []request {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all[mark:len(j.all):len(j.all)]
}

// patched counts the patches of each NodeCatalog's spec that were done.
func patched(all []request) map[string]int {
	by := map[string]int{}
	for _, r := range all {
		if r.verb == "patch" && r.about == "nodecatalogs" && r.won() {
			by[r.name]++
		}
	}
	return by
}

// A wave is how many requests came within a second at most: of all, of the manager and of one agent, and when the
// largest began. bySecond counts all of them from a time on.
type wave struct {
	all, manager, agent int
	after               time.Duration
}

// waveOf counts requests that came since a time, by seconds from then on. Of those of one client it counts each kind of
// object apart, as clients do.
func waveOf(all []request, since time.Time) wave {
	type of struct {
		second     int
		who, about string
	}
	seconds, clients := map[int]int{}, map[of]int{}
	var w wave
	for _, r := range all {
		if r.answered || r.at.Before(since) {
			continue
		}
		second := int(r.at.Sub(since) / time.Second)
		seconds[second]++
		if seconds[second] > w.all {
			w.all, w.after = seconds[second], time.Duration(second)*time.Second
		}
		kind, _, _ := strings.Cut(r.about, "/")
		clients[of{second, r.who, kind}]++
	}
	for client, n := range clients {
		if client.who == "" {
			w.manager = max(w.manager, n)
		} else {
			w.agent = max(w.agent, n)
		}
	}
	return w
}
