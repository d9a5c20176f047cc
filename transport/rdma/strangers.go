package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// Strangers counts the connection requests that were rejected, the first messages without a valid
// proof, and the rejections that did not verify. A look with a valid record is counted only if it is a
// replay. A request for a side connection that is rejected because this rank closes or the peer is lost
// is not counted. The provider itself counts connections whose data is not its protocol, and requests for
// which its backlog had no room. Any goroutine may read the counters.
type Strangers struct {
	// OtherJob counts records of another job. Unproved counts records whose tag does not verify,
	// and first messages without a valid proof. Foreign counts requests without a record, and
	// requests with a record of another version. Misplaced counts records whose source is not
	// another rank of the job.
	OtherJob, Unproved, Foreign, Misplaced atomic.Uint64
	// Repeated counts requests whose record verifies but is not the newest record of its rank. Such
	// a request may be a replay. It may be from an earlier incarnation of a rank, or from a rank
	// that was declared dead. It may also be late because two requests crossed each other. Declined
	// counts verified requests that were rejected for another reason, for example because this rank
	// was busy or ended. If two requests cross each other, the request that is rejected with the
	// reason Simultaneous is not counted.
	Repeated, Declined atomic.Uint64
	// Refusals counts the rejections of this rank's requests for which there is no valid proof that
	// the requested rank has sent the rejection. Each of these rejections has ended one attempt.
	Refusals atomic.Uint64

	once sync.Once
}

// Strangers returns the counters.
func (t *Transport) Strangers() *Strangers { return &t.strangers }

// knocked handles a connection request: it determines the sender, and rejects a request without a
// valid record at once. So no actor learns of a stranger, and no other goroutine has to run.
func (t *Transport) knocked(r *rail, request *verbs.ConnectionRequest) {
	info, err := request.Query()
	if err != nil {
		return // the adapter has ended, and its end has answered the request
	}
	asked := info.Param.PrivateData
	record, err := t.credentials.OpenRequest(asked)
	if err != nil {
		t.strangers.count(t, info.Remote, err)
		t.reject(request, negotiation.RejectOf(err), asked)
		return
	}
	t.supervision.send(requested{&link{
		peer: int(record.Source), rail: r, peerRail: record.Rail, request: request, proposal: record, asked: asked, remote: info.Remote,
		event: eventDepths(&info.Param), purpose: record.Purpose,
	}})
}

// reject rejects a request. asked is the private data of the request.
func (t *Transport) reject(request *verbs.ConnectionRequest, r negotiation.Reject, asked []byte) {
	_ = request.Reject(t.credentials.AppendReject(nil, &r, asked)) // an error means that the request has ended
}

// eventDepths returns the depths of a request as the provider reports them, or zero if the provider
// does not transmit them.
func eventDepths(p *verbs.ConnParam) negotiation.Event {
	if p.ResponderResources == verbs.DepthDefault || p.InitiatorDepth == verbs.DepthDefault {
		return negotiation.Event{}
	}
	return negotiation.Event{ResponderResources: p.ResponderResources, InitiatorDepth: p.InitiatorDepth}
}

// count counts a stranger, and logs the first stranger. err is the reason for which its request or its first message
// was refused.
func (s *Strangers) count(t *Transport, from netip.AddrPort, err error) {
	counter := &s.Foreign
	switch {
	case errors.Is(err, negotiation.Refused(negotiation.Job)):
		counter = &s.OtherJob
	case errors.Is(err, negotiation.Refused(negotiation.Auth)):
		counter = &s.Unproved
	case errors.Is(err, negotiation.Refused(negotiation.WrongRank)):
		counter = &s.Misplaced
	}
	counter.Add(1)
	s.once.Do(func() {
		t.log.Log(fmt.Sprintf("rdma: a connection from %v was %v; further ones are only counted", from, err))
	})
}

// declined counts a verified request that is rejected with the given reason.
func (s *Strangers) declined(why negotiation.Reason) {
	switch why {
	case negotiation.Simultaneous:
	case negotiation.Duplicate, negotiation.StaleEpoch:
		s.Repeated.Add(1)
	default:
		s.Declined.Add(1)
	}
}
