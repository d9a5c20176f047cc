package collectives

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// peer implements message.Peer over a communicator. Operations that may be in progress at the same
// time use different tags.
type peer struct {
	comm       *runtime.Comm
	rank, size int
	tag        int
	label      runtime.Label // identifies the call that the messages belong to
	scratch    []byte
	copied     []byte // memory of the copy that separate makes
	started    []exchanging
}

var _ message.Peer = (*peer)(nil)

// Tags in the private communicator. One tag, tagBlocking, is enough for all blocking operations,
// because only one blocking operation is in progress at a time. The tag of a nonblocking operation
// is tagStarted + (number of the operation modulo tagsStarted). tagValue is the tag of values that are sent
// without a label. Nonblocking operations on an Intercomm use the tags from tagInter on for their
// steps within a group.
const (
	tagBlocking = 0
	tagStarted  = 1
	tagsStarted = 1 << 20
	tagValue    = tagStarted + tagsStarted
	tagInter    = tagValue + 1
)

func (p *peer) Rank() int { return p.rank }
func (p *peer) Size() int { return p.size }

func (p *peer) Send(to int, b []byte) error { return p.comm.SendLabeled(&p.label, b, to, p.tag) }

func (p *peer) Recv(from int, b []byte) error {
	st, err := p.comm.RecvLabeled(&p.label, b, from, p.tag)
	return received(st, len(b), err)
}

func (p *peer) Exchange(to int, out []byte, from int, in []byte) error {
	st, err := p.comm.SendRecvLabeled(&p.label, out, to, in, from, p.tag)
	return received(st, len(in), err)
}

// exchanging is an exchange in progress.
type exchanging struct {
	recv, send runtime.Request
	want       int // the length of the message to receive, in bytes
}

// Start implements message.Peer.
func (p *peer) Start(to int, out []byte, from int, in []byte) error {
	e := exchanging{want: len(in)}
	if from != message.Nobody {
		e.recv = p.comm.IrecvLabeled(&p.label, in, from, p.tag)
	}
	if to != message.Nobody {
		e.send = p.comm.IsendLabeled(&p.label, out, to, p.tag)
	}
	p.started = append(p.started, e)
	return nil
}

// Complete implements message.Peer. After an error it cancels the other exchanges, because they may
// never complete.
func (p *peer) Complete() error {
	var first error
	note := func(err error) {
		if first != nil || err == nil {
			return
		}
		first = err
		for i := range p.started {
			p.started[i].recv.Cancel()
			p.started[i].send.Cancel()
		}
	}
	for i := range p.started {
		e := &p.started[i]
		st, err := e.recv.Wait()
		note(received(st, e.want, err))
		_, err = e.send.Wait()
		note(err)
		*e = exchanging{}
	}
	p.started = p.started[:0]
	return first
}

// received returns err if err is not nil. Otherwise it returns ErrLength if the message does not have
// want bytes, the length that this member expects.
func received(st runtime.Status, want int, err error) error {
	if err == nil && st.Bytes != want {
		err = fmt.Errorf("%w: rank %d sent %d bytes, not %d", ErrLength, st.Source, st.Bytes, want)
	}
	return err
}

// Scratch implements message.Peer. It keeps the memory and returns it again to later operations.
func (p *peer) Scratch(n int) []byte {
	if cap(p.scratch) < n {
		p.scratch = make([]byte, n)
	}
	return p.scratch[:n]
}

// Copy implements message.Peer.
func (*peer) Copy(dst, src []byte) int { return kernel.Copy(dst, src) }
