package main

import (
	"os"

	"netwhy/cmd/netwhy/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.Process{
		Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(),
	}))
}
