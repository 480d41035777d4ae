package dns

import "strconv"

// rcodeName writes a code as people say it (RFC 1035, 2136, 6891, 7873; IANA
// registry "DNS RCODEs").
func rcodeName(code uint16) string {
	switch code {
	case rcodeOK:
		return "NOERROR"
	case rcodeFormErr:
		return "FORMERR"
	case rcodeServFail:
		return "SERVFAIL"
	case rcodeNXDomain:
		return "NXDOMAIN"
	case rcodeNotImp:
		return "NOTIMP"
	case rcodeRefused:
		return "REFUSED"
	case 6:
		return "YXDOMAIN"
	case 7:
		return "YXRRSET"
	case 8:
		return "NXRRSET"
	case 9:
		return "NOTAUTH"
	case 10:
		return "NOTZONE"
	case 11:
		return "DSOTYPENI"
	case 16:
		return "BADVERS"
	case 23:
		return "BADCOOKIE"
	}
	return "RCODE" + strconv.Itoa(int(code))
}

// typeName writes a type of record (IANA registry "Resource Record (RR) TYPEs").
func typeName(t uint16) string {
	switch t {
	case typeA:
		return "A"
	case typeNS:
		return "NS"
	case typeCNAME:
		return "CNAME"
	case typeSOA:
		return "SOA"
	case 10:
		return "NULL"
	case typePTR:
		return "PTR"
	case 13:
		return "HINFO"
	case typeMX:
		return "MX"
	case typeTXT:
		return "TXT"
	case typeAAAA:
		return "AAAA"
	case 29:
		return "LOC"
	case typeSRV:
		return "SRV"
	case 35:
		return "NAPTR"
	case typeDNAME:
		return "DNAME"
	case typeOPT:
		return "OPT"
	case 43:
		return "DS"
	case 44:
		return "SSHFP"
	case 46:
		return "RRSIG"
	case 47:
		return "NSEC"
	case 48:
		return "DNSKEY"
	case 50:
		return "NSEC3"
	case 51:
		return "NSEC3PARAM"
	case 52:
		return "TLSA"
	case typeSVCB:
		return "SVCB"
	case typeHTTPS:
		return "HTTPS"
	case 99:
		return "SPF"
	case 250:
		return "TSIG"
	case 251:
		return "IXFR"
	case 252:
		return "AXFR"
	case 255:
		return "ANY"
	case 257:
		return "CAA"
	}
	return "TYPE" + strconv.Itoa(int(t)) // RFC 3597, 5
}
