package uverbs

// The numbers of commands (enum ib_uverbs_write_cmds, rdma/ib_user_verbs.h).
const (
	cmdGetContext    = 0
	cmdQueryDevice   = 1
	cmdQueryPort     = 2
	cmdAllocPD       = 3
	cmdDeallocPD     = 4
	cmdRegMR         = 9
	cmdDeregMR       = 13
	cmdCreateChannel = 17
	cmdCreateCQ      = 18
	cmdDestroyCQ     = 20
	cmdRequestNotify = 23
	cmdCreateQP      = 24
	cmdQueryQP       = 25
	cmdModifyQP      = 26
	cmdDestroyQP     = 27
	cmdPostSend      = 28
	cmdCreateSRQ     = 32
	cmdDestroySRQ    = 35
	queuePairTypeRC  = 2 // IBV_QPT_RC
)

// header is the first field of every command (struct ib_uverbs_cmd_hdr). inWords and outWords are
// the lengths of the command and of its answer in words of four bytes.
type header struct {
	command  uint32
	inWords  uint16
	outWords uint16
}

// answered is the first field of the commands that have an answer. response is the address to
// which the kernel writes the answer.
type answered struct {
	_        header
	response uint64
}

// plainRequest is any of the structs ib_uverbs_get_context, query_device, alloc_pd and
// create_comp_channel.
type plainRequest struct{ answered }

// contextAnswer is struct ib_uverbs_get_context_resp.
type contextAnswer struct {
	asyncFD uint32
	vectors uint32
}

// deviceAnswer is struct ib_uverbs_query_device_resp.
type deviceAnswer struct {
	firmware         uint64
	nodeGUID         uint64 // big-endian
	imageGUID        uint64 // big-endian
	maxRegion        uint64
	pageSizes        uint64
	vendor           uint32
	part             uint32
	hardware         uint32
	maxQP            uint32
	maxQPWork        uint32
	flags            uint32
	maxSegments      uint32
	maxReadSegments  uint32
	maxCQ            uint32
	maxCQEntries     uint32
	maxMR            uint32
	maxPD            uint32
	maxReadsIn       uint32 // max_qp_rd_atom
	_                uint32 // maxEEReadsIn
	maxReadResources uint32
	maxReadsOut      uint32 // max_qp_init_rd_atom
	_                uint32 // maxEEReadsOut
	atomics          uint32
	_                uint32 // maxEE
	_                uint32 // maxRDD
	_                uint32 // maxMW
	_                uint32 // maxRawIPv6QP
	_                uint32 // maxRawEthernetQP
	_                uint32 // maxMulticastGroups
	_                uint32 // maxMulticastQP
	_                uint32 // maxTotalMulticastQP
	_                uint32 // maxAH
	_                uint32 // maxFMR
	_                uint32 // maxMapPerFMR
	maxSRQ           uint32
	maxSRQWork       uint32
	maxSRQSegments   uint32
	maxPkeys         uint16
	_                uint8 // ackDelay
	ports            uint8
	_                [4]uint8
}

// portRequest is struct ib_uverbs_query_port.
type portRequest struct {
	_    answered
	port uint8
	_    [7]uint8
}

// portAnswer is struct ib_uverbs_query_port_resp.
type portAnswer struct {
	_          uint32 // flags
	maxMessage uint32
	_          uint32 // badPkeys
	_          uint32 // qkeyErrors
	gids       uint32
	_          uint16 // pkeys
	lid        uint16
	managerLID uint16
	state      uint8
	maxMTU     uint8
	activeMTU  uint8
	_          uint8 // lmc
	_          uint8 // virtualLanes
	_          uint8 // managerSL
	_          uint8 // subnetTimeout
	_          uint8 // initType
	_          uint8 // width
	_          uint8 // speed
	_          uint8 // physicalState
	linkLayer  uint8
	portFlags  uint8
	_          uint8
}

// handleAnswer is struct ib_uverbs_alloc_pd_resp or create_comp_channel_resp.
type handleAnswer struct{ handle uint32 }

// handleRequest is struct ib_uverbs_dealloc_pd or dereg_mr.
type handleRequest struct {
	_      header
	handle uint32
}

