package llm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// classify says which class a failure is of. parent is the caller's context,
// attempt its child with causes, x what the round tripper saw, err what the
// client returned. The order is the specification: state first, own types next,
// then the status, then what the system said.
func classify(parent, attempt context.Context, x *exchange, err error) Class {
	if parent.Err() != nil {
		return ClientAbort
	}
	switch cause := context.Cause(attempt); {
	case errors.Is(cause, ErrTTFB), errors.Is(cause, ErrIdle), errors.Is(cause, ErrAttempt):
		return NetPersistent
	}
	if x.fault != nil {
		err = errors.Join(x.fault, err)
	}
	if c := ownClass(err); c != OK {
		return c
	}
	if e, ok := errors.AsType[*StreamAPIError](err); ok {
		return apiClass(e.Status, e.Type+" "+e.Code+" "+e.Message, e.Type+" "+e.Code)
	}
	if x.status >= 400 {
		kind, message := bodyError(x.errorBody)
		return apiClass(x.status, kind+" "+message, kind)
	}
	if isLocal(err) {
		return Local
	}
	return systemClass(x, err)
}

// ownClass knows the types that this package makes.
func ownClass(err error) Class {
	if _, ok := errors.AsType[*RedirectError](err); ok {
		return Protocol
	}
	if _, ok := errors.AsType[*ProtocolError](err); ok {
		return Protocol
	}
	if _, ok := errors.AsType[*BodyLimitError](err); ok {
		return Protocol
	}
	if _, ok := errors.AsType[*GuardError](err); ok {
		return Protocol
	}
	if _, ok := errors.AsType[*ParseError](err); ok {
		return Parse
	}
	if _, ok := errors.AsType[*TruncatedError](err); ok {
		return Parse
	}
	if errors.Is(err, ErrEmpty) {
		return Parse
	}
	if a, ok := errors.AsType[*AttemptError](err); ok {
		return a.Class
	}
	return OK
}

// apiClass classifies a refusal by its status and by the codes in it. Providers
// disagree: a spent budget is 400 at one and 429 at the next.
func apiClass(status int, all, kind string) Class {
	all, kind = strings.ToLower(all), strings.ToLower(kind)
	has := func(in string, words ...string) bool {
		for _, w := range words {
			if strings.Contains(in, w) {
				return true
			}
		}
		return false
	}
	if status == 0 {
		status = statusOfKind(kind)
	}
	switch {
	case status == http.StatusPaymentRequired,
		has(all, "insufficient_quota", "billing_error", "insufficient balance", "insufficient credits", "usage limits", "credit balance"):
		return Billing
	case status == http.StatusTooManyRequests:
		return RateLimit
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		if has(kind, "content_filter", "content_policy") {
			return ContentFilter
		}
		return Auth
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone, status == http.StatusNotImplemented:
		return NotFound
	case status == http.StatusRequestEntityTooLarge, has(kind, "context_length_exceeded"),
		(status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) &&
			has(all, "too long", "maximum context length", "context window", "context size", "too many tokens"):
		return TooLarge
	case has(kind, "content_filter", "content_policy_violation"):
		return ContentFilter
	case status == http.StatusGatewayTimeout, status >= 520 && status <= 524:
		return GatewayTimeout
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return Server
	}
	return BadRequest
}

// statusOfKind is the status that an error without a number stands for.
func statusOfKind(kind string) int {
	for _, k := range []struct {
		word   string
		status int
	}{
		{"rate_limit", 429},
		{"resource_exhausted", 429},
		{"too_many_requests", 429},
		{"overloaded", 529},
		{"authentication", 401},
		{"permission", 403},
		{"invalid_api_key", 401},
		{"not_found", 404},
		{"model_not_found", 404},
		{"invalid_request", 400},
		{"request_too_large", 413},
		{"context_length_exceeded", 400},
		{"content_filter", 400},
		{"content_policy", 400},
	} {
		if strings.Contains(kind, k.word) {
			return k.status
		}
	}
	return http.StatusInternalServerError
}

// bodyError finds type, code and message in an error body of any of the shapes
// that compatible servers have.
func bodyError(body []byte) (kind, message string) {
	if e := errorObject(body, ""); e != nil {
		return e.Type + " " + e.Code, e.Message
	}
	var doc struct {
		errorFields
		Detail jsonText `json:"detail"`
		Object jsonText `json:"object"`
	}
	if json.Unmarshal(body, &doc) == nil {
		m := doc.Message.String()
		if m == "" {
			m = doc.Detail.String()
		}
		return doc.Type.String() + " " + doc.Code.String(), m
	}
	return "", ""
}

// isLocal knows what fails before anything is sent.
func isLocal(err error) bool {
	for _, e := range []error{
		openai.ErrChatCompletionInvalidModel, openai.ErrChatCompletionStreamNotSupported, openai.ErrContentFieldsMisused,
		openai.ErrReasoningModelMaxTokensDeprecated, openai.ErrReasoningModelLimitationsLogprobs, openai.ErrReasoningModelLimitationsOther,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	u, ok := errors.AsType[*url.Error](err)
	if !ok {
		return false
	}
	if u.Op == "parse" {
		return true
	}
	text := u.Err.Error()
	return strings.Contains(text, "unsupported protocol scheme") || strings.Contains(text, "invalid header field value")
}

// systemClass reads what TLS, the resolver and the kernel said.
func systemClass(x *exchange, err error) Class {
	if isTLS(err) {
		return TLS
	}
	if d, ok := errors.AsType[*net.DNSError](err); ok {
		if d.IsNotFound {
			return NetPersistent
		}
		return NetTransient
	}
	for _, e := range unreachable() {
		if errors.Is(err, e) {
			return NetPersistent
		}
	}
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		return NetPersistent
	}
	for _, e := range passing() {
		if errors.Is(err, e) {
			return NetTransient
		}
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return Parse
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Parse
	}
	if errors.Is(err, openai.ErrTooManyEmptyStreamMessages) {
		return Parse
	}
	if x.status == http.StatusOK && errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Parse
	}
	text := err.Error()
	if strings.Contains(text, "malformed HTTP") || strings.Contains(text, "server response headers exceeded") ||
		strings.Contains(text, "response header list") { // HTTP/2's word for it
		return Protocol
	}
	return NetTransient
}

func isTLS(err error) bool {
	if errors.Is(err, http.ErrSchemeMismatch) {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return true
	}
	o, ok := errors.AsType[*net.OpError](err)
	return ok && o.Op == "remote error" // a TLS alert; its type is unexported
}

// DialFault reports whether the failure happened before a connection stood:
// refused, unreachable, no such name. The network gate counts these.
func DialFault(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	o, ok := errors.AsType[*net.OpError](err)
	return ok && o.Op == "dial"
}
