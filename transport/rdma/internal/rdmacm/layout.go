package rdmacm

// abiVersion is the version of the ABI that the constants of this file describe
// (linux/rdma/rdma_user_cm.h).
const abiVersion = 4

// Commands (RDMA_USER_CM_CMD_*).
const (
	commandCreate       = 0
	commandDestroy      = 1
	commandResolveRoute = 4
	commandConnect      = 6
	commandListen       = 7
	commandAccept       = 8
	commandReject       = 9
	commandDisconnect   = 10
	commandAttributes   = 11
	commandEvent        = 12
	commandNotify       = 15
	commandQuery        = 19
	commandBind         = 20
	commandResolve      = 21
)

// struct rdma_ucm_cmd_hdr, the header before the body of every command.
const (
	headerCommand = 0
	headerIn      = 4
	headerOut     = 6
	headerSize    = 8
)

// Offsets of fields, and sizes, of the bodies of commands and of their answers (_resp). A name that
// ends in UID is the field of this package's number of an id. Every other name that ends in ID is
// the field of the kernel's number of an id.
const (
	createUID      = 0 // struct rdma_ucm_create_id
	createResponse = 8
	createSpace    = 16
	createType     = 18
	createSize     = 24
	createdID      = 0 // struct rdma_ucm_create_id_resp
	createdSize    = 4

	destroyResponse = 0 // struct rdma_ucm_destroy_id
	destroyID       = 8
	destroySize     = 16
	destroyedSize   = 4 // struct rdma_ucm_destroy_id_resp

	bindID          = 0 // struct rdma_ucm_bind
	bindAddressSize = 4
	bindAddress     = 8
	bindSize        = 136

	resolveID              = 0 // struct rdma_ucm_resolve_addr
	resolveTimeout         = 4
	resolveSourceSize      = 8
	resolveDestinationSize = 10
	resolveSource          = 16
	resolveDestination     = 144
	resolveSize            = 272

	routeID      = 0 // struct rdma_ucm_resolve_route
	routeTimeout = 4
	routeSize    = 8

	listenID      = 0 // struct rdma_ucm_listen
	listenBacklog = 4
	listenSize    = 8

	parametersQPNumber  = 0 // struct rdma_ucm_conn_param
	parametersData      = 8
	parametersLength    = 264
	parametersSRQ       = 265
	parametersResources = 266
	parametersDepth     = 267
	parametersFlow      = 268
	parametersRetry     = 269
	parametersRNRRetry  = 270
	parametersValid     = 271
	parametersSize      = 272

	connectParameters = 0 // struct rdma_ucm_connect
	connectID         = 272
	connectSize       = 288

	acceptUID        = 0 // struct rdma_ucm_accept
	acceptParameters = 8
	acceptID         = 280
	acceptSize       = 296

	rejectID     = 0 // struct rdma_ucm_reject
	rejectLength = 4
	rejectData   = 8
	rejectSize   = 264

	disconnectID   = 0 // struct rdma_ucm_disconnect
	disconnectSize = 4

	attributesResponse = 0 // struct rdma_ucm_init_qp_attr
	attributesID       = 8
	attributesState    = 12
	attributesSize     = 16

	notifyID    = 0 // struct rdma_ucm_notify
	notifyEvent = 4
	notifySize  = 8

	nextResponse = 0 // struct rdma_ucm_get_event
	nextSize     = 8

	queryResponse = 0 // struct rdma_ucm_query
	queryID       = 8
	queryOption   = 12
	querySize     = 16
)

// struct rdma_ucm_event_resp.
const (
	eventUID        = 0
	eventID         = 8
	eventKind       = 12
	eventStatus     = 16
	eventParameters = 20
	eventSize       = 336
)

// struct rdma_ucm_query_addr_resp.
const (
	addressesGUID            = 0
	addressesSourceSize      = 12
	addressesDestinationSize = 14
	addressesSource          = 16
	addressesDestination     = 144
	addressesSize            = 280
)

// struct ib_uverbs_qp_attr and, within it, struct ib_uverbs_ah_attr.
const (
	qpMask          = 0
	qpState         = 4
	qpPathMTU       = 12
	qpQKey          = 20
	qpReceivePSN    = 24
	qpSendPSN       = 28
	qpDestination   = 32
	qpAccess        = 36
	qpAddress       = 40
	qpPKeyIndex     = 124
	qpReads         = 130
	qpReadsServed   = 131
	qpMinRNRTimer   = 132
	qpPort          = 133
	qpTimeout       = 134
	qpRetryCount    = 135
	qpRNRRetryCount = 136
	qpSize          = 144

	ahDGID         = 0
	ahFlowLabel    = 16
	ahSGIDIndex    = 20
	ahHopLimit     = 21
	ahTrafficClass = 22
	ahDLID         = 24
	ahServiceLevel = 26
	ahSourcePath   = 27
	ahStaticRate   = 28
	ahGlobal       = 29
	ahPort         = 30
	ahSize         = 32
)

// Values of fields.
const (
	spaceTCP     = 0x106 // RDMA_PS_TCP
	queuePairRC  = 2     // IB_QPT_RC
	queryAddress = 0     // RDMA_USER_CM_QUERY_ADDR

	eventCommunicationEstablished = 4 // IB_EVENT_COMM_EST
)

// PrivateDataMax is the largest number of bytes of private data for which the ABI has room. Devices
// allow fewer bytes (rdma_connect(3)). For example, InfiniBand allows at most 56 bytes in Connect.
const PrivateDataMax = 255
