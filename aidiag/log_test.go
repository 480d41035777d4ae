package aidiag

import (
	"strings"
	"testing"

	"netwhy/aidiag/faulttest"
)

// TestLog: a line for each attempt has what somebody needs who looks for the
// fault, and nothing of the question, the answer or the key.
func TestLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault faulttest.Fault
		want  []string
		never []string
	}{
		{
			"answer", faulttest.Healthy(),
			[]string{
				"call_id=1", "case=D1", "attempt=1", "provider=A", "model=m", `error_class=""`, "http_status=200", "request_id=req-1", "counted=false",
				"breaker_from=closed", "breaker_to=closed", "backoff_ms=0", "retry_after_ms=0", "ttfb_ms=", "duration_ms=", "bytes_in=", "tokens_in=700",
				"tokens_out=90", "next=done", "schema_ok=true", "claims_kept=1", "claims_dropped=0",
			},
			[]string{"sha256=", "bytes_in=0"},
		},
		{
			"lies", faulttest.Lying(),
			[]string{"error_class=invalid_output", "schema_ok=true", "claims_kept=0", "claims_dropped=1", "next=retry-same", "next=rules"},
			[]string{"F99999"},
		},
		{"not JSON", faulttest.Text("I think it is fine."), []string{"schema_ok=false", "claims_kept=0"}, []string{"I think"}},
		{
			"refused", faulttest.JSON(400, `{"error":{"message":"no such field, key `+testKey+`","type":"invalid_request_error","param":"messages","code":"bad_thing"}}`),
			[]string{
				"error_class=bad_request", "error_code=bad_thing", "messages=2", `roles=system,user`, "bytes_out=", "sha256=", "param=messages",
				`message="no such field, key [key]"`, "next=rules",
			},
			[]string{"schema_ok", "bytes_out=0"},
		},
		{"breaker", faulttest.Error(500, "", "", "", "Retry-After-Ms: 20"), []string{"retry_after_ms=20", "counted=true", "http_status=500", "next=retry-same"}, nil},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.fault)
			w.lonely(0)
			a := ask(t, w.run(), testCase("D1"))
			w.complete(testCase("D1"), a)
			w.mu.Lock()
			defer w.mu.Unlock()
			log := w.log.String()
			for _, want := range c.want {
				if !strings.Contains(log, want) {
					t.Errorf("no %q in %s", want, log)
				}
			}
			for _, bad := range append(c.never, testKey, "rules_say", "ip-priv", "receiver-zero-window", "supports the rules", "Authorization", "Bearer") {
				if strings.Contains(log, bad) {
					t.Errorf("%q in %s", bad, log)
				}
			}
		})
	}
}
