package html_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

// browser finds a Chromium.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no Chromium: install Debian's package chromium")
	}
	t.Skip("no Chromium is installed (Debian: chromium)")
	return ""
}

// complaints are what a page said that it should not have: errors, requests.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) add(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, s)
}

func (c *complaints) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.list {
		t.Errorf("the page complains: %s", s)
	}
}

// open shows a report in a browser of its own.
func open(t *testing.T, r *report.Report, lang string) (context.Context, *complaints) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, write(t, r, lang), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath(browser(t)), chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true), chromedp.WindowSize(1240, 1600), chromedp.UserDataDir(t.TempDir())))
	t.Cleanup(cancel)
	c := &complaints{}
	err := chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			c.add(fmt.Sprintf("console: %s", e.Type))
		case *runtime.EventExceptionThrown:
			c.add("exception: " + e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			c.add("log: " + e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "file://"+path) && !strings.HasPrefix(e.Request.URL, "data:") {
				c.add("request: " + e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	ctx, end := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(end)
	do(t, ctx, chromedp.Navigate("file://"+path), chromedp.Poll[chromedp.Void](`document.readyState === "complete"`, every))
	return ctx, c
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) { //nolint:revive // a helper has its test first
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

func eval[T any](t *testing.T, ctx context.Context, js string) T { //nolint:revive // a helper has its test first
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	if err != nil {
		t.Fatalf("%s: %v", js, err)
	}
	return v
}

// every is how often a page is asked: one that is not on a screen has no frames
// to wait for.
var every = chromedp.WithPollingInterval(50 * time.Millisecond)

// TestInABrowser: the page draws its charts and says nothing on the console, in
// both languages, light and dark.
func TestInABrowser(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		ctx, c := open(t, pictured(reporttest.Stalled()), lang)
		do(t, ctx, chromedp.ScrollIntoView(`[data-trace]`), chromedp.Poll[chromedp.Void](`document.querySelectorAll(".chart canvas").length >= 4`, every))
		if n := eval[int](t, ctx, `document.querySelectorAll("svg.timeline .span").length`); n != 2 {
			t.Errorf("%d diagnoses on the time line, want 2", n)
		}
		if n := eval[int](t, ctx, `document.querySelectorAll("svg.ladder line.msg").length`); n < 10 {
			t.Errorf("%d messages in the ladder", n)
		}
		before := eval[string](t, ctx, `getComputedStyle(document.body).backgroundColor`)
		do(t, ctx, chromedp.Click("#theme"))
		if after := eval[string](t, ctx, `getComputedStyle(document.body).backgroundColor`); after == before {
			t.Errorf("the background stays %s", after)
		}
		paper := `getComputedStyle(document.body).backgroundColor + " " + [...document.querySelectorAll(".uplot")].every((u) => u.offsetWidth > 0 && u.offsetWidth <= 640)`
		if s := eval[string](t, ctx, `dispatchEvent(new Event("beforeprint")) && `+paper); s != "rgb(255, 255, 255) true" {
			t.Errorf("on paper: %s", s)
		}
		if s := eval[string](t, ctx, `dispatchEvent(new Event("afterprint")) && document.documentElement.dataset.paper || "gone"`); s != "gone" {
			t.Error("the page stays as on paper")
		}
		if eval[bool](t, ctx, `document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
			t.Error("the page is wider than its window")
		}
		c.check(t)
	}
}

// typed fills in the filter of the connections.
func typed(text string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](`(() => { const i = document.querySelector("#connections input"); i.value = "` + text + `"; i.dispatchEvent(new Event("input")); })()`)
}

// TestTablesInABrowser: ten thousand connections can be filtered, sorted and
// reached from the keyboard, and a link to a finding finds it.
func TestTablesInABrowser(t *testing.T) {
	r := pictured(reporttest.Stalled())
	r.Connections = crowd(10_000)
	ctx, c := open(t, r, "en")
	rows := `document.querySelectorAll("#connections tbody tr").length`
	if n := eval[int](t, ctx, rows); n != 100 {
		t.Errorf("%d rows at first, want a page of 100", n)
	}
	do(t, ctx, typed("host4321. TCP"))
	if n := eval[int](t, ctx, rows); n != 1 {
		t.Errorf("%d rows match, want 1", n)
	}
	if s := eval[string](t, ctx, `document.querySelector("#connections [role=status]").textContent`); s != "1 of 1" {
		t.Errorf("status %q", s)
	}
	do(t, ctx, typed(""))
	sort := func(name string) string {
		return `(() => { const b = [...document.querySelectorAll("#connections th button")].find((b) => b.textContent === "` + name + `"); b.focus(); b.click(); return b.parentElement.getAttribute("aria-sort"); })()`
	}
	if s := eval[string](t, ctx, sort("Bytes")); s != "descending" {
		t.Errorf("sorted %q", s)
	}
	if s := eval[string](t, ctx, `document.querySelector("#connections tbody tr").textContent`); !strings.Contains(s, "host9999.example") {
		t.Errorf("first row %q", s)
	}
	if s := eval[string](t, ctx, sort("Bytes")); s != "ascending" {
		t.Errorf("sorted again %q", s)
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector('#D2 a[href="#F2"]').click()`), chromedp.Poll[chromedp.Void](`document.querySelector("tr.here") !== null`, every))
	if id := eval[string](t, ctx, `document.querySelector("tr.here").id`); id != "F2" {
		t.Errorf("the link leads to %q", id)
	}
	if n := eval[int](t, ctx, `[...document.querySelectorAll("button, input, a[href], [tabindex]")].filter((e) => e.tabIndex < 0).length`); n != 0 {
		t.Errorf("%d controls cannot be reached with the keyboard", n)
	}
	c.check(t)
}

// TestMarkupIsInertInABrowser: what packets inject stays text.
func TestMarkupIsInertInABrowser(t *testing.T) {
	ctx, c := open(t, attacked(), "en")
	do(t, ctx, chromedp.Sleep(200*time.Millisecond)) // an onerror would have its time
	if n := eval[int](t, ctx, `document.querySelectorAll("img, iframe").length`); n != 0 {
		t.Errorf("%d foreign elements", n)
	}
	if n := eval[int](t, ctx, `document.scripts.length`); n != 2 {
		t.Errorf("%d scripts", n)
	}
	if !eval[bool](t, ctx, `document.querySelector("#connections tbody").textContent.includes("<img src=x")`) {
		t.Error("the injected markup is not shown as text")
	}
	// And if it were not escaped, the policy would stop it.
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`(() => { const s = document.createElement("script"); s.textContent = "window.owned = true"; document.body.append(s); })()`))
	if eval[bool](t, ctx, `window.owned === true`) {
		t.Error("the policy lets a foreign script run")
	}
	_ = c // the policy's own complaint about the last step is on it
}
