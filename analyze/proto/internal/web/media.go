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

// octets stands for data that is not looked at.
const octets = "application/octet-stream"

// Body is Media for Seen to decide: data without a type may be a picture.
func Body(kind []byte) string {
	name := Media(kind)
	if name == data && len(bytes.TrimSpace(kind)) > 0 {
		return octets
	}
	return name
}

// Seen returns the name under which a body (Body) is counted that begins with b: pictures
// have to look like some, and are recognised where nothing else is known of the type.
func Seen(name string, b []byte) string {
	switch name {
	case octets:
		return data
	case data, media, png, gif, jpeg:
	default:
		return name
	}
	for _, x := range [...]struct{ name, magic, mark string }{
		{png, "\x89PNG\r\n\x1a\n", ""},
		{gif, "GIF87a", ""},
		{gif, "GIF89a", ""},
		{jpeg, "\xff\xd8\xff\xe0", "JFIF\x00"}, // behind the length of the segment
		{jpeg, "\xff\xd8\xff\xe1", "Exif\x00"},
	} {
		whole := len(x.magic)
		if x.mark != "" {
			whole += 2 + len(x.mark)
		}
		if len(b) < whole && name != x.name {
			continue
		}
		n := min(len(b), len(x.magic))
		if string(b[:n]) == x.magic[:n] && (len(b) < whole || string(b[whole-len(x.mark):whole]) == x.mark) {
			return x.name
		}
	}
	if name == data {
		return data
	}
	return media
}

// MediaNames are all that Media returns.
func MediaNames() []string {
	return []string{NameText, NameJSON, "xml", "urlencoded-form", png, gif, jpeg, "ocsp", NameMultipart, media, data}
}