// regionRequest is struct ib_uverbs_reg_mr.
type regionRequest struct {
	answered
	start  uint64
	length uint64
	iova   uint64
	domain uint32
	access uint32
}

// regionAnswer is struct ib_uverbs_reg_mr_resp.
type regionAnswer struct{ handle, lkey, rkey uint32 }

// completionsRequest is struct ib_uverbs_create_cq.
type completionsRequest struct {
	_       answered
	user    uint64
	entries uint32
	vector  uint32
	channel int32
	_       uint32
}

// completionsAnswer is struct ib_uverbs_create_cq_resp.
type completionsAnswer struct{ handle, entries uint32 }

// notifyRequest is struct ib_uverbs_req_notify_cq.
type notifyRequest struct {
	_             header
	handle        uint32
	solicitedOnly uint32
}

// destroyRequest is struct ib_uverbs_destroy_cq, destroy_qp or destroy_srq.
type destroyRequest struct {
	_      answered
	handle uint32
	_      uint32
}

// destroyAnswer is struct ib_uverbs_destroy_cq_resp. The answers to destroy_qp and destroy_srq have
// only one word, the number of events.
type destroyAnswer struct{ completions, events uint32 }

// pairRequest is struct ib_uverbs_create_qp.
type pairRequest struct {
	_              answered
	user           uint64
	domain         uint32
	sends          uint32
	receives       uint32
	shared         uint32
	maxSends       uint32
	maxReceives    uint32
	maxSendSegs    uint32
	maxReceiveSegs uint32
	maxInline      uint32
	signalAll      uint8
	kind           uint8
	sharesReceives uint8
	_              uint8
}

// pairAnswer is struct ib_uverbs_create_qp_resp.
type pairAnswer struct {
	handle         uint32
	number         uint32
	maxSends       uint32
	maxReceives    uint32
	maxSendSegs    uint32
	maxReceiveSegs uint32
	maxInline      uint32
	_              uint32
}

// destination is struct ib_uverbs_qp_dest.
type destination struct {
	gid          [16]uint8
	flowLabel    uint32
	lid          uint16
	_            uint16
	gidIndex     uint8
	hopLimit     uint8
	trafficClass uint8
	serviceLevel uint8
	pathBits     uint8
	staticRate   uint8
	global       uint8
	port         uint8
}

// modifyRequest is struct ib_uverbs_modify_qp.
type modifyRequest struct {
	_             header
	dest          destination
	alternate     destination
	handle        uint32
	mask          uint32
	qkey          uint32
	receivePSN    uint32
	sendPSN       uint32
	remote        uint32
	access        uint32
	pkeyIndex     uint16
	alternatePkey uint16
	state         uint8
	currentState  uint8
	pathMTU       uint8
	migration     uint8
	drainNotify   uint8
	readsOut      uint8
	readsIn       uint8
	rnrTimer      uint8
	port          uint8
	timeout       uint8
	retries       uint8
	rnrRetries    uint8
	alternatePort uint8
	alternateTime uint8
	_             [2]uint8
}

// stateRequest is struct ib_uverbs_query_qp.
type stateRequest struct {
	_      answered
	handle uint32
	mask   uint32
}

// stateAnswer is struct ib_uverbs_query_qp_resp.
type stateAnswer struct {
	_     [108]uint8
	state uint8
	_     [19]uint8
}

// sharedRequest is struct ib_uverbs_create_srq.
type sharedRequest struct {
	_        answered
	user     uint64
	domain   uint32
	entries  uint32
	segments uint32
	limit    uint32
}

// sharedAnswer is struct ib_uverbs_create_srq_resp.
type sharedAnswer struct{ handle, entries, segments, number uint32 }

// doorbellRequest is struct ib_uverbs_post_send. It contains no work requests. The work requests
// are in the mapped send queue.
type doorbellRequest struct {
	answered
	handle   uint32
	requests uint32
	segments uint32
	wqeSize  uint32
}

// sendRequestSize is sizeof(struct ib_uverbs_send_wr). The kernel accepts no smaller value in the
// field wqeSize.
const sendRequestSize = 56
