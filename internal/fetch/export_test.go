package fetch

import (
	"net/http"
	"time"
)

// Headers is what headers tell of a content.
func Headers(h http.Header) Answer { return answer(h) }

// Within is the source with another limit for a whole content.
func (s HTTP) Within(limit time.Duration) *HTTP {
	s.limit = limit
	return &s
}
