package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// room says what the sources of one part of the tree may import. The longest
// matching path counts.
type room struct {
	path  string
	mayUs []string // packages of this module, "x/..." with everything below; nil: none of ours
	core  bool     // no clock, logger, file or socket (style: the core returns, it does not act)
	std   bool     // standard library only
}

// rooms is the house: who may import whom. A package of a room that is not
// listed here fails the test, so that a new room is a decision.
func rooms() []room {
	return []room{
		{path: "capture/packet", std: true},
		{path: "capture", mayUs: []string{"capture/packet", "capture/..."}},
		{path: "analyze/flow", core: true},
		{path: "analyze/finding", mayUs: []string{"analyze/flow"}, core: true},
		{path: "analyze/conn", mayUs: []string{"analyze/flow"}, core: true},
		{path: "analyze", mayUs: []string{"analyze/...", "capture/packet"}, core: true},
		{path: "rules/diagnosis", mayUs: []string{"analyze/finding", "analyze/flow", "analyze/conn"}, core: true},
		{path: "rules", mayUs: []string{"rules/...", "analyze/..."}, core: true},
		{path: "aidiag", mayUs: []string{"aidiag/...", "rules/...", "analyze/..."}},
		{path: "cmd", mayUs: []string{"..."}},
		{path: "fixtures", mayUs: []string{"..."}},
	}
}

// notInCore are the packages that act on the world. net/netip is a value and
// welcome.
func notInCore() []string {
	return []string{
		"net", "net/http", "os", "os/exec", "os/signal", "log", "log/slog", "syscall", "io/ioutil",
		"github.com/google/gopacket/pcap", "github.com/google/gopacket/reassembly",
	}
}

// TestWhoMayImportWhom reads the imports of every source, of every build tag.
// It reads them itself: the result of a test that asks "go list" is cached past
// a change, because the cache does not see files read by a child process.
func TestWhoMayImportWhom(t *testing.T) {
	t.Parallel()
	files := 0
	eachSource(t, func(name string, f *ast.File, fset *token.FileSet) {
		files++
		dir := path.Dir(name)
		r, ok := roomOf(dir)
		if !ok {
			t.Errorf("%s: package %s stands in no room of the house; name it in rooms()", name, dir)
			return
		}
		for _, imp := range f.Imports {
			pkg, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatalf("%s: import %s: %v", name, imp.Path.Value, err)
			}
			if why := r.refuses(dir, pkg); why != "" {
				t.Errorf("%s: imports %s: %s", fset.Position(imp.Pos()), pkg, why)
			}
		}
	})
	if files < 10 {
		t.Errorf("only %d sources were read: the walk is broken", files)
	}
}

// TestCoreHasNoClock looks for calls that make a replay depend on when it runs.
func TestCoreHasNoClock(t *testing.T) {
	t.Parallel()
	forbidden := map[string][]string{
		"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		"context": {"Background", "TODO"},
		"fmt":     {"Print", "Printf", "Println"},
	}
	eachSource(t, func(name string, f *ast.File, fset *token.FileSet) {
		if r, ok := roomOf(path.Dir(name)); !ok || !r.core {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, fn := range forbidden[x.Name] {
				if sel.Sel.Name == fn {
					t.Errorf("%s: %s.%s in the core: its time is the capture's, its context the caller's", fset.Position(n.Pos()), x.Name, fn)
				}
			}
			return true
		})
	})
}

// TestProtocolsDoNotKnowEachOther: a protocol hands what it carries to the
// socket, which chooses the analyzer.
func TestProtocolsDoNotKnowEachOther(t *testing.T) {
	t.Parallel()
	const root = module + "/analyze/proto/"
	eachSource(t, func(name string, f *ast.File, fset *token.FileSet) {
		own, isProto := strings.CutPrefix(path.Dir(name), "analyze/proto/")
		if !isProto {
			return
		}
		own, _, _ = strings.Cut(own, "/")
		for _, imp := range f.Imports {
			other, ok := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), root)
			if !ok {
				continue
			}
			other, _, _ = strings.Cut(other, "/")
			if other != own && !sharedByProtocols(other) {
				t.Errorf("%s: protocol %s imports protocol %s", fset.Position(imp.Pos()), own, other)
			}
		}
	})
}

// sharedByProtocols are folders beside the protocols that are not protocols.
func sharedByProtocols(name string) bool {
	return name == "prototest" || name == "internal" || name == "assigned"
}

const module = "netwhy"

func (r room) refuses(dir, pkg string) string {
	ours, isOurs := strings.CutPrefix(pkg, module+"/")
	switch {
	case isOurs && matches(dir+"/...", ours):
		return "" // its own folders
	case isOurs:
		for _, m := range r.mayUs {
			if matches(m, ours) {
				return ""
			}
		}
		return "room " + r.path + " may not import it"
	case r.std && strings.Contains(pkg, "."):
		return "room " + r.path + " uses the standard library only"
	case r.core:
		if slices.Contains(notInCore(), pkg) {
			return "the core has no clock, logger, file or socket"
		}
	}
	return ""
}

func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == root || strings.HasPrefix(pkg, root+"/")
	}
	return pkg == pattern
}

func roomOf(dir string) (room, bool) {
	var best room
	found := false
	for _, r := range rooms() {
		if matches(r.path+"/...", dir) && len(r.path) > len(best.path) {
			best, found = r, true
		}
	}
	return best, found
}

// eachSource parses every source that is not a test, name relative to the
// module's root, with slashes.
func eachSource(t *testing.T, do func(name string, f *ast.File, fset *token.FileSet)) {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	fset := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		do(name, f, fset)
		return nil
	})
	if err != nil {
		t.Fatalf("read the sources: %v", err)
	}
}
