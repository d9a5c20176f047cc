package verbstest

import (
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// handshake is a connection request that waits for its answer.
type handshake struct {
	device        *device
	from          *pair
	local, remote netip.AddrPort
	proposal      provider.Proposal
}

var _ provider.Handshake = (*handshake)(nil)

// carry returns a proposal as the other side sees it. With StyleInfiniBand, zeros are appended to the
// private data until it has pad bytes. With StyleIWARP the flow control and the retry counts are lost.
func (n *Network) carry(p *provider.Proposal, pad int) provider.Proposal {
	c := *p
	size := len(p.PrivateData)
	if n.style == StyleInfiniBand {
		size = pad
	} else {
		c.FlowControl, c.RetryCount, c.RNRRetryCount = false, 0, 0
	}
	c.PrivateData = make([]byte, size)
	copy(c.PrivateData, p.PrivateData)
	return c
}

// request delivers a connection request to its service point, and refuses the request if the
// service point does not take it.
func (f *frame) request(d *device) {
	h := &handshake{device: d, from: f.from, local: f.point.address, remote: f.source, proposal: f.proposal}
	if err := f.point.config.Arrived(h, h.local, h.remote, &h.proposal); err != nil {
		f.from.device.send(frame{kind: frameFailed, to: f.from, why: provider.FailureRefused, err: err})
	}
}

func (h *handshake) Accept(qp provider.QueuePair, answer *provider.Proposal) {
	p := qp.(*pair)
	p.peer, p.local, p.remote, p.phase = h.from, h.local, h.remote, phaseAccepting
	p.retries, p.serves = answer.RNRRetryCount, answer.ResponderResources
	h.from.device.send(frame{kind: frameAccept, to: h.from, from: p, proposal: h.device.network.carry(answer, h.device.attributes.MaxAcceptData)})
	if h.from.device.gone() {
		h.device.send(frame{kind: frameGone, to: p})
	}
}

func (h *handshake) Reject(privateData []byte) {
	answer := h.device.network.carry(&provider.Proposal{PrivateData: privateData}, h.device.attributes.MaxRejectData)
	h.from.device.send(frame{kind: frameFailed, to: h.from, why: provider.FailureRejected, proposal: answer})
}

func (h *handshake) Refuse() {
	h.from.device.send(frame{kind: frameFailed, to: h.from, why: provider.FailureRefused, err: errReset})
}

// gone reports whether the device is closed.
func (d *device) gone() bool {
	d.inbox.Lock()
	defer d.inbox.Unlock()
	return d.closed
}
