package kernel

import (
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// messageMost bounds a request, because siw adds lengths as int (siw_check_sgl_tx).
	messageMost = 1 << 30
	// depthMost bounds read depths to what librdmacm's messages carry in 8 bits.
	depthMost = 254
	// workMost bounds queues, whose memory the kernel allocates when they are made.
	workMost = 1 << 14
	// rnrTimer is how long a peer waits before it sends a message again that found no receive,
	// rnrTimerCode the adapter's word for it (InfiniBand 1.4, table 45).
	rnrTimer     = 640 * time.Microsecond
	rnrTimerCode = 12
)

// attributesOf returns the attributes of a device whose work requests carry up to inline bytes inline.
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
		// Adapters take a Read Response as a message to a key of this side; siw looks for
		// the local right alone (siw_rresp_check_ntoh).
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
