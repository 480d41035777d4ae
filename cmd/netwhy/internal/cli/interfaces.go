package cli

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"github.com/urfave/cli/v2"

	"netwhy/capture"
	"netwhy/cmd/netwhy/internal/terminal"
)

func (s *session) interfacesCommand() *cli.Command {
	return &cli.Command{
		Name:  "interfaces",
		Usage: "what can be captured: with state, link type and addresses",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagFormat, Value: formatText, Usage: "`FORMAT`: text or json"},
		},
		Action: s.interfaces,
	}
}

// device is an interface in JSON.
type device struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	State       string         `json:"state"`     // "up", "no link" or "down"
	LinkType    string         `json:"link_type"` // empty: it may not be opened
	MAC         string         `json:"mac"`
	MTU         int            `json:"mtu"`
	Addresses   []netip.Prefix `json:"addresses"`
}

func (s *session) interfaces(c *cli.Context) error {
	if c.Args().Present() {
		return usagef(c.Command.Name, "interfaces takes no arguments")
	}
	all, err := capture.Devices(true)
	if err != nil {
		return err
	}
	var list []device
	for i := range all {
		d := &all[i]
		list = append(list, device{
			Name: d.Name, Description: d.Desc, State: state(d), LinkType: d.LinkType, MAC: d.MAC, MTU: d.MTU,
			Addresses: append([]netip.Prefix{}, d.Addrs...),
		})
	}
	switch f := c.String(flagFormat); f {
	case formatJSON:
		e := json.NewEncoder(s.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(list)
	case formatText:
		return s.printInterfaces(list)
	default:
		return badValue(c, flagFormat, f, []string{formatText, formatJSON})
	}
}

func state(d *capture.Device) string {
	switch {
	case d.Name == capture.AnyInterface, d.Up && d.Running:
		return "up"
	case d.Up:
		return "no link"
	}
	return "down"
}

func (s *session) printInterfaces(list []device) error {
	width := len("name")
	permitted := false
	for i := range list {
		width = max(width, terminal.Width(terminal.Printable(list[i].Name)))
		permitted = permitted || list[i].LinkType != ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s  %-7s  %-12s  %s\n", width, "name", "state", "link type", "addresses")
	for i := range list {
		d := &list[i]
		var about []string
		for _, a := range d.Addresses {
			about = append(about, a.String())
		}
		if len(about) == 0 {
			about = append(about, terminal.Printable(d.Description))
		}
		link := d.LinkType
		if link == "" {
			link = "-"
		}
		line := fmt.Sprintf("%-*s  %-7s  %-12s  %s", width, terminal.Printable(d.Name), d.State, link, strings.Join(about, " "))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if !permitted && len(list) > 0 {
		b.WriteString("\nNone of them may be opened by this user: " + capture.PermissionRemedy() + "\n")
	}
	_, err := fmt.Fprint(s.Stdout, b.String())
	return err
}
