package docs_test

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
)

// anchors returns the anchors of the headings of a page, as GitHub and Hugo make them.
func (p *page) anchors(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	must(t, ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Kind() == ast.KindHeading {
			all[anchor(plain(n, p.source))] = true
		}
		return ast.WalkContinue, nil
	}))
	return all
}

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

func anchor(heading string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
}

// plain returns the text of a node without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if leaf, is := c.(*ast.Text); is {
			b.Write(leaf.Value(source))
			continue
		}
		b.WriteString(plain(c, source))
	}
	return b.String()
}

// links returns the destinations of links and images.
func (p *page) links(t *testing.T) []string {
	t.Helper()
	var all []string
	must(t, ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			all = append(all, string(n.Destination))
		case *ast.Image:
			all = append(all, string(n.Destination))
		}
		return ast.WalkContinue, nil
	}))
	return all
}

func TestLinksLeadToExistingPagesAndSections(t *testing.T) {
	t.Parallel()
	anchors := map[string]map[string]bool{}
	all := pages(t)
	for _, p := range all {
		anchors[p.name] = p.anchors(t)
	}
	count := 0
	for _, p := range all {
		for _, link := range p.links(t) {
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", p.name, err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			count++
			target := p.name
			if u.Path != "" {
				target = path.Join(path.Dir(p.name), u.Path)
			}
			if _, err := os.Stat(filepath.Join(checkout, target)); err != nil {
				t.Errorf("%s: there is no %s, to which the link %s leads", p.name, target, link)
			}
			if sections, is := anchors[target]; u.Fragment != "" && is && !sections[u.Fragment] {
				t.Errorf("%s: %s has no heading for the link %s", p.name, target, link)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d links were found", count)
	}
}
