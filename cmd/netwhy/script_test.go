package main

import (
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/cmd/netwhy/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the golden output inside the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"netwhy": main, faulty: mainFaulty})
}

// faulty is netwhy with a fault of its own: the first payload that comes makes
// the analysis panic.
const faulty = "netwhy-faulty"

func mainFaulty() {
	spec := proto.Spec{
		Name: "faulty", Carrier: proto.TCP | proto.UDP, New: func() proto.Analyzer { panic("a wheel came off") },
		Probe: func(flow.Dir, []byte) proto.Verdict { return proto.Certain },
	}
	os.Exit(cli.Main(cli.Process{
		Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Protocols: []proto.Spec{spec},
	}))
}

// TestScripts runs every command as a user types it: one file of
// testdata/script is one behaviour. $CAP is the folder of the captures.
func TestScripts(t *testing.T) {
	t.Parallel()
	captures, err := filepath.Abs(filepath.Join("..", "..", "fixtures", "captures"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("CAP", captures)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"gzip":  pack,
			"cut":   cut,
		},
	})
}

// exits runs a command and wants one exit code: exits CODE COMMAND ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	const words = 2
	if neg || len(args) < words {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		var code interface{ ExitCode() int }
		if !asExit(err, &code) {
			ts.Fatalf("%v", err)
		}
		got = strconv.Itoa(code.ExitCode())
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func asExit(err error, code *interface{ ExitCode() int }) bool {
	for err != nil {
		if c, ok := err.(interface{ ExitCode() int }); ok {
			*code = c
			return true
		}
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return false
		}
		err = u.Unwrap()
	}
	return false
}

// pack writes FILE.gz beside the work: gzip FILE NEW.
func pack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gzip FILE NEW")
	}
	data, err := os.ReadFile(args[0])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	z := gzip.NewWriter(f)
	_, err = z.Write(data)
	ts.Check(err)
	ts.Check(z.Close())
	ts.Check(f.Close())
}

// cut writes the beginning of a file: cut FILE BYTES NEW.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut FILE BYTES NEW")
	}
	data, err := os.ReadFile(args[0])
	ts.Check(err)
	var n int
	_, err = fmt.Sscan(args[1], &n)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data[:min(n, len(data))], 0o600))
}
