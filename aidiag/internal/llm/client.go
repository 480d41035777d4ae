package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// Kind is the dialect of an endpoint.
type Kind string

// Kinds, as in the configuration file.
const (
	OpenAI    Kind = "openai"
	Azure     Kind = "azure"
	Anthropic Kind = "anthropic"
)

// JSONMode says how an endpoint is told to answer in JSON.
type JSONMode uint8

// Modes, weakest first. The answer is checked locally whatever the mode.
const (
	JSONByPrompt JSONMode = iota // the prompt alone
	JSONObject
	JSONSchema
)

// Caps are the optional features that an endpoint is asked to use. A provider
// that refuses one by name loses it and is asked again.
type Caps struct {
	JSON           JSONMode
	Stream         bool
	StreamUsage    bool // stream_options.include_usage
	Temperature    bool
	MaxTokens      bool // max_tokens
	MaxCompletions bool // max_completion_tokens; wins over MaxTokens
}

// Request is what is asked. The same request may go to several endpoints.
type Request struct {
	System, User string
	Reply        string // the model's own answer that was refused; with Repair only
	Repair       string // what was wrong with it
	Schema       json.RawMessage
	Caps         Caps
	MaxTokens    int           // of the answer; 0 leaves it to the provider
	FirstByte    time.Duration // shorter limit for a probe; 0 keeps the endpoint's
}

// Reply is what an attempt learned, also when it failed.
type Reply struct {
	Content    string // complete or empty: never a part of an answer
	Model      string
	Prompt     int // tokens; estimated at 2 bytes a token where the provider is silent
	Completion int
	Status     int
	RequestID  string
	TTFB       time.Duration
	Took       time.Duration
	BytesIn    int64
	RetryAfter time.Duration
}

// Options describe an endpoint. Key, host and base URL belong together.
type Options struct {
	BaseURL    string // as ParseBase returns it
	Kind       Kind
	Key        Secret
	Model      string
	APIVersion string // Azure's deployment style only
	Timeouts   Timeouts
	Transport  http.RoundTripper
}

// Endpoint is one place where one model can be asked. Safe for concurrent use.
type Endpoint struct {
	opt    Options
	client *openai.Client
}

const (
	azureVersion = "2024-10-21"
	temperature  = 0.2 // answers that differ little from run to run
)

// New makes an endpoint; nothing is sent.
func New(opt Options) (*Endpoint, error) {
	u, err := url.Parse(opt.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	cfg := openai.DefaultConfig("")
	rt := &roundTripper{base: opt.Transport, key: opt.Key, scheme: u.Scheme, host: u.Host}
	if opt.Kind == Azure {
		rt.azure = true
		if !strings.HasSuffix(u.Path, "/openai/v1") {
			cfg = openai.DefaultAzureConfig("", opt.BaseURL)
			cfg.APIVersion = opt.APIVersion
			if cfg.APIVersion == "" {
				cfg.APIVersion = azureVersion
			}
			cfg.AzureModelMapperFunc = func(model string) string { return model }
		}
	}
	cfg.BaseURL = opt.BaseURL
	cfg.HTTPClient = &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Endpoint{opt: opt, client: openai.NewClientWithConfig(cfg)}, nil
}

// ReasoningModel reports whether models of this name think before they answer:
// they take longer, refuse a temperature and name their limit differently.
func ReasoningModel(model string) bool {
	for _, p := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6", "deepseek-reasoner"} {
		if strings.HasPrefix(model, p) {
			return true
		}
	}
	return false
}

