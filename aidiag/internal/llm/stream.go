package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	done      = "[DONE]"
	errorWord = "error"                // of events and types
	drainTime = 100 * time.Millisecond // for the end of the body behind [DONE]: the connection can be used again
	drainSize = 4 << 10
)

// eventBody turns a provider's event stream into one that go-openai cannot
// misread: every frame is one "data:" line of plain chunks, and the end is
// either "[DONE]" (a stop marker was proven) or a typed error.
type eventBody struct {
	x     *exchange
	body  io.ReadCloser
	lines lineSplitter
	in    []byte // read buffer

	event    string       // of the event being collected
	data     []byte       // its data lines, joined by line feeds
	rows     int          // their number
	out      bytes.Buffer // clean frames not yet read
	events   int
	finished bool  // a finish_reason was seen
	done     bool  // [DONE] was seen
	err      error // the end, once known
}

func newEventBody(x *exchange, body io.ReadCloser) *eventBody {
	return &eventBody{x: x, body: body, in: make([]byte, 8<<10)}
}

// Close closes the connection's body.
func (b *eventBody) Close() error { return b.body.Close() }

// Read returns clean frames, then io.EOF behind "[DONE]", or the typed error.
func (b *eventBody) Read(p []byte) (int, error) {
	for b.out.Len() == 0 {
		if b.err != nil {
			if !errors.Is(b.err, io.EOF) {
				b.x.fault = b.err
			}
			return 0, b.err
		}
		b.fill()
	}
	return b.out.Read(p)
}

func (b *eventBody) fill() {
	n, err := b.body.Read(b.in)
	if n > 0 {
		b.x.bytesIn += int64(n)
		if b.x.watch != nil {
			b.x.watch.bytes()
		}
		if b.x.bytesIn > maxStream {
			b.end(&BodyLimitError{What: "the stream", Limit: maxStream})
			return
		}
		if e := b.lines.feed(b.in[:n], b.line); e != nil {
			b.end(e)
			return
		}
	}
	if b.err != nil || err == nil {
		return
	}
	if errors.Is(err, io.EOF) {
		// The last line may lack its end, the last event its blank line.
		if e := b.lines.flush(b.line); e != nil {
			b.end(e)
			return
		}
		if e := b.dispatch(); e != nil {
			b.end(e)
			return
		}
		err = &TruncatedError{Events: b.events}
	}
	b.end(err)
}

// end closes the account: a proven stop marker outweighs whatever came after it.
func (b *eventBody) end(err error) {
	if b.err != nil {
		return
	}
	if b.finished || b.done {
		b.out.WriteString("data: " + done + "\n\n")
		b.err = io.EOF
		return
	}
	b.err = err
}

