// Package html writes the report as one page that needs nothing else: it opens
// from a mail attachment, without a network.
//
// # What keeps it safe
//
// Names and messages come from packets. They pass terminal.Printable (nothing
// invisible survives), then html/template or encoding/json, which escape them;
// the page's script makes text nodes only. Should all that fail, the page's
// Content-Security-Policy still forbids every script and style but those whose
// hash it names, and every request.
package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"netwhy/cmd/netwhy/internal/report"
)

//go:embed assets
var assets embed.FS

// Options of the page.
type Options struct {
	Lang string // "en" or "zh"
}

// New makes a sink that writes to w at the end.
func New(w io.Writer, opt Options) report.Sink { return &sink{w: w, opt: opt} }

type sink struct {
	w   io.Writer
	opt Options
}

// Finding says nothing: the verdict comes first, and it is known at the end.
func (*sink) Finding(*report.Finding) error { return nil }

// Finish writes the page.
func (s *sink) Finish(r *report.Report) error {
	t, err := template.New("page.tmpl").ParseFS(assets, "assets/page.tmpl")
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	p, err := newPage(r, phrasesOf(s.opt.Lang))
	if err != nil {
		return err
	}
	if err := t.Execute(s.w, p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// asset reads an embedded file.
func asset(names ...string) (string, error) {
	var all []byte
	for _, n := range names {
		b, err := assets.ReadFile("assets/" + n)
		if err != nil {
			return "", fmt.Errorf("read the page's parts: %w", err)
		}
		all = append(append(all, b...), '\n')
	}
	return string(all), nil
}

// parts puts style, script and data into the page, with the policy that names
// them.
func (p *page) parts() error {
	style, err := asset("uPlot.min.css", "page.css")
	if err != nil {
		return err
	}
	licence, err := asset("uPlot.LICENSE")
	if err != nil {
		return err
	}
	script, err := asset("uPlot.iife.min.js", "page.js")
	if err != nil {
		return err
	}
	script = "/*! uPlot: " + licence + "*/\n" + script
	data, err := json.Marshal(p.data)
	if err != nil {
		return fmt.Errorf("encode the page's data: %w", err)
	}
	p.Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; script-src '" + digest(script) + "'; style-src '" + digest(style) + "'; img-src data:"
	// These three are ours, word for word: an escape would change their hash.
	// encoding/json writes <, > and & as escapes, so that no data ends its element.
	p.Style = template.HTML("<style>" + style + "</style>")                                              //nolint:gosec // embedded
	p.ScriptTag = template.HTML("<script>" + script + "</script>")                                       //nolint:gosec // embedded
	p.DataTag = template.HTML(`<script type="application/json" id="data">` + string(data) + "</script>") //nolint:gosec // see above
	return nil
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
