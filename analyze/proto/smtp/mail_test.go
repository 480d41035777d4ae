package smtp_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
	"netwhy/analyze/proto/smtp"
)

// TestMailNames checks what is counted for a message, segment by segment, as tshark
// 4.0.17 does.
func TestMailNames(t *testing.T) {
	t.Parallel()
	const head = "From: a@b\r\nSubject: x\r\n"
	tests := []struct {
		name, reply string
		segments    []string
		want        string
	}{
		{"in one segment", "354 go", []string{head + "\r\nHello\r\n.\r\n"}, "imf"},
		{"in three", "354 go", []string{head, "\r\nHel", "lo\r\n.\r\n"}, "data-text-lines data-text-lines imf"},
		{"the dot alone", "354 go", []string{head + "\r\nHello\r\n", ".\r\n"}, "data-text-lines imf"},
		{"a type with parameters", "354 go", []string{head + "Content-Type: text/plain; charset=utf-8\r\n\r\nHello\r\n.\r\n"}, "data-text-lines imf"},
		{"a type without", "354 go", []string{head + "Content-Type: text/plain\r\n\r\nHello\r\n.\r\n"}, "imf"},
		{
			"parts", "354 go",
			[]string{head + "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\nhi\r\n--b\r\n\r\nhi\r\n--b--\r\n.\r\n"},
			"data data-text-lines imf mime_multipart",
		},
		{"refused, and sent all the same", "503 no", []string{"Hello\r\n", ".\r\n"}, "data-text-lines imf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := prototest.New(smtp.Spec(), proto.TCP, 25)
			c.Send(flow.ToClient, 0, []byte("220 m ESMTP\r\n"))
			c.Send(flow.ToServer, time.Second, []byte("DATA\r\n")).Send(flow.ToClient, time.Second, []byte(tt.reply+"\r\n"))
			var got []string
			before := map[string]int{}
			for i, text := range tt.segments {
				c.Send(flow.ToServer, time.Duration(i+2)*time.Second, []byte(text))
				for _, name := range slices.Sorted(maps.Keys(c.Rec.Carried)) {
					if name != "smtp" && c.Rec.Carried[name] > before[name] {
						got = append(got, name)
					}
				}
				before = maps.Clone(c.Rec.Carried)
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("counted %q, want %q", text, tt.want)
			}
		})
	}
}