func (e *Endpoint) request(q Request) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{
		Model: e.opt.Model,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: q.System},
			{Role: openai.ChatMessageRoleUser, Content: q.User},
		},
		Stream: q.Caps.Stream,
	}
	if q.Repair != "" {
		if q.Reply != "" {
			r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: q.Reply})
		}
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: q.Repair})
	}
	switch q.Caps.JSON {
	case JSONSchema:
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "diagnosis", Strict: true, Schema: q.Schema},
		}
	case JSONObject:
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	case JSONByPrompt:
	}
	if q.Caps.Stream && q.Caps.StreamUsage {
		r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	reasoning := ReasoningModel(e.opt.Model)
	if q.Caps.Temperature && !reasoning {
		r.Temperature = temperature
	}
	switch {
	case q.MaxTokens == 0 || reasoning: // thinking counts too: a limit would cut the answer off
	case q.Caps.MaxCompletions:
		r.MaxCompletionTokens = q.MaxTokens
	case q.Caps.MaxTokens:
		r.MaxTokens = q.MaxTokens //nolint:staticcheck // the name that compatible servers know
	}
	return r
}

// Digest tells of a request what may stand in a log: the roles of its messages,
// their bytes in all and the SHA-256 of their text.
func (q Request) Digest() (roles []string, size int, digest string) {
	h := sha256.New()
	for _, m := range (&Endpoint{}).request(q).Messages {
		roles = append(roles, m.Role)
		size += len(m.Content)
		_, _ = io.WriteString(h, m.Content) // a hash takes everything
	}
	return roles, size, hex.EncodeToString(h.Sum(nil))
}

// Body returns exactly the bytes that Ask would send as the body.
func (e *Endpoint) Body(q Request) ([]byte, error) {
	b, err := json.Marshal(e.request(q))
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return b, nil
}

// Ask makes one attempt. Its error is an *AttemptError; Reply then tells what
// was seen of HTTP, and its Content is empty.
func (e *Endpoint) Ask(ctx context.Context, q Request) (Reply, error) {
	limits := e.opt.Timeouts
	if q.FirstByte > 0 {
		limits.FirstByte = min(limits.FirstByte, q.FirstByte)
	}
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &exchange{stream: q.Caps.Stream, started: time.Now(), watch: newWatch(cancel, limits)}
	defer x.watch.stop()

	reply, err := e.collect(context.WithValue(attempt, exchangeKey{}, x), q)
	took := time.Since(x.started)
	if err == nil && strings.TrimSpace(reply.Content) == "" {
		err = ErrEmpty
	}
	reply.Status, reply.RequestID, reply.TTFB, reply.BytesIn, reply.Took = x.status, x.requestID, x.ttfb, x.bytesIn, took
	reply.RetryAfter = x.retryAfter
	if reply.Model == "" {
		reply.Model = e.opt.Model
	}
	const bytesPerToken = 2 // measured on packet text: 2.11
	if reply.Prompt == 0 {
		reply.Prompt = (len(q.System) + len(q.User)) / bytesPerToken
	}
	if err != nil {
		reply.Content = ""
		return reply, e.failure(ctx, attempt, x, err)
	}
	if reply.Completion == 0 {
		reply.Completion = len(reply.Content) / bytesPerToken
	}
	return reply, nil
}

func (e *Endpoint) collect(ctx context.Context, q Request) (Reply, error) {
	if !q.Caps.Stream {
		return e.collectOne(ctx, q)
	}
	stream, err := e.client.CreateChatCompletionStream(ctx, e.request(q))
	if err != nil {
		return Reply{}, err //nolint:wrapcheck // classified by the caller, never printed
	}
	defer stream.Close()
	var reply Reply
	var content, refusal strings.Builder
	finish := ""
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return reply, err //nolint:wrapcheck // classified by the caller, never printed
		}
		if chunk.Model != "" {
			reply.Model = chunk.Model
		}
		if u := chunk.Usage; u != nil {
			reply.Prompt, reply.Completion = u.PromptTokens, u.CompletionTokens
		}
		for _, c := range chunk.Choices {
			if c.Index != 0 {
				continue
			}
			if content.Len()+len(c.Delta.Content) > maxAnswer {
				return reply, &BodyLimitError{What: "the answer", Limit: maxAnswer}
			}
			content.WriteString(c.Delta.Content)
			refusal.WriteString(c.Delta.Refusal)
			if c.FinishReason != "" {
				finish = string(c.FinishReason)
			}
		}
	}
	reply.Content = content.String()
	return reply, finished(finish, refusal.String())
}

