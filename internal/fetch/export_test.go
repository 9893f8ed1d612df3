package fetch

import (
	"net/http"
	"time"
)

// Headers returns the description of a content in headers.
func Headers(h http.Header) Answer { return answer(h) }

// Within returns the source with another time limit for a whole content.
func (s HTTP) Within(limit time.Duration) *HTTP {
	s.limit = limit
	return &s
}
