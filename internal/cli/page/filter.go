package page

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// rowsPerPage is the number of rows of a table that are shown at once.
const rowsPerPage = 100

// A filter is the query of a table, as it is in the URL.
type filter struct{ values url.Values }

// filterOf reads the query of a request. The error names a parameter that does not exist, so that a mistyped link does not show
// everything.
func filterOf(r *http.Request, known ...string) (filter, error) {
	for name := range r.URL.Query() {
		if name != "page" && !slices.Contains(known, name) {
			return filter{}, &failure{http.StatusBadRequest, fmt.Sprintf("The parameter %q is unknown: use %s.", name, strings.Join(known, ", "))}
		}
	}
	return filter{r.URL.Query()}, nil
}

// Get returns a parameter.
func (f filter) Get(name string) string { return f.values.Get(name) }

// oneOf returns a parameter that must be empty or one of a list.
func (f filter) oneOf(name string, allowed ...string) (string, error) {
	value := f.Get(name)
	if value != "" && !slices.Contains(allowed, value) {
		return "", &failure{http.StatusBadRequest, fmt.Sprintf("%s=%q is not one of %s.", name, value, strings.Join(allowed, ", "))}
	}
	return value, nil
}

// matches reports whether one of these texts contains the searched one, in any case.
func (f filter) matches(texts ...string) bool {
	wanted := strings.ToLower(strings.TrimSpace(f.Get("q")))
	return wanted == "" || slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), wanted) })
}

// With returns the URL of the table, relative to its own, with another value of a parameter, from its first page.
func (f filter) With(name, value string) string {
	values := url.Values{}
	for key, all := range f.values {
		if key != "page" && key != name {
			values[key] = all
		}
	}
	if value != "" {
		values.Set(name, value)
	}
	return "?" + values.Encode()
}

// A table is a part of rows that match a filter.
type table[T any] struct {
	filter
	Rows        []T
	Total       int // of rows that match
	First, Last int // of the rows shown, from 1; 0 if there are none
	pages, page int
}

// tableOf returns the rows of the page that the filter names; the nearest one if there is no such page.
func tableOf[T any](f filter, rows []T) table[T] {
	t := table[T]{filter: f, Total: len(rows), pages: max(1, (len(rows)+rowsPerPage-1)/rowsPerPage)}
	t.page, _ = strconv.Atoi(f.Get("page")) // 0 is the first
	t.page = min(max(1, t.page), t.pages)
	from := (t.page - 1) * rowsPerPage
	t.Rows = rows[from:min(len(rows), from+rowsPerPage)]
	if len(t.Rows) > 0 {
		t.First, t.Last = from+1, from+len(t.Rows)
	}
	return t
}

// Previous returns the URL of the previous page; "" on the first one.
func (t table[T]) Previous() string { return t.at(t.page - 1) }

// Next returns the URL of the next page; "" if there is none.
func (t table[T]) Next() string { return t.at(t.page + 1) }

func (t table[T]) at(page int) string {
	if page < 1 || page > t.pages {
		return ""
	}
	return t.With("page", strconv.Itoa(page))
}