func (e *Endpoint) collectOne(ctx context.Context, q Request) (Reply, error) {
	resp, err := e.client.CreateChatCompletion(ctx, e.request(q))
	if err != nil {
		return Reply{}, err //nolint:wrapcheck // classified by the caller, never printed
	}
	reply := Reply{Model: resp.Model, Prompt: resp.Usage.PromptTokens, Completion: resp.Usage.CompletionTokens}
	if len(resp.Choices) == 0 {
		return reply, &ParseError{Reason: "an answer without choices"}
	}
	c := resp.Choices[0]
	reply.Content = c.Message.Content
	if c.FinishReason == "" {
		return reply, &TruncatedError{}
	}
	return reply, finished(string(c.FinishReason), c.Message.Refusal)
}

// finished judges why the model stopped.
func finished(reason, refusal string) error {
	switch {
	case refusal != "":
		return &AttemptError{Class: ContentFilter, Code: "refusal"}
	case reason == string(openai.FinishReasonLength):
		return &AttemptError{Class: TooLarge, Code: "length"}
	case reason == string(openai.FinishReasonContentFilter):
		return &AttemptError{Class: ContentFilter, Code: "content_filter"}
	}
	return nil
}

// failure makes the one error that leaves this package.
func (e *Endpoint) failure(ctx, attempt context.Context, x *exchange, err error) *AttemptError {
	if x.fault != nil {
		err = errors.Join(x.fault, err)
	}
	a := &AttemptError{
		Class: classify(ctx, attempt, x, err), Status: x.status, RetryAfter: x.retryAfter, NoStream: x.jsonStream, NoRetry: x.noRetry, Retry: x.retry, Err: err,
	}
	if inner, ok := errors.AsType[*AttemptError](err); ok {
		a.Code = inner.Code
	}
	if s, ok := errors.AsType[*StreamAPIError](err); ok {
		a.Code, a.Message = firstOf(s.Code, s.Type), s.Message
	} else if x.status >= 400 {
		kind, message := bodyError(x.errorBody)
		a.Code, a.Message = firstOf(strings.Fields(kind)...), message
		a.Param = errorParam(x.errorBody)
	} else {
		a.Message = plainReason(attempt, err)
	}
	a.Code, a.Message, a.Param = e.opt.Key.scrub(a.Code), e.opt.Key.scrub(a.Message), e.opt.Key.scrub(a.Param)
	return a
}

func firstOf(words ...string) string {
	for _, w := range slices.Backward(words) { // the code stands behind the type and says more
		if w != "" {
			return w
		}
	}
	return ""
}

func errorParam(body []byte) string {
	var doc struct {
		Error struct {
			Param jsonText `json:"param"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return ""
	}
	return doc.Error.Param.String()
}

// plainReason says what happened below HTTP in words that quote nobody.
func plainReason(attempt context.Context, err error) string {
	if cause := context.Cause(attempt); errors.Is(cause, ErrTTFB) || errors.Is(cause, ErrIdle) || errors.Is(cause, ErrAttempt) {
		return cause.Error()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err.Error() // without the URL
	}
	if r, ok := errors.AsType[*openai.RequestError](err); ok {
		return r.HTTPStatus
	}
	return err.Error()
}

// Models lists what the endpoint offers, at most 200 names. It is one attempt as
// any other.
func (e *Endpoint) Models(ctx context.Context) ([]string, Reply, error) {
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &exchange{started: time.Now(), watch: newWatch(cancel, e.opt.Timeouts)}
	defer x.watch.stop()
	list, err := e.client.ListModels(context.WithValue(attempt, exchangeKey{}, x))
	reply := Reply{Status: x.status, RequestID: x.requestID, TTFB: x.ttfb, Took: time.Since(x.started), BytesIn: x.bytesIn}
	if err != nil {
		return nil, reply, e.failure(ctx, attempt, x, err)
	}
	const most = 200
	names := make([]string, 0, min(len(list.Models), most))
	for _, m := range list.Models[:min(len(list.Models), most)] {
		names = append(names, Secret{}.scrubID(m.ID))
	}
	return names, reply, nil
}
