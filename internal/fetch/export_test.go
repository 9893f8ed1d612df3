package fetch

import "net/http"

// Headers is what headers tell of a content.
func Headers(h http.Header) Answer { return answer(h) }
