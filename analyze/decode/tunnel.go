package decode

// ipTunnel reads what an IP header wraps.
func (d *decoder) ipTunnel(proto uint8, off int) {
	d.opaque(proto, off)
}

// udpTunnel tells whether a port may be a tunnel's.
func udpTunnel(uint16) bool { return false }

func (d *decoder) udpPayload(int) {}
