package kernel

import (
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// messageMost bounds the length of a request in bytes. The bound is needed because siw adds the
	// lengths of segments in an int (siw_check_sgl_tx).
	messageMost = 1 << 30
	// depthMost bounds the read depths, for which struct rdma_ucm_conn_param has 8 bits. The value 255
	// would mean the device's maximum.
	depthMost = 254
	// workMost bounds the requests in a queue, because the kernel allocates the memory of a queue
	// when the queue is created.
	workMost = 1 << 14
	// rnrTimer is the time for which a peer waits before it retransmits a message that has found no
	// receive. rnrTimerCode is the code of rnrTimer in the adapter's interface (InfiniBand 1.4,
	// table 45).
	rnrTimer     = 640 * time.Microsecond
	rnrTimerCode = 12
)

// attributesOf returns the attributes of a device. inline is the maximum number of inline bytes of
// a request.
func attributesOf(name string, p place, l *uverbs.Attributes, port *uverbs.PortAttributes, inline int) provider.Attributes {
	message := int(min(port.MaxMessage, messageMost))
	depths := [2]int{min(l.MaxReadsIn, depthMost), min(l.MaxReadsOut, depthMost)}
	a := provider.Attributes{
		Provider: Name, Interface: name,
		HidesFlags: true,
		Services:   []provider.Service{provider.ServiceReliable}, QoS: []provider.QoS{provider.QoSBestEffort},
		MaxMessage: message, MaxRDMA: message,
		MaxRequests: min(l.MaxWork, workMost), MaxReceives: min(l.MaxWork, workMost),
		MaxSegments: l.MaxSegments, MaxReadSegments: min(max(l.MaxReadSegments, 1), l.MaxSegments),
		MaxInline: inline, MaxReadsIn: depths[0], MaxReadsOut: depths[1],
		MaxSharedReceives: min(l.MaxSharedWork, workMost), MaxCompletions: 1 << 20,
	}
	if l.MaxSharedQueues == 0 {
		a.MaxSharedReceives = 0
	}
	if p.device.Transport == uverbs.TransportIWARP {
		// An iWARP adapter treats a Read Response as a message to an STag of this side, so the
		// memory needs the right of remote writes. siw requires only the right of local writes
		// (siw_rresp_check_ntoh).
		a.ActiveSpeaksFirst, a.SinksAreWritable = true, p.device.Driver != uverbs.DriverSIW
	} else {
		a.ImmediateData, a.Atomics, a.PadsPrivateData, a.CarriesConnParam = true, l.Atomics, true, true
		a.WaitsForReceive, a.MinRNRTimer = true, rnrTimer
	}
	a.Endpoint = provider.EndpointAttributes{
		MaxMessage: message, MaxRDMA: message, MaxReceives: min(128, a.MaxReceives), MaxRequests: min(128, a.MaxRequests),
		MaxReceiveSegments: min(4, a.MaxSegments), MaxRequestSegments: min(4, a.MaxSegments), MaxInline: min(64, a.MaxInline),
		ReadsIn: min(16, depths[0]), ReadsOut: min(16, depths[1]),
	}
	return a
}
