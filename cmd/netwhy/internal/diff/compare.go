package diff

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"netwhy/analyze/conn"
)

// Schema names the shape of Report.
const Schema = "netwhy.diff/1"

// Report is what changed from good to bad.
type Report struct {
	Schema   string    `json:"schema"`
	Version  string    `json:"version"`
	Good     About     `json:"good"`
	Bad      About     `json:"bad"`
	Services []Changes `json:"services"` // common ones, those that cost most first
	OnlyGood []string  `json:"only_good"`
	OnlyBad  []string  `json:"only_bad"`
}

// About is one side in short.
type About struct {
	Name        string  `json:"name"`
	Packets     uint64  `json:"packets"`
	Seconds     float64 `json:"seconds"`
	Connections uint64  `json:"connections"`
}

// Changes of one service.
type Changes struct {
	Service     string       `json:"service"`
	Connections [2]uint64    `json:"connections"` // good, bad
	Exchanges   [2]uint64    `json:"exchanges"`
	Cost        float64      `json:"cost_seconds"` // of the changes that are sure, for one exchange
	Figures     []Difference `json:"figures"`      // those that changed first, by cost
	NewPeers    []string     `json:"new_peers"`
	GonePeers   []string     `json:"gone_peers"`
	TooFew      bool         `json:"too_few"` // connections for an interval
}

// Difference of one figure.
type Difference struct {
	Figure  string   `json:"figure"` // a part of the ledger ("server_think"), "rtt", "loss" or "failures"
	Unit    string   `json:"unit"`   // "s": for one exchange, or for the round trip; "share": 0 to 1
	Good    float64  `json:"good"`
	Bad     float64  `json:"bad"`
	Change  float64  `json:"change"`
	Low     *float64 `json:"low"` // of the interval of the change; null: too few connections
	High    *float64 `json:"high"`
	Changed bool     `json:"changed"`
}

// Units and figures beside the ledger's parts.
const (
	UnitSeconds = "s"
	UnitShare   = "share"
	RTT         = "rtt"
	Loss        = "loss"
	Failures    = "failures"
)

// What counts as a change.
const (
	draws       = 1000
	least       = 3     // connections of a side for an interval
	leastTime   = 0.002 // seconds: below, nobody cares
	leastPart   = 0.10  // of the good figure
	leastShare  = 0.005
	bluntTime   = 0.1 // without an interval: what a person notices
	bluntShare  = 0.05
	alikeShare  = 0.3 // of a side's connections that must be to common services
	maxShown    = 50
	maxNames    = 20
	maxServing  = 40 // services compared
	oneSidedTop = 0.9
)

// UnlikeError says why two captures cannot be compared.
type UnlikeError struct{ Why string }

func (e *UnlikeError) Error() string {
	return "the captures cannot be compared: " + e.Why
}

// Compare tells what changed. Force compares what is common even where the rest
// is unlike.
func Compare(good, bad *Side, force bool) (*Report, error) {
	common, why := alike(good, bad)
	if len(common) == 0 || why != "" && !force {
		return nil, &UnlikeError{why}
	}
	r := &Report{Schema: Schema, Good: good.about(), Bad: bad.about(), Services: []Changes{}, OnlyGood: []string{}, OnlyBad: []string{}}
	for _, key := range common[:min(len(common), maxServing)] {
		r.Services = append(r.Services, compare(key, good.services[key], bad.services[key]))
	}
	slices.SortStableFunc(r.Services, func(a, b Changes) int { return cmp.Compare(weight(&b), weight(&a)) })
	r.OnlyGood, r.OnlyBad = only(good, bad), only(bad, good)
	return r, nil
}

func (s *Side) about() About { return About{s.Name, s.Packets, s.Seconds, s.Connections} }

// alike lists the common services, and says what makes the sides unlike.
func alike(good, bad *Side) (common []Service, why string) {
	for _, s := range []*Side{good, bad} {
		if s.Connections == 0 {
			return nil, s.Name + " has no conversation"
		}
	}
	var in [2]uint64
	for _, k := range bad.sorted() {
		if g := good.services[k]; g != nil {
			common = append(common, k)
			in[0] += g.seen
			in[1] += bad.services[k].seen
		}
	}
	if len(common) == 0 {
		return nil, fmt.Sprintf("they have no service in common: %s has %s, %s has %s", good.Name, good.names(), bad.Name, bad.names())
	}
	for i, s := range []*Side{good, bad} {
		if share := float64(in[i]) / float64(s.Connections); share < alikeShare {
			return common, fmt.Sprintf("only %.0f %% of the conversations in %s are with services that the other one has too; filter both with -f, or use --force",
				100*share, s.Name)
		}
	}
	one := func(s *Side) bool { return float64(s.oneSided) > oneSidedTop*float64(s.Connections) }
	if one(good) != one(bad) {
		s := good
		if one(bad) {
			s = bad
		}
		return common, s.Name + " has one direction of the traffic only, the other one both; use --force to compare all the same"
	}
	return common, ""
}

func (s *Side) names() string {
	var out []string
	for _, k := range s.sorted() {
		if len(out) == 5 {
			out = append(out, "…")
			break
		}
		out = append(out, s.services[k].label(k))
	}
	return strings.Join(out, ", ")
}

func only(a, b *Side) []string {
	out := []string{}
	for _, k := range a.sorted() {
		if b.services[k] == nil && len(out) < maxShown {
			out = append(out, a.services[k].label(k))
		}
	}
	return out
}

