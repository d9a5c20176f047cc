package connection

import (
	"bytes"
	"math"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// The limits of private data, in bytes. On InfiniBand, requests, accepts and rejects travel in the
// messages REQ, REP and REJ. The kernel uses 36 of the 92 bytes of REQ. siw stores the length of
// the private data in 8 bits, and adds 4 bytes of its own.
const (
	requestDataMax = 56
	acceptDataMax  = 196
	rejectDataMax  = 148
	iwarpDataMax   = 251
)

// refusal is the private data by which the active side distinguishes a Handshake.Refuse from a
// consumer's Reject.
var refusal = []byte("gorun refuses\x00\xff\x01")

// isRefusal reports whether a rejection with this private data is a Handshake.Refuse. InfiniBand
// pads the data with zeros.
func isRefusal(privateData []byte) bool {
	rest, ok := bytes.CutPrefix(privateData, refusal)
	return ok && len(bytes.TrimRight(rest, "\x00")) == 0
}

// depth returns a number of Reads in the kernel's encoding. 255 would mean the device's maximum.
func depth(n int) uint8 { return uint8(min(max(n, 0), math.MaxUint8-1)) }

// request returns the proposal of the active side from the parameters of an event. In the event,
// each depth is named from the point of view of this side. In the proposal, each depth is named
// from the point of view of the active side. MPA revision 1 (iWARP) carries no depths, and the
// kernel reports 0 for them.
func (d *Device) request(p *rdmacm.Parameters) *provider.Proposal {
	q := &provider.Proposal{
		PrivateData: p.PrivateData, FlowControl: p.FlowControl, RetryCount: p.RetryCount, RNRRetryCount: p.RNRRetryCount,
		ResponderResources: int(p.InitiatorDepth), InitiatorDepth: int(p.ResponderResources),
	}
	if d.IWARP && p.InitiatorDepth == 0 && p.ResponderResources == 0 {
		q.ResponderResources, q.InitiatorDepth = provider.DepthDefault, provider.DepthDefault
	}
	return q
}

// answer returns the answer of the passive side from the parameters of an event. In the result,
// each depth is named from the point of view of the passive side. On InfiniBand, the event names
// the depths from the point of view of this side. On iWARP the kernel swaps the two depths
// (cma_iw_handler). The field for the number of Reads that this side serves contains the number of
// Reads that this side may have in flight. So on iWARP the event already names the depths from the
// point of view of the passive side.
func (d *Device) answer(p *rdmacm.Parameters) *provider.Proposal {
	q := &provider.Proposal{
		PrivateData: p.PrivateData, FlowControl: p.FlowControl, RNRRetryCount: p.RNRRetryCount,
		ResponderResources: int(p.InitiatorDepth), InitiatorDepth: int(p.ResponderResources),
	}
	if d.IWARP {
		q.ResponderResources, q.InitiatorDepth = int(p.ResponderResources), int(p.InitiatorDepth)
	}
	return q
}
