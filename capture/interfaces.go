package capture

import (
	"net"
	"net/netip"
)

// Device is something that can be captured.
type Device struct {
	Name, Desc                      string
	Addrs                           []netip.Prefix
	MAC                             string
	MTU                             int
	LinkType                        string // empty: it may not be opened by this user
	Up, Running, Loopback, Wireless bool
}

// Devices lists what can be captured, in libpcap's order: the most likely first.
// With link types each is opened for a moment, which needs the right to capture.
func Devices(linkTypes bool) ([]Device, error) {
	all, err := devices()
	if err != nil {
		return nil, err
	}
	for i := range all {
		d := &all[i]
		if found, err := net.InterfaceByName(d.Name); err == nil {
			d.MTU, d.MAC = found.MTU, found.HardwareAddr.String()
			d.Addrs = prefixes(found)
		}
		if linkTypes && (d.Up || d.Name == AnyInterface) {
			d.LinkType = linkTypeOf(d.Name)
		}
	}
	return all, nil
}

func prefixes(i *net.Interface) []netip.Prefix {
	addrs, err := i.Addrs()
	if err != nil {
		return nil
	}
	var out []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// DeviceNames are the names of what can be captured; none if they cannot be told.
func DeviceNames() []string {
	all, err := devices()
	if err != nil {
		return nil
	}
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}
