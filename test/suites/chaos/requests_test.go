//go:build rare

package chaos_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/test/suites/chaos/audit"
)

// A request is a request in the API server's audit log.
type request struct {
	id       string    // the same on arrival and with the response
	at       time.Time // time of arrival
	answered bool      // false on arrival; the same request follows when it has a response
	node     string    // the name of a node, or "" for the manager
	verb     string
	resource string // resource, or resource/subresource
	name     string
	code     int
	write    *audit.Write // nil if it writes nothing of rollouts
}

// succeeded reports whether the request has a successful response.
func (req request) succeeded() bool { return req.answered && req.code < 300 }

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
		if req, ok := parse(line); ok {
			j.all = append(j.all, req)
		}
		j.rest = bytes.Clone(rest)
	}
}

// parse decodes the end of a line: a killed API server may have left an incomplete event before it.
func parse(line []byte) (request, bool) {
	var e struct {
		AuditID, Stage, Verb     string
		RequestReceivedTimestamp time.Time
		User                     struct {
			Username string
			Extra    map[string][]string
		}
		ObjectRef      struct{ Resource, Subresource, Name string }
		ResponseStatus struct{ Code int }
		RequestObject  json.RawMessage
	}
	if err := json.Unmarshal(line[max(0, bytes.LastIndex(line, []byte(`{"kind":"Event"`))):], &e); err != nil {
		return request{}, false
	}
	req := request{
		id: e.AuditID, at: e.RequestReceivedTimestamp, answered: e.Stage == "ResponseComplete", verb: e.Verb,
		resource: e.ObjectRef.Resource, name: e.ObjectRef.Name, code: e.ResponseStatus.Code,
	}
	if e.ObjectRef.Subresource != "" {
		req.resource += "/" + e.ObjectRef.Subresource
	}
	if !strings.HasSuffix(e.User.Username, ":fettle-manager") {
		req.node = strings.Join(e.User.Extra["authentication.kubernetes.io/node-name"], "")
		return req, true
	}
	body := audit.Request{At: req.at, Verb: req.verb, Resource: req.resource, Name: req.name, Code: req.code, Body: e.RequestObject}
	if w, writes, err := body.Write(); err == nil && writes {
		req.write = &w
	}
	return req, true
}

// writes returns what managers wrote of rollouts, in the order of the responses. Requests without one are where they arrived.
func (j *journal) writes() (all []audit.Write) {
	requests := j.since(0)
	answered := map[string]bool{}
	for _, req := range requests {
		answered[req.id] = answered[req.id] || req.answered
	}
	for _, req := range requests {
		if req.write != nil && (req.answered || !answered[req.id]) {
			all = append(all, *req.write)
		}
	}
	return all
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
	for _, req := range all {
		if req.verb == "patch" && req.resource == "nodecatalogs" && req.succeeded() {
			by[req.name]++
		}
	}
	return by
}

// A peak is the maximum number of requests within a second: in total, and by the manager and by one agent for one kind of
// object. after is the time of the maximum in total.
type peak struct {
	all, manager, agent int
	after               time.Duration
}

// peakOf counts requests since a time by second. It counts each kind of object of a client separately, like the clients' rate
// limits.
func peakOf(all []request, since time.Time) peak {
	type key struct {
		second         int
		node, resource string
	}
	seconds, clients := map[int]int{}, map[key]int{}
	var p peak
	for _, req := range all {
		if req.answered || req.at.Before(since) {
			continue
		}
		second := int(req.at.Sub(since) / time.Second)
		seconds[second]++
		if seconds[second] > p.all {
			p.all, p.after = seconds[second], time.Duration(second)*time.Second
		}
		kind, _, _ := strings.Cut(req.resource, "/")
		clients[key{second, req.node, kind}]++
	}
	for client, n := range clients {
		if client.node == "" {
			p.manager = max(p.manager, n)
		} else {
			p.agent = max(p.agent, n)
		}
	}
	return p
}
