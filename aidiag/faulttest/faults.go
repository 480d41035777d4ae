package faulttest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// JSON answers with a status and a JSON body.
func JSON(status int, body string, headers ...string) Fault {
	return func(c *Conn) { c.Page(status, "application/json", body, headers...) }
}

// HTML answers with a page.
func HTML(status int) Fault {
	return func(c *Conn) {
		c.Page(status, "text/html; charset=utf-8", "<html><body>Please log in to the hotel's network</body></html>")
	}
}

// Error answers with an error object of OpenAI's shape.
func Error(status int, kind, code, message string, headers ...string) Fault {
	return JSON(status, fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code), headers...)
}

// Text gives a complete answer with this content, as a stream if one was asked for.
func Text(content string) Fault {
	return func(c *Conn) {
		if !bytes.Contains(c.Request.Body, []byte(`"stream":true`)) {
			c.Page(http.StatusOK, "application/json", fmt.Sprintf(`{"id":"c1","model":"fault-1","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":700,"completion_tokens":90}}`, quote(content)))
			return
		}
		c.Chunked()
		c.Chunk(Pieces(content, 400))
		c.Chunk(Finish("stop") + Usage + Done)
		c.EndChunks()
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// Func chooses the fault when the request is there.
func Func(f func(r Request) Fault) Fault { return func(c *Conn) { f(c.Request)(c) } }

// Events sends a stream of exactly these bytes and closes cleanly.
func Events(raw string) Fault {
	return func(c *Conn) {
		c.Chunked()
		c.Chunk(raw)
		c.EndChunks()
	}
}

// Typed sends a body of any type with status 200.
func Typed(kind, body string) Fault { return func(c *Conn) { c.Page(http.StatusOK, kind, body) } }

// Bytes sends raw bytes instead of HTTP and closes.
func Bytes(raw string) Fault { return func(c *Conn) { c.Write("%s", raw) } }

// Silent accepts the request and never answers.
func Silent() Fault { return func(c *Conn) { c.Stall() } }

// HeadersOnly sends the header of a stream and nothing more.
func HeadersOnly() Fault {
	return func(c *Conn) {
		c.Stream()
		c.Stall()
	}
}

// ResetNow ends the connection with a RST before any answer, CloseNow with a FIN.
func ResetNow() Fault { return func(c *Conn) { c.Reset() } }

// CloseNow ends the connection with a FIN before any answer.
func CloseNow() Fault { return func(*Conn) {} }

// ResetInHeader breaks off inside the header.
func ResetInHeader() Fault {
	return func(c *Conn) {
		c.Write("HTTP/1.1 200 OK\r\nContent-Ty")
		c.Pause(20 * time.Millisecond)
		c.Reset()
	}
}

// Cut sends part of a stream and then a FIN (without the last chunk) or a RST.
func Cut(raw string, rst bool) Fault {
	return func(c *Conn) {
		c.Chunked()
		c.Chunk(raw)
		c.Pause(20 * time.Millisecond)
		if rst {
			c.Reset()
		}
	}
}

// Stalled sends part of a stream and then nothing.
func Stalled(raw string) Fault {
	return func(c *Conn) {
		c.Chunked()
		c.Chunk(raw)
		c.Stall()
	}
}

// KeepAlive sends comments, one a pause, for ever or n times before the rest.
func KeepAlive(pause time.Duration, n int, rest string) Fault {
	return func(c *Conn) {
		c.Chunked()
		for i := 0; n < 0 || i < n; i++ {
			if !c.Chunk(": keep-alive\n\n") || c.ctx.Err() != nil {
				return
			}
			c.Pause(pause)
		}
		c.Chunk(rest)
		c.EndChunks()
	}
}

// ErrorCut announces an error body and breaks off inside it.
func ErrorCut(status int) Fault {
	return func(c *Conn) {
		c.Write("HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"error\":{\"mess", status)
		c.Pause(20 * time.Millisecond)
		c.Reset()
	}
}

// ErrorHuge sends an error body of n bytes.
func ErrorHuge(status, n int) Fault {
	return func(c *Conn) {
		c.Write("HTTP/1.1 %d X\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", status, n)
		block := strings.Repeat("x", 64<<10)
		for sent := 0; sent < n; sent += len(block) {
			if !c.Write("%s", block) {
				return
			}
		}
	}
}

// ErrorBomb sends an error body that unpacks to n MiB.
func ErrorBomb(status, mib int) Fault {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	block := make([]byte, 1<<20)
	for range mib {
		_, _ = z.Write(block)
	}
	_ = z.Close()
	body := b.String()
	return func(c *Conn) { c.Page(status, "application/json", body, "Content-Encoding: gzip") }
}

// HugeHeader sends a response header of n bytes.
func HugeHeader(n int) Fault {
	return func(c *Conn) {
		c.Write("HTTP/1.1 200 OK\r\n")
		line := "X-Fill: " + strings.Repeat("x", 8000) + "\r\n"
		for sent := 0; sent < n; sent += len(line) {
			if !c.Write("%s", line) {
				return
			}
		}
		c.Write("Content-Type: text/event-stream\r\n\r\n")
	}
}

// HugeLine sends one line of n bytes inside a stream.
func HugeLine(n int) Fault {
	return func(c *Conn) {
		c.Stream()
		c.Write("data: {\"x\":\"")
		block := strings.Repeat("x", 64<<10)
		for sent := 0; sent < n; sent += len(block) {
			if !c.Write("%s", block) {
				return
			}
		}
		c.Write("\"}\n\n")
		c.Stall()
	}
}

// Endless sends frames without end, as fast as they are read.
func Endless() Fault {
	return func(c *Conn) {
		c.Stream()
		frame := Delta(strings.Repeat("and so on ", 1000))
		for c.ctx.Err() == nil {
			if !c.Write("%s", frame) {
				return
			}
		}
	}
}

// Redirect points elsewhere.
func Redirect(status int, to string) Fault {
	return func(c *Conn) { c.Page(status, "text/plain", "", "Location: "+to) }
}

// Models answers GET /models with these names and everything else with rest.
func Models(rest Fault, names ...string) Fault {
	return func(c *Conn) {
		if c.Request.Method != http.MethodGet {
			rest(c)
			return
		}
		var items []string
		for _, n := range names {
			items = append(items, fmt.Sprintf(`{"id":%q,"object":"model","created":1,"owned_by":"x"}`, n))
		}
		c.Page(http.StatusOK, "application/json", `{"object":"list","data":[`+strings.Join(items, ",")+`]}`)
	}
}
