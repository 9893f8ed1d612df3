package browser_test

import (
	"context"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/fettle-dev/fettle/test/fixtures/debian"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// startChromium starts Chromium in a root of its own. It ends with the test.
func startChromium(t *testing.T) context.Context {
	t.Helper()
	root := debian.Root(t, debian.Layer{Install: []string{"chromium", "fonts-dejavu-core"}})
	// It runs as root in a chroot, so it has no sandbox of its own. It sees only pages of this test.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chroot"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoInheritEnv,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Env("PATH=/usr/bin:/bin", "HOME=/root", "LANG=C.UTF-8", "TZ=UTC"),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { cmd.Args = append([]string{"chroot", root, "chromium"}, cmd.Args[1:]...) }))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // before its root is removed
	return ctx
}

// A tab is a tab of the browser that records the hosts of its requests.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	hosts map[string]bool
}

// openTab opens a tab without cookies of others. It is closed with the test.
func openTab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx, hosts: map[string]bool{}}
	err := chromedp.Listen(ctx, func(event any) {
		if sent, ok := event.(*network.EventRequestWillBeSent); ok {
			if u, err := url.Parse(sent.Request.URL); err == nil {
				b.mu.Lock()
				b.hosts[u.Host] = true
				b.mu.Unlock()
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 800))
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// do fails the test if an action does.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patient.Limit)
	defer stop()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%v; the page shows\n%s", err, b.text())
	}
}

// click clicks on an element, which the page may replace at any time: then it clicks on the new one.
func (b *tab) click(selector string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patient.Limit)
	defer stop()
	for {
		err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector)))
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "Could not find node") {
			b.t.Fatalf("%v; the page shows\n%s", err, b.text())
		}
	}
}

// navigate opens a page in the tab.
func (b *tab) navigate(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address))
}

// awaitText waits for a text in the page.
func (b *tab) awaitText(text string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patient.Limit)
	defer stop()
	seen := chromedp.PollFunction[bool](`(text) => document.body.innerText.includes(text)`, chromedp.WithPollingArgs(text))
	for {
		_, err := chromedp.Run(ctx, seen)
		if err == nil {
			return
		}
		if ctx.Err() != nil { // other errors are those of a page that has just been left
			b.t.Fatalf("no %q: %v; the page shows\n%s", text, err, b.text())
		}
	}
}

func (b *tab) text() string {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text[:min(len(text), 2000)]
}

// emulateColorScheme sets the color scheme that the user prefers: dark or light.
func (b *tab) emulateColorScheme(scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// firstContent returns when the page showed something, in milliseconds after it was asked for.
func (b *tab) firstContent() float64 {
	b.t.Helper()
	at, err := chromedp.Run(b.ctx, chromedp.PollFunction[float64](`() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime`))
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}
