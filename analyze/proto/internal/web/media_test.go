package web_test

import (
	"testing"

	"netwhy/analyze/proto/internal/web"
)

// TestSeen names bodies as tshark 4.0.17 does: pictures by content, where the type
// is theirs, unknown or not told.
func TestSeen(t *testing.T) {
	t.Parallel()
	const (
		gif  = "GIF89a\x10\x00\x10\x00"
		png  = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
		jfif = "\xff\xd8\xff\xe0\x00\x10JFIF\x00"
		exif = "\xff\xd8\xff\xe1\x00\x10Exif\x00"
	)
	for _, x := range []struct{ kind, body, want string }{
		{"", gif, "image-gif"},
		{"", png, "png"},
		{"", jfif, "image-jfif"},
		{"", exif, "image-jfif"},
		{"", "GIF88a....", "data"},
		{"image/gif", gif, "image-gif"},
		{"image/gif", png, "png"},
		{"image/gif", "GIF88a....", "media"},
		{"image/gif", "GIF", "image-gif"},
		{"image/jpeg", "\xff\xd8\xff\xdb\x00\x10........", "media"},
		{"image/png", jfif, "image-jfif"},
		{"application/octet-stream", gif, "data"},
		{"application/octet-stream; x=y", gif, "data"},
		{"font/woff2", png, "png"},
		{"font/woff2", "GI", "media"},
		{"text/html", gif, "data-text-lines"},
	} {
		if got := web.Seen(web.Body([]byte(x.kind)), []byte(x.body)); got != x.want {
			t.Errorf("%q that begins with %q is %s, want %s", x.kind, x.body, got, x.want)
		}
	}
}
