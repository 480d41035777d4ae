//go:build !unix

package alert

import (
	"context"
	"errors"
)

// Syslog is not there on this system.
type Syslog struct{}

var errNoSyslog = errors.New("--alert-syslog: this system has no syslog")

// NewSyslog says so.
func NewSyslog() (*Syslog, error) { return nil, errNoSyslog }

// Send implements Target.
func (*Syslog) Send(context.Context, *Alert) error { return errNoSyslog }
