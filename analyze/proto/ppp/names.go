package ppp

// named is a protocol inside PPP by its number (IANA, "PPP DLL Protocol Numbers").
type named struct {
	number uint16
	name   string // as Wireshark calls it
}

var protocols = [...]named{ //nolint:gochecknoglobals // constant table
	{lcp, "lcp"},
	{pap, "pap"},
	{chap, "chap"},
	{eap, "eap"},
	{ipcp, "ipcp"},
	{ipv6cp, "ipv6cp"},
	{ccp, "ccp"},
	{0x0027, "dec_dna"},
	{0x0029, "ddp"},
	{0x002d, "vjc"},
	{0x002f, "vjc"},
	{0x0035, "vines_ip"},
	{0x004d, "sna"},
	{0x0059, "pppmux"},
	{0x005b, "vsnp"},
	{0x0061, "crtp"},
	{0x00fd, "comp_data"},
	{0x8023, "osinlcp"},
	{0x8031, "bcp_ncp"},
	{0x8059, "pppmuxcp"},
	{0x805b, "vsncp"},
	{0x8207, "cdpcp"},
	{0x8281, "mplscp"},
	{0xc029, "cbcp"},
	{0xc02b, "bacp"},
	{0xc02d, "bap"},
}

// nameOf is the name of a protocol; empty: it has none here.
func nameOf(number uint16) string {
	for i := range protocols {
		if protocols[i].number == number {
			return protocols[i].name
		}
	}
	return ""
}

// names are all that nameOf can answer.
func names() []string {
	list := make([]string, 0, len(protocols))
	for i := range protocols {
		list = append(list, protocols[i].name)
	}
	return list
}
