// Package diff compares two captures of the same service, a good one and a bad
// one: what changed, in seconds of the time ledger, and how sure that is.
//
// # How sure
//
// Two captures of the same service differ by chance alone. So each difference has
// an interval: the connections of both sides are drawn again and again with
// replacement (Efron's bootstrap), and between the 2.5th and the 97.5th percentile
// of the differences lies the true one in 95 of 100 cases. Where the interval
// holds zero, nothing changed. Draws come from a fixed seed: the same two files
// give the same answer.
package diff

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
)

// Bounds of what is kept of one side.
const (
	maxSamples  = 1000 // connections of a service; more are drawn at random
	maxServices = 1000
	maxPeers    = 4096
	dynamic     = 32768 // ports from here on are nobody's (RFC 6335, 6, and what Linux draws from)
)

// Service is what both sides are compared by: a port, or for the ports that are
// drawn at random the protocol that was found.
type Service struct {
	Proto uint8
	Port  uint16
	App   string // only with port 0
}

func serviceOf(c *conn.Summary) Service {
	s := Service{Proto: c.ID.Proto, Port: c.Server.Addr.Port()}
	if s.Port >= dynamic {
		s.Port, s.App = 0, c.App
	}
	return s
}

// sample is one connection.
type sample struct {
	parts     [conn.Parts]float64 // seconds, of all exchanges
	exchanges float64             // at least 1
	rtt       float64             // seconds; 0: not known
	segments  float64
	resent    float64
	failed    float64 // 0 or 1
}

type service struct {
	apps    map[string]int
	samples []sample
	seen    uint64
	asked   uint64 // exchanges
	failed  uint64 // connections
	peers   map[netip.Addr]bool
}

// Side is one of the two captures.
type Side struct {
	Name         string
	Packets      uint64
	Seconds      float64
	Connections  uint64
	oneSided     uint64
	services     map[Service]*service
	random       *rand.Rand
	leftServices bool
}

// NewSide begins a side.
func NewSide(name string) *Side {
	const seed = 0x6e6574776879                                                                               // any, but always the same
	return &Side{Name: name, services: make(map[Service]*service), random: rand.New(rand.NewPCG(seed, seed))} //nolint:gosec // statistics, no secrets
}

// Add counts one conversation.
func (s *Side) Add(c *conn.Summary) {
	s.Connections++
	if c.OneSided {
		s.oneSided++
	}
	key := serviceOf(c)
	v := s.services[key]
	if v == nil {
		if len(s.services) >= maxServices {
			s.leftServices = true
			return
		}
		v = &service{apps: make(map[string]int), peers: make(map[netip.Addr]bool)}
		s.services[key] = v
	}
	v.seen++
	v.asked += uint64(c.Exchanges)
	if len(v.apps) < maxPeers {
		v.apps[c.App]++
	}
	if len(v.peers) < maxPeers {
		v.peers[c.Server.Addr.Addr()] = true
	}
	x := sampleOf(c)
	if x.failed > 0 {
		v.failed++
	}
	if len(v.samples) < maxSamples {
		v.samples = append(v.samples, x)
		return
	}
	if at := s.random.Uint64N(v.seen); at < maxSamples { // Vitter's algorithm R: each has the same chance
		v.samples[at] = x
	}
}

func sampleOf(c *conn.Summary) sample {
	const second = 1e9
	x := sample{
		exchanges: float64(max(1, c.Exchanges)), segments: float64(c.Client.Packets + c.Server.Packets),
		resent: float64(c.Client.Retransmits) + float64(c.Server.Retransmits),
	}
	for i := range conn.Parts {
		x.parts[i] = float64(c.Parts.Part[i]) / second
	}
	x.rtt = float64(cmp.Or(c.Handshake, max(c.Client.RTT.Median, c.Server.RTT.Median))) / second
	switch c.End {
	case conn.EndRefused, conn.EndNoAnswer, conn.EndICMPError:
		x.failed = 1
	case conn.EndOpen, conn.EndFin, conn.EndHalf, conn.EndReset, conn.EndIdle:
		if c.FailedExchanges > 0 {
			x.failed = 1
		}
	}
	return x
}

// label names a service for people.
func (v *service) label(key Service) string {
	proto := "tcp"
	if key.Proto == flow.UDP {
		proto = "udp"
	}
	app, most := key.App, 0
	for a, n := range v.apps {
		if a != "" && (n > most || n == most && a < app) {
			app, most = a, n
		}
	}
	switch {
	case key.Port == 0 && app == "":
		return proto + "/dynamic"
	case key.Port == 0:
		return proto + " " + app
	case app == "":
		return proto + "/" + strconv.Itoa(int(key.Port))
	}
	return proto + "/" + strconv.Itoa(int(key.Port)) + " " + app
}

// sorted lists the services, those with most connections first.
func (s *Side) sorted() []Service {
	keys := make([]Service, 0, len(s.services))
	for k := range s.services {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Service) int {
		return cmp.Or(cmp.Compare(s.services[b].seen, s.services[a].seen), cmp.Compare(a.Proto, b.Proto), cmp.Compare(a.Port, b.Port), cmp.Compare(a.App, b.App))
	})
	return keys
}
