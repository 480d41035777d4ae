package cli

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"netwhy/analyze/finding"
	"netwhy/capture"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/resident"
	"netwhy/cmd/netwhy/internal/run"
)

const (
	flagInterface  = "interface"
	flagSnaplen    = "snaplen"
	flagNoPromisc  = "no-promisc"
	flagMonitor    = "monitor"
	flagClock      = "time-stamp-type"
	flagBuffer     = "buffer"
	flagWrite      = "write"
	flagRotateSize = "rotate-size"
	flagRotateTime = "rotate-time"
	flagKeep       = "keep"
	flagKeepBytes  = "keep-bytes"
	flagRing       = "ring"
	flagDuration   = "duration"
	flagPackets    = "packets"
	flagUser       = "user"
	flagMetrics    = "metrics"
	flagWebhook    = "alert-webhook"
	flagSyslog     = "alert-syslog"
	flagNoScreen   = "no-screen"
)

func (s *session) captureCommand() *cli.Command {
	return &cli.Command{
		Name:  "capture",
		Usage: "watch interfaces and say what is wrong while it happens",
		Description: "Opening an interface needs root or the capability NET_RAW. Both are given up before\n" +
			"the first packet is read: see --user.\n\n" +
			"  sudo netwhy capture -i eth0\n" +
			"  sudo netwhy capture -i eth0 -f 'port 443' --duration 10m --format json -o report.json\n" +
			"  sudo netwhy capture -i any -w trace.pcapng --rotate-size 100MiB --keep 10\n" +
			"  sudo netwhy capture -i eth0 --evidence /var/lib/netwhy --no-screen --metrics :9469\n\n" +
			"Signals: INT and TERM end with the report, a second one at once; HUP reads rules and\n" +
			"configuration again; USR1 writes a report of the moment.\n\n" +
			"Exit codes: 0 done; 1 it could not do its work; 2 wrong usage or configuration;\n" +
			"3 done, and something at or above --fail-on was found; 130 interrupted (the\n" +
			"report is still written).",
		Flags: append(runFlags(),
			&cli.StringSliceFlag{Name: flagInterface, Aliases: []string{"i"}, EnvVars: env(flagInterface), Usage: "`IFACE` to watch, or any; may be repeated (netwhy interfaces lists them)"},
			&cli.IntFlag{Name: flagSnaplen, Aliases: []string{"s"}, Usage: "keep `BYTES` of each frame (default: 262144)"},
			&cli.BoolFlag{Name: flagNoPromisc, EnvVars: env(flagNoPromisc), Usage: "see only what is sent to and from this machine"},
			&cli.BoolFlag{Name: flagMonitor, EnvVars: env(flagMonitor), Usage: "Wi-Fi monitor mode"},
			&cli.StringFlag{Name: flagClock, EnvVars: env(flagClock), Usage: "`TYPE` of time stamps, as tcpdump -j names them: adapter_unsynced is the card's (default: the host's)"},
			&cli.StringFlag{Name: flagBuffer, Usage: "`MIB` of the kernel's ring, for each interface (default: 64)"},
			&cli.StringFlag{Name: flagWrite, Aliases: []string{"w"}, EnvVars: env(flagWrite), Usage: "record to `FILE` in pcapng, whatever the analysis can take"},
			&cli.StringFlag{Name: flagRotateSize, EnvVars: env(flagRotateSize), Usage: "begin a new file after `SIZE`, such as 100MiB"},
			&cli.DurationFlag{Name: flagRotateTime, EnvVars: env(flagRotateTime), Usage: "begin a new file after `TIME`, such as 1h"},
			&cli.IntFlag{Name: flagKeep, EnvVars: env(flagKeep), Usage: "keep the latest `N` files of the recording"},
			&cli.StringFlag{Name: flagKeepBytes, EnvVars: env(flagKeepBytes), Usage: "keep the latest files of the recording up to `SIZE` in all"},
			&cli.StringFlag{Name: flagRing, EnvVars: env(flagRing), Value: "64MiB", Usage: "with --evidence, keep the latest `SIZE` of frames in memory, and write what lies around a diagnosis"},
			&cli.DurationFlag{Name: flagDuration, EnvVars: env(flagDuration), Usage: "end after `TIME`, such as 10m"},
			&cli.Uint64Flag{Name: flagPackets, EnvVars: env(flagPackets), Usage: "end after `N` frames"},
			&cli.StringFlag{Name: flagUser, EnvVars: env(flagUser), Usage: "become user `NAME` after opening (default: who called sudo, else nobody); root: stay root, which lets the analysis of hostile packets run as root"},
			&cli.StringFlag{Name: flagMetrics, EnvVars: env(flagMetrics), Usage: "serve Prometheus metrics on `ADDR`, such as :9469; on loopback unless a host is named"},
			&cli.StringFlag{Name: flagWebhook, EnvVars: env(flagWebhook), Usage: "send each new diagnosis as JSON to `URL`, at a bounded rate"},
			&cli.BoolFlag{Name: flagSyslog, EnvVars: env(flagSyslog), Usage: "send each new diagnosis to syslog, at a bounded rate"},
			&cli.BoolFlag{Name: flagNoScreen, EnvVars: env(flagNoScreen), Usage: "lines instead of the screen, on a terminal too"},
		),
		Action: s.capture,
	}
}

