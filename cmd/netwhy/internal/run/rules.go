package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"netwhy/analyze"
	"netwhy/rules"
)

// LoadRules reads the built-in rules and those in the files and folders named.
func LoadRules(paths []string) (*rules.Set, error) {
	dirs, err := RuleDirs(paths)
	if err != nil {
		return nil, err
	}
	return rules.Load(analyze.Defs(), dirs...)
}

// quickRules is LoadRules for a run, which needs few of them.
func quickRules(paths []string) (*rules.Set, error) {
	dirs, err := RuleDirs(paths)
	if err != nil {
		return nil, err
	}
	return rules.LoadQuick(analyze.Defs(), dirs...)
}

// loadRules begins to load the rules beside whatever the caller does next: they are
// needed at the end. The function that
// it returns waits for them.
func loadRules(opt *Options) func() (*rules.Set, error) {
	if opt.Loaded != nil {
		return func() (*rules.Set, error) { return opt.Loaded, nil }
	}
	var (
		set  *rules.Set
		err  error
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		set, err = quickRules(opt.Rules)
	}()
	return func() (*rules.Set, error) {
		<-done
		return set, err
	}
}

// RulesError says why a place of rules cannot be read.
type RulesError struct {
	Path string
	Err  error
}

func (e *RulesError) Error() string {
	return fmt.Sprintf("read rules from %s: %v; name a YAML file or a folder of them", e.Path, e.Err)
}

func (e *RulesError) Unwrap() error { return e.Err }

// RuleDirs turns paths into places of rules, as package rules takes them: it
// opens nothing itself.
func RuleDirs(paths []string) ([]rules.Dir, error) {
	var dirs []rules.Dir
	var faults []error
	for _, p := range paths {
		st, err := os.Stat(p)
		switch {
		case err != nil:
			faults = append(faults, &RulesError{Path: p, Err: bare(err)})
		case st.IsDir():
			dirs = append(dirs, rules.Dir{FS: os.DirFS(p), Name: p})
		default:
			dirs = append(dirs, rules.Dir{FS: os.DirFS(filepath.Dir(p)), Path: filepath.Base(p), Name: p})
		}
	}
	return dirs, errors.Join(faults...)
}

// bare drops the path from an error whose message names it already.
func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// maxKeyLog bounds a TLS key log: a line for each secret is some 200 bytes.
const maxKeyLog = 64 << 20

// KeyLogError says why a TLS key log cannot be read.
type KeyLogError struct {
	Path string
	Err  error
}

func (e *KeyLogError) Error() string {
	return fmt.Sprintf("read TLS key log %s: %v; name the file that SSLKEYLOGFILE wrote", e.Path, e.Err)
}

func (e *KeyLogError) Unwrap() error { return e.Err }

var errTooLarge = fmt.Errorf("more than %d bytes", maxKeyLog)

func readKeyLog(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, &KeyLogError{Path: path, Err: bare(err)}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyLog+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, &KeyLogError{Path: path, Err: bare(err)}
	}
	if len(data) > maxKeyLog {
		return nil, &KeyLogError{Path: path, Err: errTooLarge}
	}
	return data, nil
}
