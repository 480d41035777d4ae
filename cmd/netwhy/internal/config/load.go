package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"netwhy/aidiag"
	"netwhy/rules/near"
)

// Error is one fault of the configuration.
type Error struct {
	Origin  string // "FILE:LINE:COLUMN" or the name of the environment variable
	Key     string // path of the key, such as "limits.memory"; empty: the whole file
	Message string
	Hint    string // the near name
}

func (e *Error) Error() string {
	s := e.Origin + ": "
	if e.Key != "" {
		s += e.Key + ": "
	}
	return s + e.Message + e.Hint
}

// Loaded is a configuration and where its values came from.
type Loaded struct {
	Config
	File     string            // the file that was read; empty: none
	Searched []string          // where a file was looked for
	Origin   map[string]string // path of each value that is not the default: "FILE:LINE" or "$NAME"
	Warnings []string          // what is odd and kept nothing from working

	remarks map[string]string // by path of a value: what Show says behind its origin
}

// maxFile bounds the configuration file.
const maxFile = 1 << 20

// Load reads the configuration: defaults, then the file, then the environment.
// path is the file that the user named ("" looks in the usual places, where a
// missing file is no fault, and one that may not be read is a warning). All faults are returned, joined, each an *Error.
func Load(path string, env Env) (*Loaded, error) {
	l := &Loaded{Config: Default(env.Get), Origin: map[string]string{}}
	var faults []error
	fault := func(e *Error) { faults = append(faults, e) }

	data, err := l.find(path, env)
	if err != nil {
		return nil, err
	}
	if data != nil {
		d := decoder{file: l.File, origin: l.Origin, fault: fault}
		d.document(data, reflect.ValueOf(&l.Config).Elem())
		if e := l.trusted(); e != nil {
			fault(e)
		}
	}
	l.environment(env, fault)
	l.check(func(key, format string, args ...any) {
		fault(&Error{Origin: l.originOf(key), Key: key, Message: fmt.Sprintf(format, args...)})
	})
	l.Warnings = append(l.Warnings, unknownVariables(env)...)
	return l, errors.Join(faults...)
}

// trusted refuses to ask AI providers that somebody else could have named: the
// key and the findings would go to them.
func (l *Loaded) trusted() *Error {
	if len(l.AI.Providers) == 0 {
		return nil
	}
	if st, err := os.Stat(l.File); err == nil {
		if why := changeable(st); why != "" {
			return &Error{Origin: l.originOf("ai.providers"), Key: "ai.providers", Message: "the file names who is sent the key, and " + why + " " + l.File}
		}
	}
	return nil
}

// originOf tells where a value came from: the value itself, else what holds it.
func (l *Loaded) originOf(key string) string {
	for key != "" {
		if o, ok := l.Origin[key]; ok {
			return o
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return fromDefault
}

const fromDefault = "default"

// Discover fills in the AI providers whose keys are in the environment, where
// the file names none. It looks for the variables' names and copies no key.
func (l *Loaded) Discover(env Env) {
	if len(l.AI.Providers) > 0 {
		return
	}
	l.AI.Providers = aidiag.Discover(env.Get)
	if len(l.AI.Providers) > 0 {
		l.Origin["ai.providers"] = "found in the environment"
	}
}

// find reads the file to use; nil when there is none.
func (l *Loaded) find(path string, env Env) ([]byte, error) {
	if path == "" {
		path = env.Get("NETWHY_CONFIG")
	}
	if path != "" {
		data, err := readFile(path)
		if err != nil {
			return nil, &Error{Origin: path, Message: reason(err) + "; name another file with --config, or leave the flag out"}
		}
		l.File, l.Searched = path, []string{path}
		return data, nil
	}
	for _, p := range places(env) {
		l.Searched = append(l.Searched, p)
		data, err := readFile(p)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotThere):
			continue
		case errors.Is(err, fs.ErrPermission): // another user's, as $HOME may be after sudo or setpriv
			l.Warnings = append(l.Warnings, p+": "+reason(err)+"; make it readable, or name another file with --config")
			continue
		case err != nil:
			return nil, &Error{Origin: p, Message: reason(err) + "; make it readable, or name another file with --config"}
		}
		l.File = p
		return data, nil
	}
	return nil, nil
}

