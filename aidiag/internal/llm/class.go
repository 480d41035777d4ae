package llm

// Class says what kind of failure an attempt ended with. The names are part of
// the report (ai.decisions, error_class). The empty class is success.
type Class string

// Classes of attempts.
const (
	OK             Class = ""
	ClientAbort    Class = "client_abort"    // the caller's context or our own budget ended
	BreakerOpen    Class = "breaker_open"    // not sent: breaker, gate or network gate is closed
	NetPersistent  Class = "net_persistent"  // refused, unreachable, no such name, timed out
	NetTransient   Class = "net_transient"   // reset, cut, resolver busy
	TLS            Class = "tls"             // certificate or handshake
	Protocol       Class = "protocol"        // not the protocol we speak: HTML, redirect, wrong type, limits
	GatewayTimeout Class = "gateway_timeout" // 504, 520 to 524: a network failure in HTTP's clothes
	Server         Class = "server"          // other 5xx, 408, 409, 425, 529
	RateLimit      Class = "rate_limit"      // 429
	Auth           Class = "auth"            // 401, 403, 407
	Billing        Class = "billing"         // 402 and its disguises
	NotFound       Class = "not_found"       // 404, 405, 410, 501: model or base URL
	BadRequest     Class = "bad_request"     // other 4xx
	TooLarge       Class = "too_large"       // prompt or answer does not fit the model
	ContentFilter  Class = "content_filter"  // the provider declined
	Parse          Class = "parse"           // half a line, half a JSON, no stop marker, no content
	InvalidOutput  Class = "invalid_output"  // against the schema, or no claim survived
	Local          Class = "local"           // our own configuration; nothing was sent
	Busy           Class = "busy"            // not sent: all slots and the queue are taken
	Quota          Class = "quota"           // not sent: our own limit of requests or tokens
	Internal       Class = "internal"        // our own fault: the attempt panicked
)

// Outcome is what a class tells the breaker of the endpoint.
type Outcome uint8

// Outcomes. Alive is also the outcome of refusals (4xx): they prove that the
// endpoint works, and what they must stop is stopped by cooldown and quarantine.
const (
	Neutral Outcome = iota
	Alive
	Failed
)

// Outcome of the class. again tells that a passing fault (net_transient or
// parse) was seen before in the same call: the first one is neutral.
func (c Class) Outcome(again bool) Outcome {
	switch c {
	case NetPersistent, TLS, Server, GatewayTimeout, Protocol, Internal:
		return Failed
	case NetTransient, Parse:
		if again {
			return Failed
		}
		return Neutral
	case OK, RateLimit, Auth, Billing, NotFound, BadRequest, TooLarge, ContentFilter, InvalidOutput:
		return Alive
	case ClientAbort, BreakerOpen, Local, Busy, Quota:
		return Neutral
	default:
		return Neutral
	}
}

// Passing reports whether the first fault of this class in a call is forgiven.
func (c Class) Passing() bool { return c == NetTransient || c == Parse }