// figure reads one figure of many connections; weight is how often each was drawn.
type figure struct {
	name, unit string
	of         func(x *sample) (value, base float64)
}

func figures() []figure {
	var out []figure
	for p := range conn.Parts {
		if p == conn.ClientThink { // the user's own pauses are no fault
			continue
		}
		out = append(out, figure{conn.PartNames[p], UnitSeconds, func(x *sample) (float64, float64) { return x.parts[p], x.exchanges }})
	}
	return append(out,
		figure{RTT, UnitSeconds, func(x *sample) (float64, float64) {
			if x.rtt == 0 {
				return 0, 0
			}
			return x.rtt, 1
		}},
		figure{Loss, UnitShare, func(x *sample) (float64, float64) { return x.resent, x.segments }},
		figure{Failures, UnitShare, func(x *sample) (float64, float64) { return x.failed, 1 }},
	)
}

// ratio is the figure over all samples.
func (f *figure) ratio(list []sample) float64 {
	value, base := 0.0, 0.0
	for i := range list {
		v, b := f.of(&list[i])
		value, base = value+v, base+b
	}
	return over(value, base)
}

func over(value, base float64) float64 {
	if base == 0 {
		return 0
	}
	return value / base
}

func compare(key Service, good, bad *service) Changes {
	name := bad.label(key)
	if !strings.Contains(name, " ") {
		name = good.label(key)
	}
	c := Changes{
		Service: name, Connections: [2]uint64{good.seen, bad.seen}, Exchanges: [2]uint64{good.asked, bad.asked},
		Figures: []Difference{}, NewPeers: missing(bad.peers, good.peers), GonePeers: missing(good.peers, bad.peers),
		TooFew: len(good.samples) < least || len(bad.samples) < least,
	}
	list := figures()
	var spread [][]float64
	if !c.TooFew {
		spread = bootstrap(list, good.samples, bad.samples)
	}
	for i := range list {
		f := &list[i]
		d := Difference{Figure: f.name, Unit: f.unit, Good: f.ratio(good.samples), Bad: f.ratio(bad.samples)}
		d.Change = d.Bad - d.Good
		if spread != nil {
			low, high := interval(spread[i])
			d.Low, d.High = &low, &high
		}
		d.Changed = d.matters()
		if d.Changed && f.unit == UnitSeconds && f.name != RTT {
			c.Cost += d.Change
		}
		c.Figures = append(c.Figures, d)
	}
	slices.SortStableFunc(c.Figures, func(a, b Difference) int { return cmp.Compare(b.rank(), a.rank()) })
	return c
}

// matters tells a change from chance, and from what nobody would notice.
func (d *Difference) matters() bool {
	size := math.Abs(d.Change)
	if d.Low == nil {
		if d.Unit == UnitShare {
			return size >= bluntShare
		}
		return size >= bluntTime
	}
	if *d.Low <= 0 && *d.High >= 0 {
		return false
	}
	if d.Unit == UnitShare {
		return size >= leastShare
	}
	return size >= leastTime && size >= leastPart*d.Good
}

// rank puts changes first, by their size; a share weighs as a second.
func (d *Difference) rank() float64 {
	size := math.Abs(d.Change)
	if d.Changed {
		return 1e6 + size
	}
	return size
}

// weight ranks services: what got worse first.
func weight(c *Changes) float64 {
	w := c.Cost * float64(max(1, c.Exchanges[1]))
	for i := range c.Figures {
		if f := &c.Figures[i]; f.Changed && f.Figure == Failures {
			w += f.Change * float64(c.Connections[1])
		}
	}
	return w
}

// bootstrap draws the connections of both sides again and returns, for each
// figure, the differences.
func bootstrap(list []figure, good, bad []sample) [][]float64 {
	const seed = 0x626f6f74
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // statistics, no secrets
	out := make([][]float64, len(list))
	for i := range out {
		out[i] = make([]float64, 0, draws)
	}
	// Each figure of each connection once, so that a draw only adds.
	table := func(of []sample) [][2]float64 {
		t := make([][2]float64, len(of)*len(list))
		for i := range of {
			for j := range list {
				v, b := list[j].of(&of[i])
				t[i*len(list)+j] = [2]float64{v, b}
			}
		}
		return t
	}
	sides := [2][][2]float64{table(good), table(bad)}
	counts := [2]int{len(good), len(bad)}
	sums := make([][2]float64, len(list))
	for range draws {
		for side, t := range sides {
			clear(sums)
			for range counts[side] {
				at := random.IntN(counts[side]) * len(list)
				for j := range sums {
					sums[j][0] += t[at+j][0]
					sums[j][1] += t[at+j][1]
				}
			}
			for j := range sums {
				v := over(sums[j][0], sums[j][1])
				if side == 0 {
					out[j] = append(out[j], -v)
				} else {
					out[j][len(out[j])-1] += v
				}
			}
		}
	}
	return out
}

// interval is the range of the middle 95 %.
func interval(v []float64) (low, high float64) {
	slices.Sort(v)
	const tail = 0.025
	return v[int(tail*float64(len(v)))], v[int((1-tail)*float64(len(v)))-1]
}

func missing(a, b map[netip.Addr]bool) []string {
	var list []netip.Addr
	for x := range a {
		if !b[x] {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, netip.Addr.Compare)
	out := []string{}
	for i, x := range list {
		if i == maxNames {
			out = append(out, "…")
			break
		}
		out = append(out, x.String())
	}
	return out
}
