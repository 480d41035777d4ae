package llm

import (
	"errors"
	"fmt"
	"time"
)

// Causes with which an attempt's own timers end it. They are told apart by
// context.Cause, never by text.
var (
	ErrTTFB    = errors.New("no answer within the limit for the first byte")
	ErrIdle    = errors.New("the answer stopped arriving")
	ErrAttempt = errors.New("the attempt took longer than its limit")

	// errGrace ends the wait for what follows a complete answer.
	errGrace = errors.New("the answer was complete")
)

// ErrEmpty is an answer that ended properly and has no content.
var ErrEmpty = errors.New("the answer has no content")

// RedirectError is a 3xx. It is never followed: key and prompt would go along.
type RedirectError struct {
	Status int
	Host   string // where it pointed; "" when it named none
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("redirect (%d) to %q not followed", e.Status, e.Host)
}

// ProtocolError is an answer that is not of the protocol: HTML, no body, another
// content type, an address that no such provider may have.
type ProtocolError struct {
	Reason string
	// JSON is set when one JSON document came instead of a stream: the endpoint
	// may do without streaming.
	JSON bool
}

func (e *ProtocolError) Error() string { return e.Reason }

// BodyLimitError is a body, line or header larger than we read.
type BodyLimitError struct {
	What  string
	Limit int
}

func (e *BodyLimitError) Error() string {
	return fmt.Sprintf("%s is larger than %d bytes", e.What, e.Limit)
}

// ParseError is a line or document that is not what its frame promised.
type ParseError struct{ Reason string }

func (e *ParseError) Error() string { return e.Reason }

// TruncatedError is a stream that ended cleanly and without a stop marker.
type TruncatedError struct{ Events int }

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("the stream ended after %d events without a stop marker", e.Events)
}

// StreamAPIError is an error object that came inside a stream with status 200.
type StreamAPIError struct {
	Status  int // the numeric code, 0 if it has none
	Type    string
	Code    string
	Message string
}

func (e *StreamAPIError) Error() string {
	return fmt.Sprintf("error inside the stream: %d %s %s", e.Status, e.Type, e.Code)
}

// GuardError refuses an address that a provider of this kind must not have.
type GuardError struct{ Addr, Why string }

func (e *GuardError) Error() string { return e.Addr + " refused: " + e.Why }

// AttemptError is what Ask fails with. Its text holds no key, no prompt, no body.
type AttemptError struct {
	Class      Class
	Status     int           // HTTP status, 0 if none came
	Code       string        // provider's code or type, or errno's name
	Param      string        // request field that the provider names
	Message    string        // at most 200 bytes, keys masked
	RetryAfter time.Duration // 0: none given
	NoRetry    bool          // the provider said so (x-should-retry: false)
	Retry      bool          // the provider said so (x-should-retry: true)
	NoStream   bool          // the endpoint answered a stream request with JSON
	Err        error         // for errors.Is/As only; never printed: may quote a body
}

func (e *AttemptError) Error() string {
	s := string(e.Class)
	if e.Status != 0 {
		s += fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

func (e *AttemptError) Unwrap() error { return e.Err }
