// Package prompts holds the texts that are sent with a case. They are files with
// one version for all: a change of any raises VERSION, which is part of the key
// of cached answers.
package prompts

import (
	"crypto/rand"
	"embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

//go:embed *.tmpl VERSION
var files embed.FS

// Set is the compiled prompts. Safe for concurrent use.
type Set struct {
	t       *template.Template
	version string
}

// Load compiles the prompts.
func Load() (*Set, error) {
	t, err := template.New("").Option("missingkey=error").ParseFS(files, "*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	}
	v, err := files.ReadFile("VERSION")
	if err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	}
	return &Set{t: t, version: strings.TrimSpace(string(v))}, nil
}

// Version of the prompts.
func (s *Set) Version() string { return s.version }

// other is the knowledge for causes that have none of their own.
const other = "other"

// Known reports whether there is knowledge about a cause: it is then a name that
// everybody has.
func (s *Set) Known(cause string) bool {
	return cause != other && !strings.ContainsAny(cause, ". ") && s.t.Lookup(cause) != nil
}

// Causes lists the causes with knowledge.
func (s *Set) Causes() []string {
	var out []string
	for _, t := range s.t.Templates() {
		if n := t.Name(); s.Known(n) && n != "" {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// Knowledge returns what experts know about the first of these causes, and about
// as many of the others as fit into size bytes.
func (s *Set) Knowledge(size int, causes ...string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, c := range causes {
		if !s.Known(c) {
			c = other
		}
		if seen[c] {
			continue
		}
		seen[c] = true
		var text strings.Builder
		if err := s.t.ExecuteTemplate(&text, c, nil); err != nil {
			continue
		}
		line := "- " + c + ": " + text.String() + "\n"
		if b.Len() > 0 && b.Len()+len(line) > size {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// Nonce is a word that nobody who wrote packets can know.
func Nonce() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return "marker-" + hex.EncodeToString(b[:])
}

// Text is a prompt, ready to send.
type Text struct{ System, User string }

// Fill is what stands in the gaps of the prompts.
type Fill struct {
	Nonce     string // see Nonce
	Language  string // of the answer, in English
	Causes    string // names that the answer may use
	Knowledge string
	Evidence  string // one JSON document
}

// Compose fills the prompts.
func (s *Set) Compose(data Fill) (Text, error) {
	var sys, user strings.Builder
	if err := s.t.ExecuteTemplate(&sys, "system.tmpl", data); err != nil {
		return Text{}, fmt.Errorf("prompts: %w", err)
	}
	if err := s.t.ExecuteTemplate(&user, "user.tmpl", data); err != nil {
		return Text{}, fmt.Errorf("prompts: %w", err)
	}
	return Text{System: sys.String(), User: user.String()}, nil
}
