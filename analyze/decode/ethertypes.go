package decode

import (
	"cmp"
	"slices"
)

// numbered is a protocol that is named for its number alone.
type numbered struct {
	number uint16
	name   string
}

// rareTypes are EtherTypes that nothing here reads, with the names that Wireshark
// shows for them.
var rareTypes = [...]numbered{ //nolint:gochecknoglobals // constant table
	{0x0600, "idp"},
	{0x0641, "roofnet"},
	{0x0643, "roofnet"},
	{0x0644, "roofnet"},
	{0x0645, "roofnet"},
	{0x0712, "mdp"},
	{0x0713, "mdp"},
	{0x08f0, "m2m"},
	{0x08ff, "bpq"},
	{0x0bad, "vines_ip"},
	{0x0baf, "vines_echo"},
	{0x0c15, "c15hbeat"},
	{0x2001, "cgmp"},
	{0x22e5, "gmhdr"},
	{0x22ea, "mrp-msrp"},
	{0x22f0, "ieee1722"},
	{0x22f1, "rohc"},
	{0x22f4, "isis"},
	{0x2323, "dect"},
	{0x2452, "wlan_centrino"},
	{0x3e3f, "epl_v1"},
	{0x6000, "lapbether"},
	{0x6003, "dec_dna"},
	{0x6004, "lat"},
	{0x8021, "ipcp"},
	{0x8023, "osinlcp"},
	{0x8038, "dec_stp"},
	{0x8057, "ipv6cp"},
	{0x8059, "pppmuxcp"},
	{0x809a, "wpan"},
	{0x809b, "llap"},
	{0x80d5, "snaeth"},
	{0x80e1, "dlr"},
	{0x80f3, "aarp"},
	{0x80fd, "ccp"},
	{0x80ff, "wcp"},
	{0x8102, "bofl"},
	{0x8103, "lacp"},
	{0x8133, "nsrp"},
	{0x8181, "stp"},
	{0x81fd, "ismp"},
	{0x8204, "lwl4"},
	{0x8207, "cdpcp"},
	{0x8281, "mplscp"},
	{0x872d, "wlccp"},
	{0x8783, "mint"},
	{0x8808, "macc"},
	{0x886c, "hpna"},
	{0x886d, "ans"},
	{0x886f, "msnlb"},
	{0x8874, "brcm-tag"},
	{0x887b, "homeplug"},
	{0x8899, "realtek"},
	{0x889a, "hyperscsi"},
	{0x889b, "csm_encaps"},
	{0x88a1, "telkonet"},
	{0x88a2, "aoe"},
	{0x88a4, "ecatf"},
	{0x88ab, "epl"},
	{0x88ae, "brdwlk"},
	{0x88b7, "ieee802a"},
	{0x88b8, "goose"},
	{0x88ba, "sv"},
	{0x88bb, "lwapp"},
	{0x88c7, "eapol"},
	{0x88ca, "tipc"},
	{0x88cd, "siii"},
	{0x88d8, "cesoeth"},
	{0x88d9, "lltd"},
	{0x88dc, "wsmp"},
	{0x88de, "vmlab"},
	{0x88e3, "pn_mrp"},
	{0x88ee, "elmi"},
	{0x88f5, "mrp-mvrp"},
	{0x88f6, "mrp-mmrp"},
	{0x88f8, "ncsi"},
	{0x88fb, "hsr_prp_supervision"},
	{0x8901, "flip"},
	{0x890d, "wlan"},
	{0x8911, "linx"},
	{0x8914, "fip"},
	{0x8915, "infiniband"},
	{0x8917, "mih"},
	{0x891d, "tte"},
	{0x892d, "bluecom"},
	{0x893a, "ieee1905"},
	{0x8940, "ecp21"},
	{0x8942, "lldp"},
	{0x8947, "gnw"},
	{0x8988, "hbbak"},
	{0x9021, "rtmac"},
	{0x9022, "rtcfg"},
	{0x9104, "eero"},
	{0x99fe, "tecmp"},
	{0xa0ed, "6lowpan"},
	{0xabcd, "brdwlk"},
	{0xaefe, "ecpri"},
	{0xb4e3, "cl3"},
	{0xbbbb, "lwapp"},
	{0xc021, "lcp"},
	{0xc023, "pap"},
	{0xc029, "cbcp"},
	{0xc02b, "bacp"},
	{0xc02d, "bap"},
	{0xc0de, "xip"},
	{0xc0df, "nwp"},
	{0xc223, "chap"},
	{0xcafe, "llt"},
	{0xd00d, "tdmoe"},
	{0xd28b, "avsp"},
	{0xe555, "exeh"},
	{0xf052, "hcrt"},
	{0xfcfc, "mdshdr"},
}

// EtherTypeName names a protocol that is known by its EtherType only; "" if it is
// not.
func EtherTypeName(et uint16) string {
	i, ok := slices.BinarySearchFunc(rareTypes[:], et, func(n numbered, et uint16) int { return cmp.Compare(n.number, et) })
	if !ok {
		return ""
	}
	return rareTypes[i].name
}

// EtherTypeNames are all that EtherTypeName can answer.
func EtherTypeNames() []string {
	list := make([]string, 0, len(rareTypes))
	for i := range rareTypes {
		list = append(list, rareTypes[i].name)
	}
	return list
}
