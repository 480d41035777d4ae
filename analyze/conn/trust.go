package conn

// Places where a capture can be taken.
const (
	AtClient = "client"
	AtServer = "server"
	Between  = "middle"
	AnyPlace = "unknown"
)

// Trust is how far a capture can be believed (contract: "trust").
type Trust struct {
	Vantage             string // client, server, middle or unknown
	Duplicates          uint64 // frames that a mirror port copied
	Offload             bool   // segments above the MTU, or outgoing checksums left to the NIC
	TimeReversals       uint64 // frames older than the one before
	Gaps                uint64 // segments acknowledged but not in the capture
	OneSided            bool   // only one direction of the traffic is there
	BeginsMidConnection uint64 // connections that were open when the capture began
	Snapped             uint64 // frames cut by the snaplen
	Dropped             uint64 // by kernel, interface or queue
}
