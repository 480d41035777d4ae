package ledger

import (
	"math"
	"slices"
)

// kept counts what went into a small array of samples. When the array is full every
// second sample is dropped and from then on every second, fourth ... is taken: what
// is kept is spread evenly over the connection's life, and no chance is involved.
type kept struct {
	seen uint32
	mask uint32 // one less than each how many is taken, a power of two
	n    uint8
}

const microsecond = 1000

// micros is ns in whole microseconds, saturating at 71 minutes.
func micros(ns int64) uint32 {
	return uint32(max(0, min(ns/microsecond, math.MaxUint32)))
}

// takes notes that there is a sample and reports whether to put it into the array.
func (k *kept) takes() bool {
	i := k.seen
	k.seen++
	return i&k.mask == 0
}

// put adds the sample that was taken to buf.
func (k *kept) put(buf []uint32, v uint32) {
	if int(k.n) >= len(buf) {
		for i := range len(buf) / 2 {
			buf[i] = buf[2*i]
		}
		k.n /= 2 // the lengths are even
		k.mask = 2*k.mask + 1
		if (k.seen-1)&k.mask != 0 {
			return
		}
	}
	buf[k.n] = v
	k.n++
}

// median returns the value below which half of the samples lie (nearest rank), 0
// without samples.
func median(samples []uint32) uint32 { return ranked(samples, 0.5)[0] }

// ranked is median for several shares of the same samples.
func ranked(samples []uint32, shares ...float64) (at [2]uint32) {
	if len(samples) == 0 {
		return at
	}
	var own [manySamples]uint32
	s := append(own[:0], samples...)
	slices.Sort(s)
	for k, q := range shares {
		i := int(math.Ceil(q*float64(len(s)))) - 1
		at[k] = s[max(0, min(i, len(s)-1))]
	}
	return at
}

// spread returns standard deviation/mean, 0 for fewer than two samples.
func spread(samples []uint32) float64 {
	if len(samples) < 2 {
		return 0
	}
	var sum, squares float64
	for _, v := range samples {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	n := float64(len(samples))
	mean := sum / n
	if mean == 0 {
		return 0
	}
	return math.Sqrt(max(0, squares/n-mean*mean)) / mean
}

// pairs gathers what a correlation needs.
type pairs struct{ n, x, y, xx, yy, xy float64 }

func (p *pairs) add(x, y float64) {
	p.n++
	p.x += x
	p.y += y
	p.xx += x * x
	p.yy += y * y
	p.xy += x * y
}

// correlation is Pearson's, 0 where it is not defined.
func (p *pairs) correlation() float64 {
	if p.n < 8 {
		return 0
	}
	vx, vy := p.n*p.xx-p.x*p.x, p.n*p.yy-p.y*p.y
	if vx <= 0 || vy <= 0 {
		return 0
	}
	return (p.n*p.xy - p.x*p.y) / math.Sqrt(vx*vy)
}
