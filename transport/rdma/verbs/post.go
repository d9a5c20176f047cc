package verbs

import (
	"errors"
	"fmt"
)

// Post posts one request (dat_ep_post_send(3DAT), dat_ep_post_rdma_write(3DAT),
// dat_ep_post_rdma_read(3DAT)). If FlagMore is not set, Post also starts the request, provided that
// the device can take the request now. Post does not block. It allocates memory
// only in rare cases, for example for an error. Post is legal in StateConnected and in
// StateDisconnected. In StateDisconnected the request is flushed at once.
//
// A failed post does not affect the connection. The errors of Post are:
//   - ErrInvalidState: if the endpoint is in another state (ErrInvalidHandle in StateFreed);
//   - ErrInsufficientResources: if MaxRequests requests are posted;
//   - ErrInvalidParameter: for illegal flags, lengths and numbers of segments;
//   - ErrProtectionViolation and ErrPrivilegesViolation: if local memory may not be used;
//   - ErrModelNotSupported: for a Read or an atomic on a connection that allows no Reads (ORD 0),
//     and for features that the adapter lacks, such as immediate data and atomics.
func (ep *Endpoint) Post(w *WorkRequest) error {
	if err := ep.lock("post"); err != nil {
		return err
	}
	err := ep.enqueue(w)
	if err == nil {
		ep.start(w.Flags)
	} else {
		err = ep.err("post", err)
	}
	ep.adapter.unlock()
	return err
}

// PostList posts requests in order and starts them together, unless the last posted request has
// FlagMore. It stops at the first request that cannot be posted. It returns the number of posted
// requests, and the error of the request that cannot be posted.
func (ep *Endpoint) PostList(list []WorkRequest) (int, error) {
	if err := ep.lock("post list"); err != nil {
		return 0, err
	}
	var err error
	n := 0
	for n < len(list) && err == nil {
		if err = ep.enqueue(&list[n]); err == nil {
			n++
		}
	}
	if n > 0 {
		ep.start(list[n-1].Flags)
	}
	if err != nil {
		err = ep.err("post list", err)
	}
	ep.adapter.unlock()
	return n, err
}

// start tells the queue pair that requests were posted. With FlagMore, Adapter.begin tells the
// queue pair later. In StateDisconnected, start flushes the requests. flags are the flags of the
// last request.
func (ep *Endpoint) start(flags RequestFlags) {
	switch {
	case ep.state != StateConnected:
		ep.sends.flush()
	case flags&FlagMore == 0:
		ep.queuePair.RequestsPosted()
	case !ep.held:
		ep.held = true
		ep.adapter.later = append(ep.adapter.later, ep)
	}
}

// enqueue validates a request and appends it to the send queue.
func (ep *Endpoint) enqueue(w *WorkRequest) error {
	if ep.state != StateConnected && ep.state != StateDisconnected {
		return ErrInvalidState
	}
	a := &ep.attributes
	length := segmentsLength(w.Segments)
	lengthMax, segmentsMax, need := a.MaxRDMA, a.MaxRequestSegments, Access(0)
	flags := FlagUnsignalled | FlagQuiet | FlagFence | FlagMore
	switch w.Op {
	case OpSend:
		lengthMax = a.MaxMessage
		flags |= FlagInline | FlagSolicited | FlagInvalidate | FlagRoom | FlagImmediate
		if w.Flags&FlagRoom != 0 {
			need = AccessLocalWrite
			if length = without(&ep.adapter.limits, w.Segments, length); w.Flags&FlagInline != 0 {
				return ErrInvalidParameter
			}
		}
	case OpWrite:
		flags |= FlagInline | FlagImmediate
		if w.Flags&FlagImmediate != 0 {
			flags |= FlagSolicited
		}
	case OpRead, OpFetchAdd, OpCompareSwap:
		need = AccessLocalWrite
		segmentsMax = min(segmentsMax, ep.adapter.limits.MaxReadSegments)
		if err := ep.checkRead(w, length); err != nil {
			return err
		}
	case OpBind:
		return ErrModelNotSupported
	default:
		return ErrInvalidParameter
	}
	inline := w.Flags&FlagInline != 0
	switch {
	case w.Flags&^flags != 0, w.Flags&FlagQuiet != 0 && a.RequestFlags != CompletionUnsignalled:
		return ErrInvalidParameter
	case length < 0, length > lengthMax, inline && length > a.MaxInline, !inline && len(w.Segments) > segmentsMax:
		return ErrInvalidParameter
	case w.Flags&(FlagImmediate|FlagInvalidate) != 0 && !ep.carries(w.Flags):
		return ep.checkCarried(w.Flags)
	case ep.sends.full():
		return ErrInsufficientResources
	}
	if !inline {
		if err := ep.adapter.checkAll(w.Segments, ep.config.Domain, need); err != nil {
			return err
		}
	}
	ep.sends.put(w, length)
	return nil
}

// The causes that accompany ErrModelNotSupported. Their texts name the feature that the adapter
// lacks.
var (
	errNoImmediate  = errors.New("the adapter has no immediate data")
	errNoInvalidate = errors.New("the adapter does not tell which key a message has invalidated")
	errNoAtomics    = errors.New("the adapter has no atomics")
)

