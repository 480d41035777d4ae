// Package web judges requests and responses of HTTP, whatever version carried
// them: a status means the same in HTTP/1 and HTTP/2 (RFC 9110), so that they
// report the same findings, http.*.
package web
