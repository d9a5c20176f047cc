package uverbs

// State is a state of a queue pair (enum ibv_qp_state).
type State uint8

// The states.
const (
	StateReset State = iota
	StateInit
	StateReceive // RTR
	StateSend    // RTS
	StateDrain   // SQD
	StateSendError
	StateError
)

// Mask reports which attributes are set (enum ibv_qp_attr_mask).
type Mask uint32

// The attributes.
const (
	MaskState      Mask = 1 << 0
	MaskAccess     Mask = 1 << 3
	MaskPkeyIndex  Mask = 1 << 4
	MaskPort       Mask = 1 << 5
	MaskQkey       Mask = 1 << 6
	MaskPath       Mask = 1 << 7 // IBV_QP_AV
	MaskPathMTU    Mask = 1 << 8
	MaskTimeout    Mask = 1 << 9
	MaskRetries    Mask = 1 << 10
	MaskRNRRetries Mask = 1 << 11
	MaskReceivePSN Mask = 1 << 12
	MaskReadsOut   Mask = 1 << 13
	MaskRNRTimer   Mask = 1 << 15
	MaskSendPSN    Mask = 1 << 16
	MaskReadsIn    Mask = 1 << 17
	MaskRemote     Mask = 1 << 20
)

// Path is the address vector of the path to the peer (struct ibv_ah_attr).
type Path struct {
	GID          [16]byte
	FlowLabel    uint32
	LID          uint16
	GIDIndex     uint8
	HopLimit     uint8
	TrafficClass uint8
	ServiceLevel uint8
	PathBits     uint8
	StaticRate   uint8
	Port         uint8
	// Global reports whether the path has a GID (a global routing header).
	Global bool
}

// PairAttributes are attributes of a queue pair. Only the attributes in Mask are set. The values
// come from the connection manager (struct ib_uverbs_qp_attr). On InfiniBand and RoCE a connection
// can also be made without a connection manager. In this case the two sides have to exchange the
// values by other means.
type PairAttributes struct {
	Mask       Mask
	State      State
	PathMTU    uint8
	Qkey       uint32
	ReceivePSN uint32
	SendPSN    uint32
	// Remote is the number of the peer's queue pair.
	Remote     uint32
	Access     Access
	PkeyIndex  uint16
	Path       Path
	ReadsOut   uint8
	ReadsIn    uint8
	RNRTimer   uint8
	Port       uint8
	Timeout    uint8
	Retries    uint8
	RNRRetries uint8
}

// Modify changes attributes of a queue pair, for instance its state.
func (q *QueuePair) Modify(a *PairAttributes) error {
	p := &a.Path
	d := destination{
		gid: p.GID, flowLabel: p.FlowLabel, lid: p.LID, gidIndex: p.GIDIndex, hopLimit: p.HopLimit, trafficClass: p.TrafficClass,
		serviceLevel: p.ServiceLevel, pathBits: p.PathBits, staticRate: p.StaticRate, port: p.Port,
	}
	if p.Global {
		d.global = 1
	}
	return tellKernel(q.context, "modify queue pair", cmdModifyQP, &modifyRequest{
		dest: d, handle: q.handle, mask: uint32(a.Mask), qkey: a.Qkey, receivePSN: a.ReceivePSN, sendPSN: a.SendPSN, remote: a.Remote,
		access: uint32(a.Access), pkeyIndex: a.PkeyIndex, state: uint8(a.State), pathMTU: a.PathMTU,
		readsOut: a.ReadsOut, readsIn: a.ReadsIn, rnrTimer: a.RNRTimer, port: a.Port, timeout: a.Timeout,
		retries: a.Retries, rnrRetries: a.RNRRetries,
	})
}

// SetState changes only the state, to StateError or StateReset. StateError flushes the posted
// requests.
func (q *QueuePair) SetState(s State) error {
	return q.Modify(&PairAttributes{Mask: MaskState, State: s})
}

// QueryState queries the state. With siw the result is meaningless, because siw_query_qp does not
// set the state.
func (q *QueuePair) QueryState() (State, error) {
	var a stateAnswer
	if err := call(q.context, "query queue pair", cmdQueryQP, &stateRequest{handle: q.handle, mask: uint32(MaskState)}, &a, nil, nil); err != nil {
		return 0, err
	}
	return State(a.state), nil
}
