package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"netwhy/analyze/conn"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/csv"
	"netwhy/cmd/netwhy/internal/report/ecs"
	"netwhy/cmd/netwhy/internal/report/eve"
	"netwhy/cmd/netwhy/internal/report/html"
	"netwhy/cmd/netwhy/internal/report/json"
	"netwhy/cmd/netwhy/internal/report/markdown"
	"netwhy/cmd/netwhy/internal/report/ndjson"
	"netwhy/cmd/netwhy/internal/report/parquet"
	"netwhy/cmd/netwhy/internal/report/text"
	"netwhy/cmd/netwhy/internal/report/zeek"
	"netwhy/cmd/netwhy/internal/terminal"
)

// Output is one format and where it goes.
type Output struct {
	Format string
	Path   string // empty or "-": standard output
}

// format makes the sink of one format.
type format struct {
	name string
	sink func(w io.Writer, opt *Options, colour bool) report.Sink

	pictures bool // it draws what a second look at the capture gathers
	diary    bool // it tells the order of events within a conversation
}

// formats lists what can be written, one line each.
func formats() []format {
	return []format{
		{name: "text", sink: func(w io.Writer, opt *Options, colour bool) report.Sink {
			return text.New(w, text.Options{Colour: colour, Lang: string(opt.Lang)})
		}},
		{name: "json", sink: func(w io.Writer, _ *Options, _ bool) report.Sink { return json.New(w) }},
		{name: "html", pictures: true, sink: func(w io.Writer, opt *Options, _ bool) report.Sink {
			return html.New(w, html.Options{Lang: string(opt.Lang)})
		}},
		{name: "markdown", sink: func(w io.Writer, opt *Options, _ bool) report.Sink { return markdown.New(w, string(opt.Lang)) }},
		{name: "ndjson", sink: func(w io.Writer, _ *Options, _ bool) report.Sink { return ndjson.New(w) }},
		{name: "csv", sink: func(w io.Writer, _ *Options, _ bool) report.Sink { return csv.New(w) }},
		{name: "parquet", sink: func(w io.Writer, _ *Options, _ bool) report.Sink { return parquet.New(w) }},
		{name: "zeek", diary: true, sink: func(w io.Writer, _ *Options, _ bool) report.Sink { return zeek.New(w) }},
		{name: "eve", sink: func(w io.Writer, _ *Options, _ bool) report.Sink { return eve.New(w) }},
		{name: "ecs", sink: func(w io.Writer, _ *Options, _ bool) report.Sink { return ecs.New(w) }},
	}
}

// Formats are the names that --format takes.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// OutputError says why an output cannot be written.
type OutputError struct {
	Path   string
	Err    error
	Remedy string
}

func (e *OutputError) Error() string {
	s := fmt.Sprintf("write %s: %v", e.Path, e.Err)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *OutputError) Unwrap() error { return e.Err }

// outputs are the sinks of a run.
type outputs struct {
	list     []*output
	pictures bool // one of them draws
	diary    bool // one of them tells the order of events
}

// output is one sink and the file behind it. The file is opened before the
// capture is read, so that a path that cannot be written is told at once, and
// keeps its old content until there is a new one.
type output struct {
	name    string
	sink    report.Sink
	file    *os.File // nil: standard output
	created bool     // by this run: removed again if nothing is written
	written bool
	err     error
}

