// Package config holds what a user can set once instead of on every command
// line: one struct with its defaults, read from a file and from the environment.
//
// # Why a strict reader of its own
//
// A misspelt key that is passed over leaves the user with a setting that does
// nothing and says nothing. So every fault of the file is told, at once, with
// line, column and the near name; and every value knows where it came from, so
// that "config show" can say why the effective configuration is what it is.
package config

import (
	"encoding"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"netwhy/aidiag"
	"netwhy/analyze/finding"
)

// Config is the effective configuration. The tags "yaml" name the keys of the
// file; "env" adds a short name to the one that every key has (NETWHY_ and its
// path in capitals, such as NETWHY_LIMITS_MEMORY).
type Config struct {
	AI      aidiag.Config `yaml:"ai"`
	Capture Capture       `yaml:"capture"`
	Limits  Limits        `yaml:"limits"`
	Rules   []string      `yaml:"rules" env:"NETWHY_RULES"`
	Report  Report        `yaml:"report"`
}

// Capture is how live capture reads.
type Capture struct {
	Buffer  Bytes  `yaml:"buffer"`  // of the kernel's ring
	Snaplen Count  `yaml:"snaplen"` // bytes of a frame that are kept
	User    string `yaml:"user"`    // to become after the interfaces are open; empty: stay
}

// Limits bound what a run may use.
type Limits struct {
	Connections Count `yaml:"connections"` // live ones kept in memory
	Memory      Bytes `yaml:"memory"`      // the collector works harder as it comes near
	Workers     Count `yaml:"workers"`     // 0: one per core
}

// Report is what reports look like.
type Report struct {
	Lang        Lang     `yaml:"lang" env:"NETWHY_LANG"`
	MinSeverity Severity `yaml:"min_severity" env:"NETWHY_MIN_SEVERITY"`
}

// defaultConnections stay under 1 GiB together.
const defaultConnections = 1_000_000

// Default returns the configuration of somebody who set nothing. The language
// follows the locale: getenv asks for the usual variables in their order.
func Default(getenv func(string) string) Config {
	return Config{
		AI:      aidiag.DefaultConfig(),
		Capture: Capture{Buffer: 64 << 20, Snaplen: 262144},
		Limits:  Limits{Connections: defaultConnections, Memory: 2 << 30},
		Rules:   []string{},
		Report:  Report{Lang: localeLang(getenv), MinSeverity: Severity(finding.Notice)},
	}
}

// localeLang reads the locale as POSIX says (IEEE Std 1003.1, 8.2): the first
// variable that is not empty decides.
func localeLang(getenv func(string) string) Lang {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := getenv(name); v != "" {
			if strings.HasPrefix(v, "zh") {
				return Chinese
			}
			return English
		}
	}
	return English
}

// Bounds of what libpcap takes, in bytes.
const (
	MinSnaplen = 64
	MaxSnaplen = 256 << 20
	MinBuffer  = 1 << 20
	MaxBuffer  = 2<<30 - 1
)

// check tells what no single value shows; path is the key at fault.
func (c *Config) check(fault func(path, format string, args ...any)) {
	switch {
	case c.Capture.Snaplen < MinSnaplen:
		fault("capture.snaplen", "%d bytes hold no packet's headers; at least %d are needed", c.Capture.Snaplen, MinSnaplen)
	case c.Capture.Snaplen > MaxSnaplen:
		fault("capture.snaplen", "%d bytes are more than libpcap can take (%d)", c.Capture.Snaplen, MaxSnaplen)
	}
	if c.Capture.Buffer < MinBuffer || c.Capture.Buffer > MaxBuffer {
		fault("capture.buffer", "%s is outside 1 MiB to 2 GiB", c.Capture.Buffer)
	}
	if c.Limits.Connections < 1 {
		fault("limits.connections", "at least 1 connection has to fit")
	}
	const minMemory = 64 << 20
	if c.Limits.Memory < minMemory {
		fault("limits.memory", "%s is too little; at least 64 MiB are needed", c.Limits.Memory)
	}
	for _, f := range aiFaults(c.AI.Validate()) {
		fault(f.Field, "%s", f.Text)
	}
	const maxWorkers = 256
	if c.Limits.Workers > maxWorkers {
		fault("limits.workers", "%d is more than %d; 0 means one per core", c.Limits.Workers, maxWorkers)
	}
}

// aiFaults takes the joined faults of the section "ai" apart.
func aiFaults(err error) []*aidiag.Fault {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*aidiag.Fault
		for _, e := range joined.Unwrap() {
			out = append(out, aiFaults(e)...)
		}
		return out
	}
	if f, ok := errors.AsType[*aidiag.Fault](err); ok {
		return []*aidiag.Fault{f}
	}
	return []*aidiag.Fault{{Field: "ai", Text: err.Error()}}
}

// Bytes is an amount of memory, written with a unit: 64MiB, 2 GiB, 500 kB.
type Bytes int64

// UnmarshalText reads an amount; a bare number is bytes.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	const most = 1 << 50
	if err != nil || n > most {
		return fmt.Errorf("%q is no size; write it as 64MiB or 2GiB", text)
	}
	*b = Bytes(n)
	return nil
}

// MarshalText writes whole binary units where they fit.
func (b Bytes) MarshalText() ([]byte, error) {
	n, unit := int64(b), 0
	for n != 0 && n%1024 == 0 && unit < len(binaryUnits)-1 {
		n, unit = n/1024, unit+1
	}
	return fmt.Appendf(nil, "%d%s", n, binaryUnits[unit]), nil
}

func (b Bytes) String() string {
	text, _ := b.MarshalText() // never fails
	return string(text)
}

var binaryUnits = [...]string{"", "KiB", "MiB", "GiB", "TiB"} //nolint:gochecknoglobals // constant table

// Count is a number that is not negative.
type Count int

// UnmarshalText reads a whole number.
func (c *Count) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return fmt.Errorf("%q is no whole number from 0 up", text)
	}
	*c = Count(n)
	return nil
}

// MarshalText writes the number.
func (c Count) MarshalText() ([]byte, error) { return fmt.Append(nil, int(c)), nil }

// Lang is a language of titles, explanations and remedies.
type Lang string

// Languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// UnmarshalText reads the name of a language.
func (l *Lang) UnmarshalText(text []byte) error {
	switch v := Lang(text); v {
	case English, Chinese:
		*l = v
		return nil
	}
	return fmt.Errorf("%q is no language that netwhy speaks; use en or zh", text)
}

// MarshalText writes the name.
func (l Lang) MarshalText() ([]byte, error) { return []byte(l), nil }

// Severity is a severity in the configuration and on the command line.
type Severity finding.Severity

// UnmarshalText reads the name of a severity.
func (s *Severity) UnmarshalText(text []byte) error {
	v, ok := finding.ParseSeverity(string(text))
	if !ok {
		return fmt.Errorf("%q is no severity; use info, notice, warning or critical", text)
	}
	*s = Severity(v)
	return nil
}

// MarshalText writes the name.
func (s Severity) MarshalText() ([]byte, error) { return finding.Severity(s).MarshalText() }

var (
	_ encoding.TextUnmarshaler = (*Bytes)(nil)
	_ encoding.TextUnmarshaler = (*Count)(nil)
	_ encoding.TextUnmarshaler = (*Lang)(nil)
	_ encoding.TextUnmarshaler = (*Severity)(nil)
)