func (s *session) capture(c *cli.Context) error {
	if c.Args().Present() {
		return usagef(c.Command.Name, "capture takes no arguments: name the interface with -i %s, and the filter with -f", c.Args().First())
	}
	set, err := s.settings(c)
	if err != nil {
		return err
	}
	opt := &run.LiveOptions{
		Options:  s.liveOptions(c, set),
		Source:   capture.LiveOptions{Interfaces: c.StringSlice(flagInterface), NoPromisc: c.Bool(flagNoPromisc), Monitor: c.Bool(flagMonitor), Clock: c.String(flagClock), MaxPackets: c.Uint64(flagPackets)},
		Record:   capture.RecordingOptions{Path: c.String(flagWrite), RotateTime: c.Duration(flagRotateTime), Keep: c.Int(flagKeep)},
		User:     set.Capture.User,
		Duration: c.Duration(flagDuration),
		Metrics:  c.String(flagMetrics),
		Alerts:   run.AlertOptions{Webhook: c.String(flagWebhook), Syslog: c.Bool(flagSyslog)},
		Screen:   !c.Bool(flagNoScreen),
	}
	if len(opt.Source.Interfaces) == 0 {
		return usagef(c.Command.Name, "capture needs an interface: -i eth0, or -i any; netwhy interfaces lists them")
	}
	if c.IsSet(flagUser) {
		opt.User = c.String(flagUser)
	}
	if err := s.liveSizes(c, set, opt); err != nil {
		return err
	}
	opt.Reload = func() (*run.Options, error) {
		fresh, err := set, error(nil)
		// A configuration of root's that was not there at the start cannot be looked
		// for any more.
		if set.File != "" || slices.ContainsFunc(set.Searched, func(path string) bool { return opens(path) == nil }) {
			fresh, err = s.settings(c)
		}
		if err != nil {
			return nil, err
		}
		if set.File != "" && fresh.File == "" { // the defaults stand for a file that is gone, not for one that is denied
			if err := opens(set.File); errors.Is(err, fs.ErrPermission) {
				return nil, err
			}
		}
		o := s.liveOptions(c, fresh)
		return &o, nil
	}
	resident.Forget()
	s.outcome, err = run.Capture(c.Context, s.world(set), opt)
	return err
}

// opens tells why a file cannot be read; nil: it can.
func opens(path string) error {
	f, err := os.Open(path) //nolint:gosec // where a configuration may be
	if err != nil {
		return err
	}
	_ = f.Close() // nothing was read
	return nil
}

