package assigned_test

import (
	"slices"
	"strings"
	"testing"

	"netwhy/analyze/proto/assigned"
)

// TestNumber checks which port says what a payload is, and what is declined.
func TestNumber(t *testing.T) {
	t.Parallel()
	ports, names := assigned.New(), assigned.Names()
	tests := []struct {
		name      string
		transport assigned.Transport
		a, b      uint16
		payload   string
		want      string
		inside    string
	}{
		{"takes whatever comes", assigned.UDP, 40000, 5683, "\x40\x01\x00\x01", "coap", ""},
		{"the lower port first", assigned.TCP, 6000, 873, "@RSYNCD", "rsync", ""},
		{"the lower port declines", assigned.TCP, 6667, 2000, "NICK a\r\n", "irc", ""},
		{"no port of either", assigned.TCP, 40000, 50000, "hello", "", ""},
		{"a port of the other transport", assigned.TCP, 40000, 6343, "\x00\x00\x00\x05", "", ""},
		{"wrong version", assigned.UDP, 40000, 6343, "\x00\x00\x00\x09", "", ""},
		{"right version", assigned.UDP, 40000, 6343, "\x00\x00\x00\x05", "sflow", ""},
		{"first of a range", assigned.TCP, 40000, 6881, "x", "bittorrent", ""},
		{"last of a range", assigned.TCP, 40000, 6889, "x", "bittorrent", ""},
		{"behind a range", assigned.TCP, 40000, 6890, "x", "", ""},
		{"a sequence that is not whole", assigned.UDP, 161, 40000, "\x30\x82\x05\xb0\x02\x01\x01", "", ""},
		{"a whole sequence", assigned.UDP, 161, 40000, "\x30\x03\x02\x01\x01", "snmp", ""},
		{"a message inside", assigned.UDP, 47808, 47808, "\x81\x0b\x00\x0c\x01\x20\xff\xff", "bvlc", "bacnet bacapp"},
		{"a version inside", assigned.TCP, 40000, 6653, "\x04\x00\x00\x08\x00\x00\x00\x01", "openflow", "openflow_v4"},
		{"text of a file", assigned.TCP, 40000, 20, "hello\tworld\r\n", "ftp-data", "data-text-lines"},
		{"a file that is none", assigned.TCP, 40000, 20, "h\xe9llo\r\n", "ftp-data", ""},
		{"two names", assigned.TCP, 40000, 102, "\x03\x00\x00\x16\x11\xe0", "tpkt cotp", ""},
		{"nothing at all", assigned.UDP, 0, 65535, "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, _ := ports.Number(tt.transport, tt.a, tt.b, []byte(tt.payload))
			got := ""
			if n != assigned.Unknown {
				got = names[n]
			}
			if inside := assigned.Inside(n, []byte(tt.payload)); got != tt.want || inside != tt.inside {
				t.Errorf("got %q with %q inside, want %q with %q", got, inside, tt.want, tt.inside)
			}
		})
	}
}

// TestLooksJXTA checks which cut segments tshark 4.0.17 takes for JXTA.
func TestLooksJXTA(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"":                           false,
		"\x05abcde":                  true, // the length of the value is next
		"\x05abcde\x00":              true, // half of it is there
		"\x05abcde\x00\x02":          false,
		"\x05abcde\x00\x00":          false,
		"\x06abcde":                  false,
		"\x00abcde":                  false,
		"\x01a\x00\x02xy\x03abc":     true,
		"\x01a\x00\x02xy\x03abc\xff": true,
		"\x01a\x00\x02xy\x03ab":      false,
	}
	for text, want := range tests {
		if got := assigned.LooksJXTA([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestLooksRTCP checks which datagrams tshark 4.0.17 takes for RTCP.
func TestLooksRTCP(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"":                                 false,
		"\x80\xc8\x00\x06":                 true,
		"\x9f\xc9\x00\x64\x01\x02\x03\x04": true,
		"\x80\xce\x00\x00":                 true,
		"\x80\xca\x00\x00":                 false,
		"\x80\xcd\x00\x00":                 false,
		"\x80\xc8\x00\x06\x01":             false,
		"\x40\xc8\x00\x06":                 false,
	}
	for text, want := range tests {
		if got := assigned.LooksRTCP([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestWaits checks that streams of messages are told from those that are named at
// once.
func TestWaits(t *testing.T) {
	t.Parallel()
	ports := assigned.New()
	web, _ := ports.Number(assigned.TCP, 40000, 80, nil)
	irc, _ := ports.Number(assigned.TCP, 40000, 6667, nil)
	if !assigned.Waits(web) || assigned.Waits(irc) || assigned.Waits(assigned.Unknown) {
		t.Errorf("http %v, irc %v", assigned.Waits(web), assigned.Waits(irc))
	}
}

// TestSCTP checks that the payload identifier says more than the port.
func TestSCTP(t *testing.T) {
	t.Parallel()
	if got := assigned.SCTP(18, 36422, 80); got != "s1ap" {
		t.Errorf("by identifier: %q", got)
	}
	if got := assigned.SCTP(0, 40000, 2905); got != "m3ua" {
		t.Errorf("by port: %q", got)
	}
	if got := assigned.SCTP(0, 40000, 40001); got != assigned.Data {
		t.Errorf("by neither: %q", got)
	}
}

// FuzzNumber checks that every answer has a name, whatever the payload is.
func FuzzNumber(f *testing.F) {
	ports, names := assigned.New(), assigned.Names()
	all := append(assigned.InsideNames(), assigned.SCTPNames()...)
	f.Add(true, uint16(47808), uint16(53), []byte("\x81\x04"), uint32(3))
	f.Add(false, uint16(2000), uint16(102), []byte("\x03\x00"), uint32(99))
	f.Fuzz(func(t *testing.T, udp bool, a, b uint16, payload []byte, id uint32) {
		transport := assigned.TCP
		if udp {
			transport = assigned.UDP
		}
		n, _ := ports.Number(transport, a, b, payload)
		assigned.LooksJXTA(payload)
		assigned.LooksRTCP(payload)
		if n < assigned.Unknown || n >= len(names) {
			t.Fatalf("number %d of %d", n, len(names))
		}
		for name := range strings.FieldsSeq(assigned.Inside(n, payload) + " " + assigned.SCTP(id, a, b)) {
			if !slices.Contains(all, name) {
				t.Fatalf("%q is not among the names", name)
			}
		}
	})
}
