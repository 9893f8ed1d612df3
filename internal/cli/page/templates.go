package page

import (
	"fmt"
	"html/template"
	"net/url"
	"path"
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
		"add":    func(a, b int) int { return a + b },
		"age":    age,
		"author": func(a *v1alpha1.Author) string { return (*host.Author)(a).String() },
		"diff":   diffLines,
		"hour":   func(t metav1.Time) string { return t.UTC().Format("Jan 2 15:04 MST") },
		"short":  short,
		"count":  text.Count,
		"join":   func(all []string) string { return strings.Join(all, ", ") },
		"root":   func() string { return root },
		"url":    func(parts ...string) string { return root + address(parts) },
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

// address returns a path with escaped parts.
func address(parts []string) string {
	escaped := make([]string, 0, len(parts))
	for _, part := range parts {
		escaped = append(escaped, url.PathEscape(part))
	}
	return "/" + path.Join(escaped...)
}

// short returns the begin of a name, as long as fits into a box.
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
