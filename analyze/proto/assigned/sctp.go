package assigned

// numbered is a protocol over SCTP.
type numbered struct {
	number uint32
	name   string
}

// payloads are the payload protocol identifiers of SCTP (RFC 9260, 3.3.1; IANA).
var payloads = [...]numbered{ //nolint:gochecknoglobals // constant table
	{1, "iua"},
	{2, "m2ua"},
	{3, "m3ua"},
	{4, "sua"},
	{5, "m2pa"},
	{6, "v5ua"},
	{7, "megaco"},
	{8, "bicc"},
	{10, "dua"},
	{11, "asap"},
	{12, "enrp"},
	{13, "q931"},
	{18, "s1ap"},
	{19, "rua"},
	{20, "hnbap"},
	{24, "sbcap"},
	{25, "nbap"},
	{27, "x2ap"},
	{29, "lcsap"},
	{31, "sabp"},
	{35, "ssp"},
	{43, "m2ap"},
	{44, "m3ap"},
	{45, "ssh"},
	{46, "diameter"},
	{47, "dtls"},
	{49, "gdt"},
	{50, "rtcdc"},
	{60, "ngap"},
	{61, "xnap"},
	{62, "f1ap"},
	{64, "e1ap"},
	{99, "m2tp"},
}

// associations are the ports of SCTP.
var associations = [...]numbered{ //nolint:gochecknoglobals // constant table
	{22, "ssh"},
	{53, "dns"},
	{80, "http"},
	{443, "tls"},
	{853, "dtls"},
	{2904, "m2ua"},
	{2905, "m3ua"},
	{2944, "megaco"},
	{3565, "m2pa"},
	{3863, "asap"},
	{3868, "diameter"},
	{4739, "cflow"},
	{5061, "tls"},
	{5675, "v5ua"},
	{5684, "tls"},
	{5868, "dtls"},
	{9082, "lcsap"},
	{9900, "iua"},
	{9901, "enrp"},
	{9908, "m2tp"},
	{10001, "v5ua"},
	{14001, "sua"},
	{29118, "sgsap"},
	{29168, "sbcap"},
	{29169, "rua"},
	{36412, "s1ap"},
	{36422, "x2ap"},
	{36443, "m2ap"},
	{36444, "m3ap"},
	{37464, "e2ap"},
	{38412, "ngap"},
	{38422, "xnap"},
	{38462, "e1ap"},
	{38472, "f1ap"},
}

// SCTP names what a message over SCTP is, by its payload protocol identifier or the
// ports of its association.
func SCTP(payload uint32, a, b uint16) string {
	for i := range payloads {
		if payloads[i].number == payload {
			return payloads[i].name
		}
	}
	for _, port := range [2]uint16{min(a, b), max(a, b)} {
		for i := range associations {
			if associations[i].number == uint32(port) {
				return associations[i].name
			}
		}
	}
	return Data
}

// SCTPNames are all that SCTP can answer.
func SCTPNames() []string {
	list := []string{Data}
	for i := range payloads {
		list = append(list, payloads[i].name)
	}
	for i := range associations {
		list = append(list, associations[i].name)
	}
	return list
}
