package aidiag

import (
	"context"
	"log/slog"
	"strings"

	"netwhy/aidiag/internal/answer"
	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/route"
)

// notes are what the log says of a call besides its decisions.
type notes struct {
	last     llm.Request // as it was sent last
	verdicts []verdict   // of the answers that came whole, in their order
}

type verdict struct {
	schema        bool // it was of the form that was asked for
	kept, dropped int  // claims
}

func (n *notes) judged(schema bool, kept *answer.Answer, rejected []Claim) {
	v := verdict{schema: schema, dropped: len(rejected)}
	if kept != nil {
		v.kept = len(kept.Claims)
	}
	n.verdicts = append(n.verdicts, v)
}

// log writes one line for each attempt. No prompt, no answer, no header and no
// error as it came: those quote bodies. Of a refused request it says how large it
// was and its digest, so that it can be found again, and no word of it.
func (e *Engine) log(ctx context.Context, res *route.Result, n *notes) {
	call := e.calls.Add(1)
	if !e.deps.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	verdicts := n.verdicts
	for i := range res.Decisions {
		d := &res.Decisions[i]
		line := []slog.Attr{
			slog.Int64("call_id", call), slog.String("case", d.Case), slog.Int("attempt", d.Attempt), slog.String("provider", d.Provider),
			slog.String("endpoint", d.Endpoint), slog.String("model", d.Model), slog.String("error_class", string(d.Class)),
			slog.String("error_code", d.Code), slog.Int("http_status", d.Status), slog.String("request_id", d.RequestID),
			slog.Bool("counted", d.Counted), slog.String("breaker_from", d.Sent.BreakerFrom), slog.String("breaker_to", d.Breaker),
			slog.Int64("backoff_ms", d.BackoffMS), slog.Int64("retry_after_ms", d.Sent.RetryAfterMS), slog.Int64("ttfb_ms", d.TTFBMS),
			slog.Int64("duration_ms", d.TookMS), slog.Int64("bytes_in", d.Sent.BytesIn), slog.Int("tokens_in", d.Sent.Prompt),
			slog.Int("tokens_out", d.Sent.Completion), slog.String("next", string(d.Next)),
		}
		if d.Sent.Judged && len(verdicts) > 0 {
			v := verdicts[0]
			verdicts = verdicts[1:]
			line = append(line, slog.Bool("schema_ok", v.schema), slog.Int("claims_kept", v.kept), slog.Int("claims_dropped", v.dropped))
		}
		if d.Class == llm.BadRequest {
			roles, size, digest := n.last.Digest()
			line = append(line, slog.Int("messages", len(roles)), slog.String("roles", strings.Join(roles, ",")), slog.Int("bytes_out", size),
				slog.String("sha256", digest), slog.String("param", d.Sent.Param), slog.String("message", d.Sent.Message))
		}
		e.deps.Log.LogAttrs(ctx, slog.LevelDebug, "asked a model", line...)
	}
}
