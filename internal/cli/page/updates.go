package page

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// The times between events of a page: at most one update in a second, and a sign of life, so that proxies keep the connection.
const (
	updateAfter = time.Second
	aliveAfter  = 15 * time.Second
)

// updates sends an event after each change since the version that the page shows.
func (p *page) updates(w http.ResponseWriter, r *http.Request) {
	seen, err := strconv.ParseUint(r.URL.Query().Get("since"), 10, 64)
	if err != nil {
		http.Error(w, "since must be the version of a page", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for {
		version, next := p.Source.Version()
		line := ": alive\n\n" // a comment
		if version != seen {
			seen, line = version, fmt.Sprintf("event: change\ndata: %d\n\n", version)
		}
		if !send(w, out, line) || !wait(r.Context(), updateAfter, nil) || !wait(r.Context(), aliveAfter, next) {
			return
		}
	}
}

// wait waits for a time or until a channel is closed, and reports whether the context has not ended.
func wait(ctx context.Context, most time.Duration, until <-chan struct{}) bool {
	enough := time.NewTimer(most)
	defer enough.Stop()
	select {
	case <-enough.C:
	case <-until:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// send writes a line at once, and reports whether somebody is there.
func send(w http.ResponseWriter, out *http.ResponseController, line string) bool {
	if _, err := fmt.Fprint(w, line); err != nil {
		return false
	}
	return out.Flush() == nil
}
