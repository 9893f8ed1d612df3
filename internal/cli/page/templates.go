package page

import (
	"fmt"
	"html/template"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// parse returns the templates of all views by name. Each is a frame with another content. Links begin with root.
func parse(root string) map[string]*template.Template {
	functions := template.FuncMap{
		"add":      func(a, b int) int { return a + b },
		"age":      age,
		"author":   func(a *v1alpha1.Author) string { return (*host.Author)(a).String() },
		"diff":     diffLines,
		"hour":     func(t metav1.Time) string { return t.UTC().Format("Jan 2 15:04 MST") },
		"reports":  func(all []v1alpha1.ResourceReport, now time.Time) reportRows { return reportRows{all, now} },
		"day":      func(t time.Time) string { return t.Format("Jan 2") },
		"short":    short,
		"revision": v1alpha1.ShortRevision,
		"count":    func(n any, noun string) string { return number(n) + " " + text.Plural(int(whole(n)), noun, noun+"s") },
		"number":   number,
		"first":    func(names []string) []string { return names[:min(len(names), shownNames)] },
		"more":     func(names []string) int { return max(0, len(names)-shownNames) },
		"join":     func(all []string) string { return strings.Join(all, ", ") },
		"root":     func() string { return root },
		"url":      func(parts ...string) string { return root + address(parts) },
		"ref": func(ref any) string {
			return root + address(append([]string{"resources"}, strings.SplitN(fmt.Sprint(ref), "/", 2)...))
		},
	}
	all := map[string]*template.Template{}
	for _, name := range []string{"fleet", "nodes", "node", "catalog", "diff", "resources", "resource", "drift", "message"} {
		// The files are part of the program, so tests find their errors.
		all[name] = template.Must(template.New(name).Funcs(functions).ParseFS(templates, "templates/frame.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return all
}

// shownNames is the number of nodes or resources that a row names.
const shownNames = 3

// number writes a number with its digits in groups of three: 12,345.
func number(n any) string {
	digits := strconv.FormatInt(whole(n), 10)
	var groups []string
	for len(digits) > 3 {
		groups = append(groups, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	groups = append(groups, digits)
	slices.Reverse(groups)
	return strings.Join(groups, ",")
}

// whole is a count of any type. Counts are not negative.
func whole(n any) int64 {
	switch n := n.(type) {
	case int:
		return int64(n)
	case int32:
		return int64(n)
	case int64:
		return n
	}
	return 0
}

// reportRows are the rows of a table of reports.
type reportRows struct {
	All []v1alpha1.ResourceReport
	Now time.Time
}

// address returns a path with escaped parts.
func address(parts []string) string {
	escaped := make([]string, 0, len(parts))
	for _, part := range parts {
		escaped = append(escaped, url.PathEscape(part))
	}
	return "/" + path.Join(escaped...)
}

// short truncates a name so that it fits into a box.
func short(name string) string {
	const most = 28
	if all := []rune(name); len(all) > most {
		return string(all[:most-1]) + "…"
	}
	return name
}

// age is the age of something, as kubectl shows it; "" for the zero time.
func age(at any, now time.Time) string {
	t := timeOf(at)
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(t)))
}

// timeOf returns a time in one of the forms of the API; the zero time for others.
func timeOf(at any) time.Time {
	switch at := at.(type) {
	case time.Time:
		return at
	case metav1.Time:
		return at.Time
	case *metav1.Time:
		if at != nil {
			return at.Time
		}
	}
	return time.Time{}
}
