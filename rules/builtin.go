package rules

import "embed"

//go:embed builtin/*.yaml
var builtinFS embed.FS

func builtin() Dir { return Dir{FS: builtinFS, Path: "builtin", Name: "", Builtin: true} }
