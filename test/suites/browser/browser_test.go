package browser_test

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

func TestPageShowsAFleetOf5000Nodes(t *testing.T) {
	f, browser := newFixture(t), startChromium(t)
	f.bindClusterRole(t, "ann", "fettle-viewer")
	address := f.serveUI(t, "ann")
	b := openTab(t, browser)

	began := time.Now()
	b.navigate(address)
	b.awaitText("5,000")
	t.Logf("with nothing read before: the first content after %.0f ms, the state of all nodes after %s", b.firstContent(), time.Since(began).Round(time.Millisecond))
	b.navigate(address)
	t.Logf("after that: the first content after %.0f ms", b.firstContent())

	t.Run("filters are in the URL", func(t *testing.T) {
		b.click(`nav a[href$="/nodes"]`)
		b.awaitText("1 to 100 of 5,000")
		b.do(chromedp.SendKeys(chromedp.CSS("#q"), "4901"))
		b.awaitText("1 to 1 of 1")
		if got := evaluate[string](b, "location.href"); got != address+"nodes?q=4901" {
			t.Errorf("the URL is %s", got)
		}
		if got := evaluate[string](b, "document.activeElement.id + ' ' + document.activeElement.value"); got != "q 4901" {
			t.Errorf("the focus is on %q", got)
		}
		b.navigate(address + "nodes?state=Failed")
		b.awaitText("1 to 50 of 50")
		b.navigate(address + "resources?q=file-499")
		b.awaitText("File/file-499")
		b.awaitText("1 to 1 of 1")
	})

	t.Run("changes appear at once", func(t *testing.T) {
		b.navigate(address + "nodes/node-0004")
		b.awaitText("500 of 500 in sync")
		var c v1alpha1.NodeCatalog
		if err := f.admin.Get(t.Context(), client.ObjectKey{Name: "node-0004"}, &c); err != nil {
			t.Fatal(err)
		}
		c.Status = status(1)
		if err := f.admin.Status().Update(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
		b.awaitText("no space left on device")
		b.navigate(address)
		b.awaitText("prod\tRollingOut\t2222222222\t5,000\t4\t0\t4 of 5000 affected nodes have proven")
		var p v1alpha1.RolloutPolicy
		if err := f.admin.Get(t.Context(), client.ObjectKey{Name: "prod"}, &p); err != nil {
			t.Fatal(err)
		}
		p.Status = rollingOut(16)
		if err := f.admin.Status().Update(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
		b.awaitText("16 of 5000 affected nodes have proven")
	})

	t.Run("history, order and authors are shown", func(t *testing.T) {
		b.navigate(address)
		b.awaitText("The last 24 hours as a table")
		if n := evaluate[int](b, `document.querySelectorAll("svg.history g").length`); n != 168 {
			t.Errorf("the history has %d hours", n)
		}
		b.click("#hours-summary")
		b.awaitText("4,900\t50\t50\t0")
		b.navigate(address + "nodes/node-0001")
		b.awaitText("no space left on device")
		b.click("#catalog")
		b.awaitText("1 to 6 of 6")
		if n := evaluate[int](b, `document.querySelectorAll(".drawing path").length`); n != 4 {
			t.Errorf("the drawing has %d lines", n)
		}
		b.navigate(address + "nodes/node-0001/diff")
		b.awaitText(`cannot get resource "nodediffs"`)
		b.navigate(address + "nodes/node-0002")
		b.awaitText("/usr/bin/vim.basic")
	})

	t.Run("the keyboard is enough", func(t *testing.T) {
		b.navigate(address + "nodes")
		b.awaitText("1 to 100 of 5,000")
		var reached []string
		for range 7 {
			b.do(chromedp.KeyEvent(kb.Tab))
			reached = append(reached, evaluate[string](b, "document.activeElement.innerText.split('\\n')[0] || document.activeElement.id"))
		}
		want := []string{"Skip to the content", "Fleet", "Nodes", "Resources", "Drift", "q", "all"}
		if diff := cmp.Diff(want, reached); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("each part has a name for screen readers", func(t *testing.T) {
		for _, path := range []string{"/", "/nodes", "/nodes/node-0001", "/nodes/node-0001/catalog", "/nodes/node-0001/diff", "/resources", "/resources/File/file-001", "/drift"} {
			b.navigate(strings.TrimSuffix(address, "/") + path)
			b.awaitText("As of")
			for what, expression := range map[string]string{
				"tables without caption":        `document.querySelectorAll("table:not(:has(caption))").length`,
				"heads of columns without role": `document.querySelectorAll("thead th:not([scope])").length`,
				"inputs without label":          `[...document.querySelectorAll("input, select")].filter((e) => e.labels.length === 0).length`,
				"headings of the first level":   `document.querySelectorAll("h1").length - 1`,
				"ids that occur twice":          `(() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id); return ids.length - new Set(ids).size })()`,
			} {
				if n := evaluate[int](b, expression); n != 0 {
					t.Errorf("%s: %d %s", path, n, what)
				}
			}
		}
	})

	t.Run("dark and light", func(t *testing.T) {
		background := func(scheme string) string {
			b.emulateColorScheme(scheme)
			return evaluate[string](b, "getComputedStyle(document.body).backgroundColor")
		}
		if light, dark := background("light"), background("dark"); light != "rgb(255, 255, 255)" || dark == light {
			t.Errorf("the background is %s, or %s", light, dark)
		}
	})

	t.Run("nothing is asked of others", func(t *testing.T) {
		b.mu.Lock()
		defer b.mu.Unlock()
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(b.hosts)); !slices.Equal(got, []string{u.Host}) {
			t.Errorf("it asked %q", got)
		}
	})

	t.Run("no one else is let in", func(t *testing.T) {
		other := openTab(t, browser)
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		other.navigate("http://" + u.Host + "/nodes")
		other.awaitText("open the address that the command printed")
		f.bindClusterRole(t, "eve", "system:discovery")
		other.navigate(f.serveUI(t, "eve"))
		other.awaitText("Access denied")
		other.awaitText(`User "eve" cannot list resource "nodecatalogs"`)
		if shown := evaluate[string](other, "document.body.innerText"); strings.Contains(shown, "node-0") {
			t.Errorf("it shows\n%s", shown)
		}
	})

	t.Run("its pictures are in the docs", func(t *testing.T) {
		if os.Getenv("FETTLE_GOLDEN") != "write" {
			return
		}
		b.navigate(address)
		for file, scene := range map[string]struct{ path, scheme, text string }{
			"fleet":      {"/", "light", "Problems"},
			"fleet-dark": {"/", "dark", "Problems"},
			"node":       {"/nodes/node-0001", "light", "no space left"},
			"catalog":    {"/nodes/node-0001/catalog", "light", "1 to 6 of 6"},
		} {
			b.emulateColorScheme(scene.scheme)
			b.navigate(strings.TrimSuffix(address, "/") + scene.path)
			b.awaitText(scene.text)
			png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join("../../../docs/images", file+".png"), png, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}
