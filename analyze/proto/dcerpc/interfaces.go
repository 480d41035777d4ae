package dcerpc

import "encoding/binary"

// service is an interface by its UUID, of which the first part tells nearly all apart, and
// the last three bytes the others.
type service struct {
	first uint32
	last  [3]byte // zeros: the first is enough
	name  string  // as Wireshark calls it
}

// services are those that Windows hosts ask each other for (MS-RPCE and the
// documents of each).
var services = [...]service{ //nolint:gochecknoglobals // constant table
	{0xe1af8308, [3]byte{}, "epm"},
	{0xe3514235, [3]byte{}, "drsuapi"},
	{0x12345778, [3]byte{0x67, 0x89, 0xac}, "samr"},
	{0x12345778, [3]byte{0x67, 0x89, 0xab}, "lsarpc"},
	{0x12345678, [3]byte{0x67, 0xcf, 0xfb}, "rpc_netlogon"},
	{0x12345678, [3]byte{0x67, 0x89, 0xab}, "spoolss"},
	{0x4b324fc8, [3]byte{}, "srvsvc"},
	{0x6bffd098, [3]byte{}, "wkssvc"},
	{0x367abb81, [3]byte{}, "svcctl"},
	{0x338cd001, [3]byte{}, "winreg"},
	{0x1ff70682, [3]byte{}, "atsvc"},
	{0x3919286a, [3]byte{}, "dssetup"},
	{0x82273fdc, [3]byte{}, "eventlog"},
	{0x894de0c0, [3]byte{}, "initshutdown"},
	{0x4fc742e0, [3]byte{}, "netdfs"},
	{0xa4f1db00, [3]byte{}, "mapi"},
	{0xf5cc5a18, [3]byte{}, "nspi"},
	{0x1544f5e0, [3]byte{}, "rfr"},
	{0x50abc2a4, [3]byte{}, "dnsserver"},
	{0x99fcfec4, [3]byte{}, "oxid"},
	{0x000001a0, [3]byte{}, "isystemactivator"},
	{0x4d9f4ab8, [3]byte{}, "remact"},
	{0xafa8bd80, [3]byte{}, "mgmt"},
	{0xf5cc59b4, [3]byte{}, "frsrpc"},
}

// interfaceOf names the interface of a syntax identifier; "" if it is none of those.
func interfaceOf(e binary.ByteOrder, uuid []byte) string {
	const uuidLen, tail = 16, 12
	if len(uuid) < uuidLen {
		return ""
	}
	first := e.Uint32(uuid)
	for i := range services {
		x := &services[i]
		if x.first == first && (x.last == [3]byte{} || x.last == [3]byte(uuid[tail+1:])) {
			return x.name
		}
	}
	return ""
}

func interfaceNames() []string {
	list := make([]string, 0, len(services))
	for i := range services {
		list = append(list, services[i].name)
	}
	return list
}
