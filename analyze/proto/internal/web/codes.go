package web

import "netwhy/analyze/finding"

// Codes of findings.
const (
	ServerError   finding.Code = "http.server-error"
	ClientError   finding.Code = "http.client-error"
	AuthRejected  finding.Code = "http.auth-rejected"
	SlowResponse  finding.Code = "http.slow-response"
	NoResponse    finding.Code = "http.no-response"
	CutResponse   finding.Code = "http.truncated-response"
	UploadRefused finding.Code = "http.expect-not-answered"
	ErrorInBody   finding.Code = "http.error-in-body"
)

// Defs declares them.
func Defs() []finding.Def {
	method := finding.Metric{Name: "method", Text: true, Doc: "of the request"}
	target := finding.Metric{Name: "target", Text: true, Doc: "path or URL asked for"}
	host := finding.Metric{Name: "host", Text: true, Doc: "host asked for"}
	status := finding.Metric{Name: "status", Merge: finding.Last, Doc: "status code"}
	wait := finding.Metric{Name: "ttfb_ms", Merge: finding.Max, Doc: "end of the request to the first byte of the response; 0: request not captured"}
	return []finding.Def{
		{
			Code: ServerError, Severity: finding.Warning, Metrics: []finding.Metric{status, method, target, host, wait},
			Doc: "The server says that it failed (status 5xx; RFC 9110, 15.6). 502, 503 and 504 come from a proxy or an overloaded server as a rule, 500 from the application.",
		},
		{
			Code: ClientError, Severity: finding.Info, Metrics: []finding.Metric{status, method, target, host, wait},
			Doc: "The server refuses the request (status 4xx; RFC 9110, 15.5). A single 404 is normal.",
		},
		{
			Code: AuthRejected, Severity: finding.Notice, Metrics: []finding.Metric{
				status, method, target, host,
				{Name: "with_credentials", Merge: finding.Sum, Doc: "times that the request had credentials"},
				{Name: "challenges", Merge: finding.Sum, Doc: "times that it had none: the first of them is normal"},
				{Name: "scheme", Text: true, Doc: "how the client or the server wants to authenticate"},
			},
			Doc: "The server wants other credentials (401, 407) or forbids the access (403). Steps of a login in several messages (NTLM, Negotiate, a stale Digest) are not counted.",
		},
		{
			Code: SlowResponse, Severity: finding.Notice, Metrics: []finding.Metric{wait, status, method, target, host},
			Doc: "The first byte of the response came 1 s or more after the end of the request: at one second people notice that they wait (J. Nielsen, Usability Engineering, 5.5).",
		},
		{
			Code: NoResponse, Severity: finding.Notice, Metrics: []finding.Metric{
				method, target, host,
				{Name: "waited_seconds", Merge: finding.Max, Doc: "from the end of the request to the end of the connection or capture"},
				{Name: "reset", Doc: "1: the connection was reset"},
				{Name: "requests", Merge: finding.Sum, Doc: "requests without an answer"},
			},
			Doc: "A complete request has no response: the connection ended, or more than 1 s passed.",
		},
		{
			Code: CutResponse, Severity: finding.Notice, Metrics: []finding.Metric{
				method, target, host, status,
				{Name: "missing_bytes", Merge: finding.Sum, Doc: "announced and not sent; 0: the last chunk is missing"},
			},
			Doc: "The connection ended before the announced length of the response (RFC 9112, 8).",
		},
		{
			Code: ErrorInBody, Severity: finding.Info, Metrics: []finding.Metric{
				method, target, host,
				{Name: "text", Text: true, Doc: "how the body begins"},
				{Name: "responses", Merge: finding.Sum, Doc: "such responses"},
			},
			Doc: "The status is 200 and the short body says that the request failed: text that begins with a word of refusal, or JSON with an error in it (JSON-RPC 2.0, 5.1; GraphQL, 7.1).",
		},
		{
			Code: UploadRefused, Severity: finding.Info, Metrics: []finding.Metric{
				method, target, host,
				{Name: "waited_ms", Merge: finding.Max, Doc: "that the client waited for 100 Continue"},
			},
			Doc: "The client asked with Expect: 100-continue, got no answer and sent the body after a wait of its own (RFC 9110, 10.1.1).",
		},
	}
}
