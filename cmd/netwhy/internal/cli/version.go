package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"netwhy/cmd/netwhy/internal/report"
)

// release is set by the linker (-X), when a release is built.
var release string //nolint:gochecknoglobals // the linker can only set a variable

// version names the build: a release, else the commit that Go noted, else "dev".
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if commit == "" {
		return "dev"
	}
	return "dev-" + commit + dirty
}

func (s *session) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print version, report schema and build",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef(c.Command.Name, "version takes no arguments")
			}
			_, err := fmt.Fprintf(s.Stdout, "netwhy %s (%s, %s, %s/%s)\n", version(), report.Schema, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
