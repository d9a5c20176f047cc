package ibverbs

import (
	goruntime "runtime"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// QueuePairConfig has the parameters of a new queue pair.
type QueuePairConfig struct {
	Domain *ProtectionDomain
	// Sends and Receives get the completions of send requests and of receives.
	Sends, Receives *CompletionQueue
	// Shared is the shared receive queue that the queue pair uses, or nil for a receive queue of
	// its own.
	Shared *SharedReceiveQueue
	// Capacity is the minimum capacity of the queue pair.
	Capacity uverbs.Capacity
	// User identifies the queue pair in events.
	User uint64
}

// QueuePair is one end of a reliable connection.
type QueuePair struct {
	// Number identifies the queue pair to peers and in completions.
	Number uint32
	// Granted is the actual capacity. It is at least as large as QueuePairConfig.Capacity. With a
	// shared receive queue, this is not true of the capacity for receives.
	Granted uverbs.Capacity

	context  *Context
	object   *pairObject
	sends    *sendList
	receives *receiveList // nil with a shared queue
}

// NewQueuePair makes a queue pair, in state Reset.
func (c *Context) NewQueuePair(config *QueuePairConfig) (*QueuePair, error) {
	const op = "create queue pair"
	want := &config.Capacity
	for _, n := range []int{want.Sends, want.Receives, want.SendSegments, want.ReceiveSegments, want.Inline} {
		if n < 0 || n > maxEntries {
			return nil, c.err(op, unix.EINVAL)
		}
	}
	if config.Domain.object == nil || config.Sends.object == nil || config.Receives.object == nil || config.Shared != nil && config.Shared.object == nil {
		return nil, c.err(op, uverbs.ErrClosed)
	}
	var pin goruntime.Pinner
	defer pin.Unpin()
	request := &pairRequest{ // at least one receive, because libsiw makes no empty queue
		user: uintptr(config.User), sends: addressOf(config.Sends.object), receives: addressOf(config.Receives.object), kind: pairReliable,
		capacity: capacity{
			sends: uint32(want.Sends), receives: uint32(max(want.Receives, 1)), sendSegments: uint32(want.SendSegments),
			receiveSegments: uint32(want.ReceiveSegments), inline: uint32(want.Inline),
		},
	}
	if config.Shared != nil {
		request.shared, request.capacity.receives, request.capacity.receiveSegments = addressOf(config.Shared.object), 0, 0
	}
	pin.Pin(request)
	o, err := begin[pairObject](c, op, c.library.createQP, addressOf(config.Domain.object), addressOf(request), 0, 0, 0)
	if err != nil {
		return nil, uverbs.MemlockCause(0, memoryOf(want), err)
	}
	got := &request.capacity
	q := &QueuePair{Number: o.number, context: c, object: o, Granted: uverbs.Capacity{
		Sends: int(got.sends), Receives: int(got.receives), SendSegments: int(got.sendSegments), ReceiveSegments: int(got.receiveSegments), Inline: int(got.inline),
	}}
	held.Store(q, nil)
	q.sends = newSendList(q.Granted.SendSegments, q.Granted.Inline, c.isSIW())
	if config.Shared == nil {
		q.receives = newReceiveList(q.Granted.ReceiveSegments, c.isSIW())
	}
	if g := &q.Granted; g.Sends < want.Sends || g.SendSegments < want.SendSegments || g.Inline < want.Inline ||
		config.Shared == nil && (g.Receives < want.Receives || g.ReceiveSegments < want.ReceiveSegments) {
		_ = q.Close()
		return nil, c.err(op, nonsense("%+v in place of %+v", *g, *want))
	}
	return q, nil
}

// memoryOf estimates the memory in bytes of the queues of a queue pair.
func memoryOf(c *uverbs.Capacity) uint64 {
	send := uint64(sizeOf[sendWork]()) + uint64(c.SendSegments)*uint64(sizeOf[segment]()) + uint64(c.Inline)
	return uint64(c.Sends)*send + uint64(c.Receives)*uint64(c.ReceiveSegments)*uint64(sizeOf[segment]())
}

// Modify changes attributes of the queue pair, including its state.
func (q *QueuePair) Modify(a *uverbs.PairAttributes) error {
	const op = "modify queue pair"
	if q.object == nil {
		return q.context.err(op, uverbs.ErrClosed)
	}
	var pin goruntime.Pinner
	defer pin.Unpin()
	p := &a.Path
	request := &pairAttributes{
		state: uint32(a.State), pathMTU: uint32(a.PathMTU), qkey: a.Qkey,
		receivePSN: a.ReceivePSN, sendPSN: a.SendPSN, remote: a.Remote, access: uint32(a.Access), pkeyIndex: a.PkeyIndex, readsOut: a.ReadsOut,
		readsIn: a.ReadsIn, rnrTimer: a.RNRTimer, port: a.Port, timeout: a.Timeout, retries: a.Retries, rnrRetries: a.RNRRetries,
		path: destination{
			gid: p.GID, flowLabel: p.FlowLabel, gidIndex: p.GIDIndex, hopLimit: p.HopLimit, trafficClass: p.TrafficClass, lid: p.LID,
			serviceLevel: p.ServiceLevel, pathBits: p.PathBits, staticRate: p.StaticRate, port: p.Port,
		},
	}
	if p.Global {
		request.path.global = 1
	}
	pin.Pin(request)
	return q.context.err(op, status(call(q.context.library.modifyQP, addressOf(q.object), addressOf(request), uintptr(a.Mask), 0, 0)))
}

// SetState changes only the state, to StateError or StateReset. StateError flushes the posted work
// requests.
func (q *QueuePair) SetState(s uverbs.State) error {
	return q.Modify(&uverbs.PairAttributes{Mask: uverbs.MaskState, State: s})
}

// QueryState queries the state. With siw the result is meaningless, because the kernel's siw_query_qp
// does not set the state.
func (q *QueuePair) QueryState() (uverbs.State, error) {
	const op = "query queue pair"
	if q.object == nil {
		return 0, q.context.err(op, uverbs.ErrClosed)
	}
	var pin goruntime.Pinner
	defer pin.Unpin()
	answer := new(struct {
		attributes pairAttributes
		request    pairRequest
	})
	pin.Pin(answer)
	err := status(call(q.context.library.queryQP, addressOf(q.object), addressOf(&answer.attributes), uintptr(uverbs.MaskState), addressOf(&answer.request), 0))
	if err != nil {
		return 0, q.context.err(op, err)
	}
	return uverbs.State(answer.attributes.state), nil
}

// PostSends posts send requests in order. It passes them to the library as one list, or as several
// lists if there are many requests. It returns the number of posted requests. If some requests were
// not posted, the error is ErrFull, ErrRequest, ErrClosed, or an error of the library.
func (q *QueuePair) PostSends(list []uverbs.SendRequest) (int, error) {
	if q.object == nil {
		return 0, q.context.err("post sends", uverbs.ErrClosed)
	}
	done := 0
	for done < len(list) {
		n, wrong := q.sends.fill(list[done:])
		if n > 0 {
			posted, err := q.sends.start(q.context.object.postSend, addressOf(q.object), n)
			if done += posted; err != nil {
				return done, q.context.postError("post sends", err)
			}
		}
		if wrong != nil {
			return done, wrong
		}
	}
	return done, nil
}

// PostReceives posts receives in order, and returns the number of posted receives. If some were not
// posted, the error is ErrFull, ErrRequest, ErrClosed, or an error of the library.
func (q *QueuePair) PostReceives(list []uverbs.ReceiveRequest) (int, error) {
	if q.object == nil {
		return 0, q.context.err("post receives", uverbs.ErrClosed)
	}
	if q.receives == nil {
		return 0, uverbs.ErrRequest // the queue pair uses a shared receive queue
	}
	return q.receives.post(q.context, q.context.object.postReceive, addressOf(q.object), list)
}

// Close destroys the queue pair. When it has returned nil, the device uses neither the queues nor
// the memory of the requests any more. It is undefined whether a later Poll returns completions of
// these requests.
func (q *QueuePair) Close() error {
	if err := end(q.context, "destroy queue pair", q.context.library.destroyQP, &q.object); err != nil {
		return err
	}
	held.Delete(q)
	q.sends.close()
	if q.receives != nil {
		q.receives.close()
	}
	return nil
}
