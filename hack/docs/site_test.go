package docs_test

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// A page is what the tests need of a rendered page.
type page struct {
	ids        map[string]int
	links      []string // href of a
	resources  []string // what the browser requests by itself
	navigation []string // href of the links in nav
	headings   int      // of the first level
}

// site renders the site and returns its pages by path.
func site(t *testing.T) (dir string, pages map[string]*page) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "tool", "hugo", "--quiet", "--panicOnWarning", "--noBuildLock", "--destination", dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile, so that both use one program
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pages = map[string]*page{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		root, err := html.Parse(f)
		if err != nil {
			return err
		}
		p := &page{ids: map[string]int{}}
		p.read(root, false)
		pages[name] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 50 {
		t.Fatalf("there are only %d pages", len(pages))
	}
	return dir, pages
}

func (p *page) read(n *html.Node, inNavigation bool) {
	inNavigation = inNavigation || n.Type == html.ElementNode && n.Data == "nav"
	if n.Type == html.ElementNode && n.Data == "h1" {
		p.headings++
	}
	for _, a := range n.Attr {
		switch {
		case a.Key == "id":
			p.ids[a.Val]++
		case a.Key == "href" && n.Data == "a":
			p.links = append(p.links, a.Val)
			if inNavigation {
				p.navigation = append(p.navigation, a.Val)
			}
		case a.Key == "src" || a.Key == "srcset" || a.Key == "href":
			p.resources = append(p.resources, a.Val)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		p.read(c, inNavigation)
	}
}

func TestSite(t *testing.T) {
	dir, pages := site(t)
	for name, check := range map[string]func(t *testing.T, dir string, pages map[string]*page){
		"links lead somewhere":                       linksLeadSomewhere,
		"pages request nothing from elsewhere":       requestNothingElse,
		"pages have one title and distinct sections": haveOneTitle,
		"the navigation has every page":              navigationIsComplete,
	} {
		t.Run(name, func(t *testing.T) { check(t, dir, pages) })
	}
}

func linksLeadSomewhere(t *testing.T, dir string, pages map[string]*page) {
	t.Helper()
	for name, p := range pages {
		for _, link := range append(p.links, p.resources...) {
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if u.Scheme != "" || u.Host != "" {
				continue
			}
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if _, err := os.Stat(filepath.Join(dir, target)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, link)
			} else if p := pages[target]; u.Fragment != "" && (p == nil || p.ids[u.Fragment] == 0) {
				t.Errorf("%s: %s has no section for the link %s", name, target, link)
			}
		}
	}
}

func requestNothingElse(t *testing.T, dir string, pages map[string]*page) {
	t.Helper()
	for name, p := range pages {
		for _, resource := range p.resources {
			if u, err := url.Parse(resource); err != nil || u.Host != "" || u.Scheme != "" && u.Scheme != "data" {
				t.Errorf("%s requests %s", name, resource)
			}
		}
		if len(p.resources) < 3 {
			t.Errorf("%s has only the resources %s", name, p.resources)
		}
	}
	for _, name := range []string{"style.css", "search.js"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(text), "//") && strings.Contains(string(text), "http") {
			t.Errorf("%s: %v, or it refers to another server", name, err)
		}
	}
}

func haveOneTitle(t *testing.T, _ string, pages map[string]*page) {
	t.Helper()
	for name, p := range pages {
		if p.headings != 1 {
			t.Errorf("%s has %d headings of the first level", name, p.headings)
		}
		for id, count := range p.ids {
			if count > 1 {
				t.Errorf("%s has %d sections %s", name, count, id)
			}
		}
	}
}

func navigationIsComplete(t *testing.T, _ string, pages map[string]*page) {
	t.Helper()
	count := map[string]int{}
	for _, link := range pages["index.html"].navigation {
		count[path.Clean(link)]++
	}
	for name := range pages {
		inSection := strings.HasPrefix(name, "adr/") && name != "adr/index.html" || name == "kinds/index.html"
		want := 1
		if name == "index.html" {
			want = 2 // the name of the project, too
		}
		if !inSection && count[name] != want {
			t.Errorf("the navigation in hugo.toml has %s %d times", name, count[name])
		}
	}
}