// places returns where a file is looked for: the user's, then the machine's.
func places(env Env) []string {
	dir := env.Get("XDG_CONFIG_HOME")
	if home := env.Get("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	var p []string
	if filepath.IsAbs(dir) { // a relative one is to be ignored (XDG Base Directory Specification)
		p = append(p, filepath.Join(dir, "netwhy", "config.yaml"))
	}
	return append(p, "/etc/netwhy/config.yaml")
}

var (
	errIsDirectory = errors.New("is a directory, not a file")
	errTooLong     = fmt.Errorf("is longer than the %d bytes that a configuration may have", maxFile)
	errNotThere    = errors.New("no such place")
)

func readFile(path string) (data []byte, err error) {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		if strings.HasSuffix(err.Error(), "not a directory") {
			return nil, errors.Join(errNotThere, err)
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, errIsDirectory
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, errTooLong
	}
	if data == nil {
		data = []byte{}
	}
	return data, err
}

// reason tells why without the path, which the message has already.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

// Env is the environment as the process got it.
type Env interface {
	Get(name string) string
	Names() []string
}

// environment sets what variables say, over the file.
func (l *Loaded) environment(env Env, fault func(*Error)) {
	eachLeaf(reflect.ValueOf(&l.Config).Elem(), "", func(path, short string, v reflect.Value) {
		for _, name := range []string{variable(path), short} {
			text := ""
			if name != "" {
				text = env.Get(name)
			}
			if text == "" { // an empty variable is one that is not set
				continue
			}
			if v.Kind() == reflect.Slice {
				if v.Type().Elem().Kind() == reflect.String {
					v.Set(reflect.ValueOf(filepath.SplitList(text)))
					l.Origin[path] = "$" + name
				}
				continue
			}
			if err := setText(v, text); err != nil {
				fault(&Error{Origin: "$" + name, Key: path, Message: err.Error()})
				continue
			}
			l.Origin[path] = "$" + name
		}
	})
}

// variable is the name of the environment variable of a key.
func variable(path string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// Prefix begins the names of netwhy's environment variables.
const Prefix = "NETWHY_"

// FlagVariables are those that stand for a flag rather than a key.
func FlagVariables() []string {
	return []string{
		"NETWHY_CONFIG", "NETWHY_OFFLINE", "NETWHY_DIAGNOSE", "NETWHY_DIAGNOSE_PREVIEW", "NETWHY_FILTER", "NETWHY_FORMAT", "NETWHY_OUTPUT",
		"NETWHY_FAIL_ON", "NETWHY_EVIDENCE", "NETWHY_STRICT", "NETWHY_NO_COLOR", "NETWHY_LOG_LEVEL", "NETWHY_LOG_FORMAT", "NETWHY_SPEED",
		"NETWHY_PROGRESS", "NETWHY_KEY_LOG",
	}
}

// unknownVariables tells of NETWHY_ variables that mean nothing: a misspelt
// NETWHY_OFFLINE must not go unnoticed.
func unknownVariables(env Env) []string {
	known := append(FlagVariables(), "NETWHY_SHARED") // where the project's own tests find captures
	var c Config
	eachLeaf(reflect.ValueOf(&c).Elem(), "", func(path, short string, _ reflect.Value) {
		known = append(known, variable(path))
		if short != "" {
			known = append(known, short)
		}
	})
	var out []string
next:
	for _, name := range env.Names() {
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		for _, k := range known {
			if k == name {
				continue next
			}
		}
		out = append(out, "$"+name+": no setting has this name"+near.Hint(name, known))
	}
	return out
}
