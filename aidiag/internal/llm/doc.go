// Package llm makes one attempt to get one answer from one OpenAI-compatible
// endpoint, and says of every failure which class it is of. It knows nothing of
// retries, breakers, other endpoints or the meaning of the answer.
//
// # How a value passes through
//
// [Endpoint.Ask] builds the request with go-openai and sends it through our own
// [http.RoundTripper]. That wrapper captures status and headers of the attempt,
// bounds every body, refuses redirects, HTML and wrong content types, and reads
// the event stream by the rules of the WHATWG. go-openai is handed clean
// "data:" frames or one typed error, never a cut stream that looks like its end.
//
// # Why a RoundTripper of our own
//
// go-openai v1.43 reports "[DONE]", a clean end, a half line, an HTML page and a
// body that is not a stream at all with the same io.EOF, loses the status when
// the error body is reset, reads bodies without any limit and follows redirects
// with the prompt. Below the wrapper none of this can happen.
//
// # Why classes come from state and not from texts
//
// Error texts are the provider's or the system's and change. The caller's
// context, the cause of the attempt's end, our typed errors, the captured status
// and errno do not. [classify] asks them in one fixed order; the order is the
// specification.
package llm
