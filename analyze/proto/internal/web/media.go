package web

import "bytes"

// Media returns the name under which bodies of a type (RFC 9110, 8.3) are counted:
// that of what Wireshark's tshark hands them to, as it prints it for each type.
func Media(kind []byte) string {
	kind, _, _ = bytes.Cut(kind, []byte{';'})
	kind = bytes.TrimSpace(kind)
	if len(kind) == 0 || len(kind) > len("application/x-www-form-urlencoded") {
		return mediaOf(len(kind), false)
	}
	var lower [len("application/x-www-form-urlencoded")]byte
	for i, c := range kind {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch text := string(lower[:len(kind)]); text {
	case "text/plain", "text/html", "text/css", "text/javascript", "application/x-javascript":
		return NameText
	case "application/json", "application/problem+json", "application/x-ndjson", "application/json-rpc":
		return NameJSON
	case "text/xml", "application/xml", "application/soap+xml", "application/rss+xml", "application/atom+xml",
		"application/xml-dtd", "application/pidf+xml", "image/svg+xml":
		return "xml"
	case "application/x-www-form-urlencoded":
		return "urlencoded-form"
	case "image/png":
		return png
	case "image/gif":
		return gif
	case "image/jpeg":
		return jpeg
	case "application/ocsp-response", "application/ocsp-request":
		return "ocsp"
	case "application/octet-stream":
		return data
	default:
		return mediaOf(len(kind), bytes.HasPrefix(lower[:], []byte("multipart/")))
	}
}

func mediaOf(n int, multipart bool) string {
	switch {
	case n == 0:
		return data
	case multipart:
		return NameMultipart
	}
	return media
}

// Names of bodies that depend on more than their type.
const (
	NameJSON      = "json"
	NameText      = "data-text-lines"
	NameMultipart = "mime_multipart"
)

const (
	media = "media"
	data  = "data"
	png   = "png"
	gif   = "image-gif"
	jpeg  = "image-jfif"
)

// Seen returns the name under which a body is counted that begins with b: pictures
// have to look like some.
func Seen(name string, b []byte) string {
	magic := ""
	switch name {
	case png:
		magic = "\x89PNG\r\n\x1a\n"
	case gif:
		magic = "GIF8"
	case jpeg:
		magic = "\xff\xd8\xff"
	}
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
		return media
	}
	return name
}

// MediaNames are all that Media returns.
func MediaNames() []string {
	return []string{NameText, NameJSON, "xml", "urlencoded-form", png, gif, jpeg, "ocsp", NameMultipart, media, data}
}
