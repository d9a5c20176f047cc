package rdmacm

// State is a state of a queue pair (enum ib_qp_state).
type State uint32

// The states that a connection goes through.
const (
	StateInit  State = 1
	StateReady State = 2 // to receive (RTR)
	StateSend  State = 3 // to send (RTS)
	StateError State = 6
)

// maskUser contains the bits 0 to 20 of Mask, from IBV_QP_STATE to IBV_QP_DEST_QPN. Older kernels
// used the next bits internally for RoCE, passed them on to programs, and refused them in
// ibv_modify_qp. So Attributes clears them, as librdmacm does.
const maskUser = 1<<21 - 1

// Attributes are the attributes that a queue pair needs in ibv_modify_qp(3) for its next state
// (struct ib_uverbs_qp_attr). The fields of the alternate path are left out, because no
// connection has one.
type Attributes struct {
	// Mask reports which of the other fields are valid (IBV_QP_*). If Mask is 0, there is nothing
	// to modify. On iWARP Mask is 0, because there the kernel changes the states itself.
	Mask          uint32
	State         State
	PathMTU       uint32
	QKey          uint32
	ReceivePSN    uint32
	SendPSN       uint32
	DestinationQP uint32
	// Access contains the rights of the peer (IBV_ACCESS_*).
	Access uint32
	// Address is the address vector of the path to the peer.
	Address   AddressHandle
	PKeyIndex uint16
	// Reads is max_rd_atomic, and ReadsServed is max_dest_rd_atomic.
	Reads, ReadsServed        uint8
	MinRNRTimer               uint8
	Port                      uint8
	Timeout                   uint8
	RetryCount, RNRRetryCount uint8
}

// AddressHandle is struct ib_uverbs_ah_attr.
type AddressHandle struct {
	DGID           [16]byte
	FlowLabel      uint32
	SGIDIndex      uint8
	HopLimit       uint8
	TrafficClass   uint8
	DLID           uint16
	ServiceLevel   uint8
	SourcePathBits uint8
	StaticRate     uint8
	Global         bool
	Port           uint8
}

// Attributes returns the attributes with which the queue pair of the connection enters its next
// state (rdma_init_qp_attr(3)).
func (id *ID) Attributes(next State) (Attributes, error) {
	body, answer := words(make([]byte, attributesSize)), words(make([]byte, qpSize))
	body.put32(attributesState, uint32(next))
	err := id.do("query queue pair attributes", attributesID, &Command{
		Number: commandAttributes, Body: body, Memory: answer, Pointer: attributesResponse,
	})
	if err != nil {
		return Attributes{}, err
	}
	ah := answer[qpAddress:]
	return Attributes{
		Mask: answer.at32(qpMask) & maskUser, State: State(answer.at32(qpState)),
		PathMTU: answer.at32(qpPathMTU), QKey: answer.at32(qpQKey),
		ReceivePSN: answer.at32(qpReceivePSN), SendPSN: answer.at32(qpSendPSN),
		DestinationQP: answer.at32(qpDestination), Access: answer.at32(qpAccess),
		Address: AddressHandle{
			DGID: [16]byte(ah[ahDGID:]), FlowLabel: ah.at32(ahFlowLabel), SGIDIndex: ah[ahSGIDIndex],
			HopLimit: ah[ahHopLimit], TrafficClass: ah[ahTrafficClass], DLID: ah.at16(ahDLID),
			ServiceLevel: ah[ahServiceLevel], SourcePathBits: ah[ahSourcePath], StaticRate: ah[ahStaticRate],
			Global: ah[ahGlobal] != 0, Port: ah[ahPort],
		},
		PKeyIndex: answer.at16(qpPKeyIndex), Reads: answer[qpReads], ReadsServed: answer[qpReadsServed],
		MinRNRTimer: answer[qpMinRNRTimer], Port: answer[qpPort], Timeout: answer[qpTimeout],
		RetryCount: answer[qpRetryCount], RNRRetryCount: answer[qpRNRRetryCount],
	}, nil
}