func (b *eventBody) line(l []byte) error {
	if b.err != nil {
		return nil //nolint:nilerr // the end is known already: what follows it counts for nothing
	}
	if len(l) == 0 {
		return b.dispatch()
	}
	if l[0] == ':' {
		return nil // a comment: keep-alive
	}
	name, value, found := bytes.Cut(l, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch {
	case found && string(name) == "data":
		// Some servers leave out the blank line between events. Looked at for the
		// first line only: an event of many lines costs no more than its bytes.
		if b.rows == 1 && (json.Valid(b.data) || string(b.data) == done) {
			if err := b.dispatch(); err != nil {
				return err
			}
		}
		if b.rows > 0 {
			b.data = append(b.data, '\n')
		}
		b.data = append(b.data, value...)
		b.rows++
		if len(b.data) > maxLine {
			return &BodyLimitError{What: "one event", Limit: maxLine}
		}
		return nil
	case found && string(name) == "event":
		b.event = string(value)
		return nil
	case found && (string(name) == "id" || string(name) == "retry"):
		return nil
	}
	return bareLine(l)
}

// bareLine judges a line that is no field: an error object without its frame, or
// a page of HTML.
func bareLine(l []byte) error {
	l = bytes.TrimSpace(l)
	if len(l) == 0 {
		return nil
	}
	switch l[0] {
	case '{':
		if e := errorObject(l, ""); e != nil {
			return e
		}
		return &ParseError{Reason: "a JSON line outside of a frame"}
	case '<':
		return &ProtocolError{Reason: "HTML inside a stream"}
	}
	return nil // the WHATWG's rule: unknown fields are ignored
}

// dispatch handles one complete event.
func (b *eventBody) dispatch() error {
	event, data, rows := b.event, bytes.TrimSpace(b.data), b.rows
	b.event, b.data, b.rows = "", b.data[:0], 0
	if rows == 0 || b.done {
		return nil
	}
	if b.x.watch != nil {
		b.x.watch.event()
	}
	if string(data) == done {
		b.done = true
		b.drain()
		return nil
	}
	if len(data) > 0 && data[0] == '<' {
		return &ProtocolError{Reason: "HTML inside a stream"}
	}
	if e := errorObject(data, event); e != nil {
		return e
	}
	frame, finish, err := cleanFrame(data)
	if err != nil {
		return err
	}
	b.events++
	if frame != nil {
		b.out.WriteString("data: ")
		b.out.Write(frame)
		b.out.WriteString("\n\n")
	}
	if finish && !b.finished {
		b.finished = true
		if b.x.watch != nil {
			b.x.watch.complete(b.x.watch.limits.Grace)
		}
	}
	return nil
}

// drain reads what little may follow [DONE], so that the connection can be used
// again, and ends the stream.
func (b *eventBody) drain() {
	if b.x.watch != nil {
		b.x.watch.complete(drainTime)
		if _, err := io.CopyN(io.Discard, b.body, drainSize); err != nil {
			b.end(io.EOF)
			return
		}
	}
	b.end(io.EOF)
}

// cleanFrame reduces a chunk to what an answer is made of. Other members may
// have any type, as they do among compatible servers. finish tells that the
// model said why it stopped.
func cleanFrame(data []byte) (frame []byte, finish bool, err error) {
	var in struct {
		Model   json.RawMessage `json:"model"`
		Choices []struct {
			Index int `json:"index"`
			Delta *struct {
				Role      json.RawMessage `json:"role"`
				Content   json.RawMessage `json:"content"`
				Refusal   json.RawMessage `json:"refusal"`
				Reasoning json.RawMessage `json:"reasoning"`
				Thinking  json.RawMessage `json:"reasoning_content"`
			} `json:"delta"`
			Finish *string `json:"finish_reason"`
		} `json:"choices"`
		Usage json.RawMessage `json:"usage"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, false, &ParseError{Reason: "a frame is not a chunk of an answer: " + jsonFault(err)}
	}
	type delta struct {
		Content   string `json:"content,omitempty"`
		Refusal   string `json:"refusal,omitempty"`
		Reasoning string `json:"reasoning_content,omitempty"`
	}
	type choice struct {
		Index  int    `json:"index"`
		Delta  delta  `json:"delta"`
		Finish string `json:"finish_reason,omitempty"`
	}
	type usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
	var out struct {
		Model   string   `json:"model,omitempty"`
		Choices []choice `json:"choices"`
		Usage   *usage   `json:"usage,omitempty"`
	}
	out.Choices = []choice{}
	for _, c := range in.Choices {
		o := choice{Index: c.Index}
		if c.Finish != nil && *c.Finish != "" {
			o.Finish, finish = *c.Finish, true
		}
		if c.Delta != nil {
			var errs [3]error
			o.Delta.Content, errs[0] = text(c.Delta.Content)
			o.Delta.Refusal, errs[1] = text(c.Delta.Refusal)
			// Reasoning is progress, never the answer; it is kept out of memory.
			if len(c.Delta.Reasoning) > 0 || len(c.Delta.Thinking) > 0 {
				o.Delta.Reasoning = "…"
			}
			if err := errors.Join(errs[:]...); err != nil {
				return nil, false, err
			}
		}
		out.Choices = append(out.Choices, o)
	}
	if m := strings.Trim(string(in.Model), `"`); len(m) > 0 && len(m) <= 128 && in.Model[0] == '"' {
		out.Model = m
	}
	if u := new(usage); len(in.Usage) > 0 && in.Usage[0] == '{' && json.Unmarshal(in.Usage, u) == nil {
		out.Usage = u
	}
	frame, err = json.Marshal(out)
	if err != nil {
		return nil, false, &ParseError{Reason: "a frame cannot be written again"}
	}
	return frame, finish, nil
}

// text reads a string, null, or the array form of content.
func text(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		return b.String(), nil
	}
	return "", &ParseError{Reason: "the content of a frame is not text"}
}

// jsonFault says what is wrong with a document without quoting it.
func jsonFault(err error) string {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("not JSON at byte %d", s.Offset)
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("wrong type for %q at byte %d", t.Field, t.Offset)
	}
	return "not JSON"
}

// errorObject finds an error object in a document: {"error": ...} wherever the
// key stands, an array of it (Gemini), or an event or type named error.
func errorObject(data []byte, event string) *StreamAPIError {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil || len(list) == 0 {
			return nil //nolint:nilerr // what is not JSON is no error object
		}
		data = list[0]
	}
	var doc struct {
		Error json.RawMessage `json:"error"`
		errorFields
	}
	if json.Unmarshal(data, &doc) != nil {
		if event == errorWord {
			return &StreamAPIError{Type: errorWord}
		}
		return nil
	}
	var f errorFields
	switch {
	case len(doc.Error) > 0 && string(doc.Error) != "null" && string(doc.Error) != "{}":
		var s string
		if json.Unmarshal(doc.Error, &s) == nil {
			f.Message = jsonText(doc.Error)
		} else if json.Unmarshal(doc.Error, &f) != nil {
			return &StreamAPIError{Type: errorWord}
		}
		if len(f.Code) == 0 {
			f.Code = doc.Code
		}
	case event == errorWord || string(doc.Type) == `"error"`:
		f = doc.errorFields
	default:
		return nil
	}
	e := &StreamAPIError{Type: f.Type.String(), Code: f.Code.String(), Message: f.Message.String()}
	for _, v := range []string{e.Code, f.Status.String()} {
		if n, err := strconv.Atoi(v); err == nil && n >= 400 && n < 600 {
			e.Status = n
			break
		}
	}
	return e
}

// errorFields are the members of an error object; any may be of any type.
type errorFields struct {
	Type    jsonText `json:"type"`
	Code    jsonText `json:"code"`
	Status  jsonText `json:"status"`
	Param   jsonText `json:"param"`
	Message jsonText `json:"message"`
}

// jsonText is a member that may be a string, a number or null.
type jsonText json.RawMessage

// UnmarshalJSON keeps the raw member.
func (t *jsonText) UnmarshalJSON(b []byte) error {
	*t = append((*t)[:0], b...)
	return nil
}

// String returns the text of the member, "" for null and for objects.
func (t jsonText) String() string {
	var s string
	if json.Unmarshal([]byte(t), &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal([]byte(t), &n) == nil {
		return n.String()
	}
	return ""
}
