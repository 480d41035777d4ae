//go:build !unix

package config

import "io/fs"

// changeable knows nothing of access lists.
func changeable(fs.FileInfo) string { return "" }
