package run

import (
	"strconv"

	"netwhy/capture/packet"
)

// linkName is the name that libpcap gives to a link type (pcap-linktype(7)),
// without "DLT_"; one without a name is "LINKTYPE_" and its number.
func linkName(t packet.LinkType) string {
	if n, ok := linkNames[t]; ok {
		return n
	}
	if t >= 147 && t <= 162 {
		return "USER" + strconv.Itoa(int(t-147))
	}
	return "LINKTYPE_" + strconv.Itoa(int(t))
}

// dltRaw is one name for the numbers that raw IP has on different systems.
const dltRaw = "RAW"

var linkNames = map[packet.LinkType]string{ //nolint:gochecknoglobals // constant table
	0: "NULL", 1: "EN10MB", 3: "AX25", 6: "IEEE802", 7: "ARCNET", 8: "SLIP", 9: "PPP", 10: "FDDI",
	12: dltRaw, 14: dltRaw, 101: dltRaw, 50: "PPP_SERIAL", 51: "PPP_ETHER", 100: "ATM_RFC1483", 104: "C_HDLC",
	105: "IEEE802_11", 107: "FRELAY", 108: "LOOP", 113: "LINUX_SLL", 114: "LTALK", 117: "PFLOG", 119: "PRISM_HEADER",
	122: "IP_OVER_FC", 123: "SUNATM", 127: "IEEE802_11_RADIO", 129: "ARCNET_LINUX", 138: "APPLE_IP_OVER_IEEE1394",
	139: "MTP2_WITH_PHDR", 140: "MTP2", 141: "MTP3", 142: "SCCP", 143: "DOCSIS", 144: "LINUX_IRDA",
	163: "IEEE802_11_RADIO_AVS", 165: "BACNET_MS_TP", 166: "PPP_PPPD", 169: "GPRS_LLC", 177: "LINUX_LAPD",
	187: "BLUETOOTH_HCI_H4", 189: "USB_LINUX", 192: "PPI", 195: "IEEE802_15_4", 196: "SITA", 197: "ERF",
	201: "BLUETOOTH_HCI_H4_WITH_PHDR", 202: "AX25_KISS", 203: "LAPD", 204: "PPP_WITH_DIR", 205: "C_HDLC_WITH_DIR",
	206: "FRELAY_WITH_DIR", 209: "IPMB_LINUX", 215: "IEEE802_15_4_NONASK_PHY", 220: "USB_LINUX_MMAPPED", 224: "FC_2",
	225: "FC_2_WITH_FRAME_DELIMS", 226: "IPNET", 227: "CAN_SOCKETCAN", 228: "IPV4", 229: "IPV6", 230: "IEEE802_15_4_NOFCS",
	231: "DBUS", 235: "DVB_CI", 236: "MUX27010", 237: "STANAG_5066_D_PDU", 239: "NFLOG", 240: "NETANALYZER",
	241: "NETANALYZER_TRANSPARENT", 242: "IPOIB", 243: "MPEG_2_TS", 244: "NG40", 245: "NFC_LLCP", 247: "INFINIBAND",
	248: "SCTP", 249: "USBPCAP", 250: "RTAC_SERIAL", 251: "BLUETOOTH_LE_LL", 253: "NETLINK", 254: "BLUETOOTH_LINUX_MONITOR",
	255: "BLUETOOTH_BREDR_BB", 256: "BLUETOOTH_LE_LL_WITH_PHDR", 257: "PROFIBUS_DL", 258: "PKTAP", 259: "EPON",
	260: "IPMI_HPM_2", 261: "ZWAVE_R1_R2", 262: "ZWAVE_R3", 263: "WATTSTOPPER_DLM", 264: "ISO_14443", 265: "RDS",
	266: "USB_DARWIN", 268: "SDLC", 270: "LORATAP", 271: "VSOCK", 272: "NORDIC_BLE", 273: "DOCSIS31_XRA31",
	274: "ETHERNET_MPACKET", 275: "DISPLAYPORT_AUX", 276: "LINUX_SLL2", 283: "IEEE802_15_4_TAP",
}
