//go:build rare

package chaos_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// A request is a request in the API server's audit log.
type request struct {
	at       time.Time // time of arrival
	answered bool      // false on arrival; the same request follows when it has a response
	who      string    // the name of a node, or "" for the manager
	verb     string
	about    string // resource, or resource/subresource
	name     string
	code     int
}

// won reports whether it succeeded.
func (r request) won() bool { return r.answered && r.code < 300 }

// A journal collects an API server's audit log. It is safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	rest []byte // an incomplete line
	all  []request
}

// Write adds a part of the audit log.
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

// parse decodes the end of a line: a killed API server may have left an incomplete event before it.
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

// mark returns the current position in the journal.
func (j *journal) mark() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.all)
}

// since returns the requests after a mark.
func (j *journal) since(mark int) []request {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all[mark:len(j.all):len(j.all)]
}

// patched counts the successful patches of each NodeCatalog's spec.
func patched(all []request) map[string]int {
	by := map[string]int{}
	for _, r := range all {
		if r.verb == "patch" && r.about == "nodecatalogs" && r.won() {
			by[r.name]++
		}
	}
	return by
}

// A wave is the maximum number of requests within a second: in total, of the manager and of one agent, and the time of
// the maximum. bySecond counts all requests from a time on.
type wave struct {
	all, manager, agent int
	after               time.Duration
}

// waveOf counts requests since a time, by second. For one client it counts each kind of object separately, like the
// clients' rate limits.
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