// liveOptions are those that a reload may change.
func (*session) liveOptions(c *cli.Context, set *settings) run.Options {
	return run.Options{
		Filter: c.String(flagFilter), KeyLog: c.String(flagKeyLog), Rules: set.Rules, Outputs: set.outputs,
		MinSeverity: finding.Severity(set.Report.MinSeverity), FailOn: set.failOn,
		Lang: set.Report.Lang, NoColour: c.Bool(flagNoColour), Limits: set.Limits,
		AI: set.AI, Diagnose: c.Bool(flagDiagnose), Preview: c.Bool(flagPreview), Offline: c.Bool(flagOffline),
		Evidence: c.String(flagEvidence),
	}
}

// liveSizes reads the flags that are sizes, and checks those that are numbers.
func (*session) liveSizes(c *cli.Context, set *settings, opt *run.LiveOptions) error {
	opt.Source.SnapLen = int(set.Capture.Snaplen)
	if c.IsSet(flagSnaplen) {
		opt.Source.SnapLen = c.Int(flagSnaplen)
		if n := opt.Source.SnapLen; n < config.MinSnaplen || n > config.MaxSnaplen {
			return usagef(c.Command.Name, "--%s %d: from %d to %d bytes of a frame can be kept", flagSnaplen, n, config.MinSnaplen, config.MaxSnaplen)
		}
	}
	opt.Source.Buffer = int(set.Capture.Buffer)
	if text := c.String(flagBuffer); text != "" {
		if _, err := strconv.Atoi(text); err == nil {
			text += "MiB"
		}
		n, err := size(c, flagBuffer, text)
		if err != nil {
			return err
		}
		if n < config.MinBuffer || n > config.MaxBuffer {
			return usagef(c.Command.Name, "--%s %s: from 1 MiB to 2 GiB are possible", flagBuffer, c.String(flagBuffer))
		}
		opt.Source.Buffer = int(n)
	}
	var err error
	if opt.Record.RotateSize, err = size(c, flagRotateSize, c.String(flagRotateSize)); err != nil {
		return err
	}
	if opt.Record.KeepBytes, err = size(c, flagKeepBytes, c.String(flagKeepBytes)); err != nil {
		return err
	}
	if opt.Ring, err = size(c, flagRing, c.String(flagRing)); err != nil {
		return err
	}
	const least, most = 1 << 20, math.MaxUint32
	if opt.Evidence != "" && (opt.Ring < least || opt.Ring > most) {
		return usagef(c.Command.Name, "--%s %s: from 1 MiB to 4 GiB can be kept in memory", flagRing, c.String(flagRing))
	}
	return recordingUsage(c, opt)
}

// recordingUsage tells flags that mean nothing without another.
func recordingUsage(c *cli.Context, opt *run.LiveOptions) error {
	rotates := opt.Record.RotateSize > 0 || opt.Record.RotateTime > 0
	for _, f := range []string{flagRotateSize, flagRotateTime, flagKeep, flagKeepBytes} {
		if c.IsSet(f) && opt.Record.Path == "" {
			return usagef(c.Command.Name, "--%s needs a recording: -w FILE", f)
		}
	}
	for _, f := range []string{flagKeep, flagKeepBytes} {
		if c.IsSet(f) && !rotates {
			return usagef(c.Command.Name, "--%s needs files that are cut: --%s or --%s", f, flagRotateSize, flagRotateTime)
		}
	}
	if opt.Record.RotateTime < 0 || opt.Record.RotateTime > 0 && opt.Record.RotateTime < time.Second || opt.Duration < 0 || opt.Record.Keep < 0 {
		return usagef(c.Command.Name, "times are at least 1s, and numbers are not negative")
	}
	if opt.Preview {
		return usagef(c.Command.Name, "--%s is for captures in files: netwhy replay", flagPreview)
	}
	return nil
}

// size reads an amount with a unit.
func size(c *cli.Context, flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	var b config.Bytes
	if err := b.UnmarshalText([]byte(text)); err != nil {
		return 0, usagef(c.Command.Name, "--%s %s", flag, strings.TrimPrefix(err.Error(), "--"))
	}
	return int64(b), nil
}
