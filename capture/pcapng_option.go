package capture

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// options walks the options of a block from byte at on. A fault is an option
// that does not fit its block: then the writer and this reader disagree about
// the whole block, and Wireshark does not go on behind it either.
func (p *pcapngReader) options(block []byte, at int, each func(code uint16, value []byte)) string {
	end := len(block) - blockTrailer
	for at+4 <= end {
		code, n := p.u16(block[at:]), int(p.u16(block[at+2:]))
		at += 4
		if n > end-at {
			return fmt.Sprintf("an option %d of %d bytes does not fit its block (%d bytes left)", code, n, end-at)
		}
		if code == 0 { // opt_endofopt
			return ""
		}
		if each != nil {
			each(code, block[at:at+n:at+n])
		}
		at += (n + 3) &^ 3
	}
	return ""
}

// optionText returns a name. It is cut at maxText, so that a file of names
// costs no more memory than one of packets.
func optionText(v []byte) string {
	const maxText = 256
	v = v[:min(len(v), maxText)]
	if i := bytes.IndexByte(v, 0); i >= 0 { // some writers count the C string's end
		v = v[:i]
	}
	return string(v)
}

// drops reads epb_dropcount: frames lost since the one before on this
// interface.
func (p *pcapngReader) drops(block []byte, at int, i *ngInterface, st *walk) string {
	wrong := ""
	fault := p.options(block, at, func(code uint16, v []byte) {
		switch {
		case code == 4 && len(v) == 8:
			st.interfaces.list[i.index].DroppedKernel += p.u64(v)
		case (code == 4 || code == 5) && len(v) != 8, (code == 2 || code == 6) && len(v) != 4: // drops and packet id; flags and queue
			wrong = fmt.Sprintf("an option %d of %d bytes has not the length that it always has", code, len(v))
		}
	})
	if fault == "" {
		fault = wrong
	}
	return fault
}

// names walks the records of a name resolution block, section 4.5, only to see
// that they fit: the names themselves are passed over.
func (p *pcapngReader) names(block []byte) string {
	end := len(block) - blockTrailer
	for at := namesFixed; at+4 <= end; {
		kind, n := p.u16(block[at:]), int(p.u16(block[at+2:]))
		at += 4
		if (n+3)&^3 > end-at {
			return fmt.Sprintf("a name of %d bytes does not fit its block (%d bytes left)", n, end-at)
		}
		if kind == 1 && n < 4 || kind == 2 && n < 16 { // nrb_record_ipv4, nrb_record_ipv6
			return fmt.Sprintf("a name of %d bytes is shorter than its address", n)
		}
		at += (n + 3) &^ 3
		if kind == 0 { // nrb_record_end
			return p.options(block, at, nil)
		}
	}
	return ""
}

// stats reads an interface statistics block, section 4.6. Its numbers are
// totals since the start, so the last block counts; and they include what
// epb_dropcount told frame by frame.
func (p *pcapngReader) stats(block []byte, st *walk) string {
	if len(block) < statsFixed+blockTrailer {
		return fmt.Sprintf("an interface statistics block of %d bytes; at least %d are needed", len(block), statsFixed+blockTrailer)
	}
	number := p.u32(block[8:])
	if number >= uint32(len(p.ifaces)) { //nolint:gosec // bounded by maxInterfaces
		return "" // of nothing that is known: no reason to lose the frames that follow
	}
	d := &st.interfaces.list[p.ifaces[number].index]
	return p.options(block, statsFixed, func(code uint16, v []byte) {
		switch {
		case code == 5 && len(v) >= 8: // isb_ifdrop
			d.DroppedInterface = max(d.DroppedInterface, p.u64(v))
		case code == 7 && len(v) >= 8: // isb_osdrop
			d.DroppedKernel = max(d.DroppedKernel, p.u64(v))
		}
	})
}

// secrets keeps the contents of a decryption secrets block, section 4.7, if
// they are a TLS key log.
func (p *pcapngReader) secrets(block []byte, st *walk) string {
	const tlsKeyLog = 0x544c534b
	if len(block) < secretsFixed+blockTrailer {
		return fmt.Sprintf("a secrets block of %d bytes; at least %d are needed", len(block), secretsFixed+blockTrailer)
	}
	n := p.u32(block[12:])
	if room := len(block) - secretsFixed - blockTrailer; int64(n) > int64(room) {
		return fmt.Sprintf("secrets of %d bytes do not fit their block (%d bytes)", n, room)
	}
	if p.u32(block[8:]) != tlsKeyLog || n > maxSecretsBytes {
		return ""
	}
	st.secrets = append(st.secrets, slices.Clone(block[secretsFixed:secretsFixed+int(n)]))
	return ""
}

// defaultResolution is if_tsresol where the option is absent: microseconds.
const defaultResolution = 6

// timeUnit turns the ticks of an interface into nanoseconds.
type timeUnit struct {
	power  uint8 // if_tsresol: 10^-n, or with the top bit 2^-n seconds
	offset int64 // if_tsoffset, seconds

	perSecond uint64 // ticks; 0: a power of two above 2^63, or of ten above 10^19
	times     uint64 // nanoseconds of a tick where that is a whole number, else 0
	shift     uint   // the power of two, where it is one
	perNano   uint64 // ticks of a nanosecond, where perSecond does not fit
}

func (u *timeUnit) prepare() {
	n := uint(u.power & 0x7f)
	if u.power&0x80 != 0 {
		u.shift = n
		if n < 64 {
			u.perSecond = 1 << n
		}
		return
	}
	switch {
	case n <= 19: // 10^19 is the largest that fits
		u.perSecond = powerOfTen(n)
	case n <= 28: // 2^64 ticks are under a second
		u.perNano = powerOfTen(n - 9)
	}
	if n <= 9 {
		u.times = 1e9 / u.perSecond
	}
}

func powerOfTen(n uint) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// nanos returns the time since 1970-01-01 UTC, saturated to what int64 holds.
func (u *timeUnit) nanos(ticks uint64) int64 {
	if u.times != 0 && u.offset == 0 {
		if hi, lo := bits.Mul64(ticks, u.times); hi == 0 && lo <= math.MaxInt64 {
			return int64(lo)
		}
		return math.MaxInt64
	}
	var seconds, rest uint64
	switch {
	case u.perSecond != 0:
		seconds = ticks / u.perSecond
		hi, lo := bits.Mul64(ticks%u.perSecond, 1e9)
		rest, _ = bits.Div64(hi, lo, u.perSecond) // hi < perSecond, because the first factor is
	case u.perNano != 0:
		rest = ticks / u.perNano
	case u.shift != 0:
		hi, _ := bits.Mul64(ticks, 1e9)
		rest = hi >> (u.shift - 64)
	}
	return saturate(seconds, u.offset, rest)
}

// saturate returns (seconds+offset)*1e9+rest within the bounds of int64.
func saturate(seconds uint64, offset int64, rest uint64) int64 {
	const maxSeconds = math.MaxInt64/1000000000 - 1
	if seconds > math.MaxInt64 || offset >= 0 && (seconds > maxSeconds || offset > maxSeconds) {
		return math.MaxInt64
	}
	sum := int64(seconds) + offset
	switch {
	case sum > maxSeconds:
		return math.MaxInt64
	case sum < -maxSeconds:
		return -maxSeconds * 1e9
	}
	return sum*1e9 + int64(rest) //nolint:gosec // rest is below 1e9
}
