package ibverbs

// This file has those structures of infiniband/verbs.h that this package reads or writes. Of an
// object that the library allocates, the package uses only the fields that precede the object's mutex,
// because the size of a mutex differs between processor architectures. Pointers have integer types:
// they point to C's memory, or to pinned memory of Go.

// contextObject is the beginning of struct ibv_context, with struct ibv_context_ops.
type contextObject struct {
	_             uintptr // device
	_             [11]function
	pollCQ        function
	requestNotify function
	_             [7]function
	postShared    function
	_             [4]function
	postSend      function
	postReceive   function
	_             [5]function
	commandFD     int32
	asyncFD       int32
}

// domainObject is the beginning of struct ibv_pd.
type domainObject struct {
	_ uintptr // context
}

// regionObject is struct ibv_mr.
type regionObject struct {
	_          [4]uintptr // context, pd, addr, length
	_          uint32     // handle
	lkey, rkey uint32
}

// channelObject is struct ibv_comp_channel.
type channelObject struct {
	_  uintptr // context
	fd int32
	_  int32 // refcnt
}

// completionsObject is the beginning of struct ibv_cq.
type completionsObject struct {
	_       [3]uintptr // context, channel, cq_context
	_       uint32     // handle
	entries int32
}

// pairObject is the beginning of struct ibv_qp.
type pairObject struct {
	_      uintptr // context
	user   uintptr
	_      [4]uintptr // pd, send_cq, recv_cq, srq
	_      uint32     // handle
	number uint32
}

// sharedObject is the beginning of struct ibv_srq.
type sharedObject struct{ _ uintptr }

// capacity is struct ibv_qp_cap.
type capacity struct {
	sends, receives               uint32
	sendSegments, receiveSegments uint32
	inline                        uint32
}

// pairRequest is struct ibv_qp_init_attr.
type pairRequest struct {
	user, sends, receives, shared uintptr
	capacity                      capacity
	kind                          uint32
	_                             int32 // sq_sig_all
}

// sharedLimits is struct ibv_srq_attr.
type sharedLimits struct {
	entries, segments, limit uint32
}

// sharedRequest is struct ibv_srq_init_attr.
type sharedRequest struct {
	_      uintptr // srq_context
	limits sharedLimits
}

// destination is struct ibv_ah_attr.
type destination struct {
	gid          [16]byte
	flowLabel    uint32
	gidIndex     uint8
	hopLimit     uint8
	trafficClass uint8
	lid          uint16
	serviceLevel uint8
	pathBits     uint8
	staticRate   uint8
	global       uint8
	port         uint8
}

// pairAttributes is struct ibv_qp_attr.
type pairAttributes struct {
	state, currentState uint32
	pathMTU, migration  uint32
	qkey                uint32
	receivePSN, sendPSN uint32
	remote              uint32
	access              uint32
	_                   capacity
	path                destination
	_                   destination // alt_ah_attr
	pkeyIndex           uint16
	_                   uint16   // alt_pkey_index
	_                   [2]uint8 // en_sqd_async_notify, sq_draining
	readsOut, readsIn   uint8
	rnrTimer            uint8
	port                uint8
	timeout             uint8
	retries, rnrRetries uint8
	_                   [2]uint8 // alt_port_num, alt_timeout
	_                   uint32   // rate_limit
	_                   uint32
}

// segment is struct ibv_sge.
type segment struct {
	address uint64
	length  uint32
	lkey    uint32
}

// remoteMemory is the union wr in struct ibv_send_wr, with its members rdma and atomic. In the member atomic
// the key follows the two operands.
type remoteMemory struct {
	address   uint64
	operand   uint64 // compare_add; rkey of Read and Write
	swap      uint64
	atomicKey uint32
	_         uint32
}

// sendWork is struct ibv_send_wr.
type sendWork struct {
	id       uint64
	next     uintptr
	segments uintptr
	count    int32
	op       uint32
	flags    uint32
	extra    uint32 // immediate data (big-endian), or the key to invalidate
	remote   remoteMemory
	_        [7]uint64
}

// receiveWork is struct ibv_recv_wr.
type receiveWork struct {
	id       uint64
	next     uintptr
	segments uintptr
	count    int32
	_        int32
}

// completion is struct ibv_wc.
type completion struct {
	id     uint64
	status uint32
	op     uint32
	_      uint32 // vendor_err
	length uint32
	extra  uint32 // immediate data (big-endian), or the key that was invalidated
	pair   uint32
	_      uint32 // src_qp
	flags  uint32
	_      uint64
}

// deviceAnswer is struct ibv_device_attr.
type deviceAnswer struct {
	_                   [64]byte // fw_ver
	_, imageGUID        uint64
	maxRegion, _        uint64
	vendor, part, _     uint32
	maxQP, maxQPWork, _ uint32
	maxSegments         uint32
	maxReadSegments     uint32
	maxCQ, maxCQEntries uint32
	maxMR, maxPD        uint32
	maxReadsIn, _, _    uint32
	maxReadsOut, _      uint32
	atomics             uint32
	_                   [11]uint32
	maxSRQ, maxSRQWork  uint32
	maxSRQSegments      uint32
	_                   uint16
	_, ports            uint8
	_                   uint32
}

// portAnswer is struct ibv_port_attr, with room for fields that later versions append.
type portAnswer struct {
	_          [5]uint32
	maxMessage uint32
	_          [28]uint32
}

// event is struct ibv_async_event.
type event struct {
	element uint64 // a pointer to an object, or the number of a port
	kind    uint32
	_       uint32
}

const (
	pairReliable     = 2 // IBV_QPT_RC
	flagImmediate    = 2 // IBV_WC_WITH_IMM
	eventLastReceive = 16
	eventPathError   = 7 // queue pairs have the events 1 to 7, and 16
)