func openOutputs(w World, opt *Options) (*outputs, error) {
	o := &outputs{}
	var faults []error
	for _, want := range opt.Outputs {
		out, err := openOutput(w, opt, want)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		o.list = append(o.list, out)
		for _, f := range formats() {
			if f.name == want.Format {
				o.pictures, o.diary = o.pictures || f.pictures, o.diary || f.diary
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

func openOutput(w World, opt *Options, want Output) (*output, error) {
	var newSink func(io.Writer, *Options, bool) report.Sink
	for _, f := range formats() {
		if f.name == want.Format {
			newSink = f.sink
		}
	}
	if newSink == nil {
		return nil, &OutputError{Path: want.Path, Err: fmt.Errorf("no format %q", want.Format), Remedy: "use " + strings.Join(Formats(), ", ")}
	}
	out := &output{name: want.Path}
	if want.Path == "" || want.Path == "-" {
		out.name = "standard output"
		out.sink = newSink(&tracked{w: w.Stdout, out: out}, opt, terminal.UseColour(w.Stdout, opt.NoColour, w.Getenv))
		return out, nil
	}
	if err := sparesInputs(want.Path, opt.Files); err != nil {
		return nil, err
	}
	_, statErr := os.Stat(want.Path)
	f, err := os.OpenFile(want.Path, os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // the user's report, with the user's umask
	if err != nil {
		return nil, &OutputError{Path: want.Path, Err: bare(err), Remedy: "name a file in a folder that exists and that you may write to"}
	}
	out.file, out.created = f, errors.Is(statErr, os.ErrNotExist)
	out.sink = newSink(&tracked{w: f, out: out}, opt, terminal.UseColour(f, opt.NoColour, w.Getenv))
	return out, nil
}

var errIsInput = errors.New("it is one of the captures to read")

// sparesInputs refuses to write over a capture.
func sparesInputs(path string, inputs []string) error {
	st, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // what is not there is no input
	}
	for _, in := range inputs {
		if other, err := os.Stat(in); err == nil && os.SameFile(st, other) && st.Mode().IsRegular() {
			return &OutputError{Path: path, Err: errIsInput, Remedy: "name another file with -o"}
		}
	}
	return nil
}

// tracked empties the file before the first byte, and remembers that there was
// one.
type tracked struct {
	w   io.Writer
	out *output
}

func (t *tracked) Write(b []byte) (int, error) {
	if !t.out.written {
		t.out.written = true
		if f := t.out.file; f != nil {
			if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
				if err := f.Truncate(0); err != nil {
					return 0, err
				}
			}
		}
	}
	return t.w.Write(b)
}

// connections is what takes each conversation as it is folded; nil when no
// output wants them.
func (o *outputs) connections() func(*conn.Summary) {
	var want []*output
	for _, out := range o.list {
		if _, ok := out.sink.(report.ConnectionSink); ok {
			want = append(want, out)
		}
	}
	if len(want) == 0 {
		return nil
	}
	return func(s *conn.Summary) {
		for _, out := range want {
			if sink, ok := out.sink.(report.ConnectionSink); ok && out.err == nil {
				out.err = sink.Connection(s)
			}
		}
	}
}

// alsoConnections is first, and what takes each conversation besides.
func (o *outputs) alsoConnections(first func(*conn.Summary)) func(*conn.Summary) {
	rest := o.connections()
	if rest == nil {
		return first
	}
	return func(s *conn.Summary) {
		first(s)
		rest(s)
	}
}

// early hands the report to those sinks that show what is there while the rest
// is waited for; an error comes again with the rest.
func (o *outputs) early(r *report.Report) {
	for _, out := range o.list {
		if s, ok := out.sink.(report.EarlySink); ok && out.err == nil {
			out.err = s.Early(r)
		}
	}
}

// write hands the report to every sink; one that fails costs the others nothing.
func (o *outputs) write(r *report.Report) error {
	var faults []error
	for _, out := range o.list {
		if err := out.write(r); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

func (out *output) write(r *report.Report) error {
	for i := range r.Findings {
		if out.err == nil {
			out.err = out.sink.Finding(&r.Findings[i])
		}
	}
	if out.err == nil {
		out.err = out.sink.Finish(r)
	}
	switch {
	case out.err == nil:
		return nil
	case out.file == nil && errors.Is(out.err, syscall.EPIPE): // whoever read has had enough, as head does
		return nil
	}
	return &OutputError{Path: out.name, Err: bare(out.err)}
}

// close closes the files, and removes those that were made for nothing.
func (o *outputs) close() error {
	var faults []error
	for _, out := range o.list {
		if out.file == nil {
			continue
		}
		if err := out.file.Close(); err != nil {
			faults = append(faults, &OutputError{Path: out.name, Err: bare(err)})
		}
		if out.created && !out.written {
			if err := os.Remove(out.name); err != nil {
				faults = append(faults, &OutputError{Path: out.name, Err: bare(err)})
			}
		}
	}
	return errors.Join(faults...)
}