// atomicLength is the length in bytes of the operand of an atomic.
const atomicLength = 8

// checkRead makes the checks that only a Read or an atomic needs.
func (ep *Endpoint) checkRead(w *WorkRequest, length int) error {
	atomic := w.Op.Atomic()
	switch {
	case atomic && !ep.adapter.limits.Atomics:
		return fmt.Errorf("%w: %w", ErrModelNotSupported, errNoAtomics)
	case atomic && (len(w.Segments) != 1 || length != atomicLength || w.RemoteAddress%atomicLength != 0):
		return ErrInvalidParameter
	case ep.state == StateConnected && ep.out == 0:
		return ErrModelNotSupported
	}
	return nil
}

// carries reports whether the adapter can send a message with these flags. flags contains
// FlagImmediate, FlagInvalidate or both. The result is false if flags contains both, because no
// adapter can send such a message.
func (ep *Endpoint) carries(flags RequestFlags) bool {
	if flags&FlagInvalidate != 0 {
		return flags&FlagImmediate == 0 && !ep.adapter.limits.HidesFlags
	}
	return ep.adapter.limits.ImmediateData
}

// checkCarried returns the error for flags with which the adapter cannot send a message (see
// carries).
func (ep *Endpoint) checkCarried(flags RequestFlags) error {
	switch {
	case flags&FlagImmediate != 0 && !ep.adapter.limits.ImmediateData:
		return fmt.Errorf("%w: %w", ErrModelNotSupported, errNoImmediate)
	case flags&FlagImmediate == 0:
		return fmt.Errorf("%w: %w", ErrModelNotSupported, errNoInvalidate)
	}
	return ErrInvalidParameter
}

// without returns the length of the message in a list of segments with FlagRoom. The argument
// length is the total length of the list. The result is this length without the headroom and the
// tailroom. The result is negative if the list does not have exactly one segment, or if the segment
// is shorter than the room.
func without(a *Attributes, list []Segment, length int) int {
	if len(list) != 1 {
		return -1
	}
	return length - a.Headroom - a.Tailroom
}

// checkAll checks whether a request of domain d may use all segments of a list with the given
// access right. If it may use all of them, checkAll returns nil. Otherwise checkAll returns the
// fault of the first segment that it may not use. Empty segments are not checked.
func (a *Adapter) checkAll(list []Segment, d *ProtectionDomain, need Access) error {
	if len(list) == 1 {
		if len(list[0].Data) == 0 {
			return nil
		}
		return a.check(&list[0], d, need)
	}
	for i := range list {
		if len(list[i].Data) == 0 {
			continue
		}
		if err := a.check(&list[i], d, need); err != nil {
			return err
		}
	}
	return nil
}

// PostReceive posts memory for one message (dat_ep_post_recv(3DAT)). It is legal in every state
// except StateError and StateFreed. In StateDisconnected the receive is flushed at once. The errors
// of PostReceive are:
//   - ErrInvalidState: in StateError and for an endpoint with a shared receive queue (ErrInvalidHandle in StateFreed);
//   - ErrInsufficientResources: if MaxReceives receives are posted;
//   - ErrInvalidParameter: for illegal flags, lengths and numbers of segments;
//   - ErrProtectionViolation and ErrPrivilegesViolation: if the memory may not be used.
func (ep *Endpoint) PostReceive(r *ReceiveRequest) error {
	if err := ep.lock("post receive"); err != nil {
		return err
	}
	var err error
	if ep.state == StateError || ep.config.SharedReceives != nil {
		err = ErrInvalidState
	} else {
		flags := RequestFlags(0)
		if ep.attributes.ReceiveFlags == CompletionUnsignalled {
			flags = FlagQuiet
		}
		err = ep.enqueueReceive(r, flags)
	}
	switch {
	case err != nil:
		err = ep.err("post receive", err)
	case ep.state == StateDisconnected:
		ep.receives.flush()
	default:
		ep.queuePair.ReceivesPosted()
	}
	ep.adapter.unlock()
	return err
}

// enqueueReceive validates a receive and appends it to the receive queue. flags are the flags that
// the receive may have in addition to FlagRoom.
func (ep *Endpoint) enqueueReceive(r *ReceiveRequest, flags RequestFlags) error {
	length, err := ep.adapter.checkReceive(r, ep.config.Domain, ep.attributes.MaxReceiveSegments, flags)
	switch {
	case err != nil:
		return err
	case ep.receives.full():
		return ErrInsufficientResources
	}
	ep.receives.put(r, length)
	return nil
}

// checkReceive validates a receive and returns the length of the longest message that fits. flags
// are the flags that the receive may have in addition to FlagRoom. The limit of the length is
// necessary, because adapters cannot represent the length of any larger memory.
func (a *Adapter) checkReceive(r *ReceiveRequest, d *ProtectionDomain, segmentsMax int, flags RequestFlags) (int, error) {
	length := segmentsLength(r.Segments)
	if r.Flags&FlagRoom != 0 {
		length = without(&a.limits, r.Segments, length)
	}
	if length < 0 || length > a.limits.MaxMessage || len(r.Segments) > segmentsMax || r.Flags&^(flags|FlagRoom) != 0 {
		return 0, ErrInvalidParameter
	}
	return length, a.checkAll(r.Segments, d, AccessLocalWrite)
}
