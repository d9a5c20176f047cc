package connection_test

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/connection"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// These are the numbers of the commands in the kernel's ABI.
const (
	create     = 0
	destroy    = 1
	route      = 4
	connect    = 6
	listen     = 7
	accept     = 8
	reject     = 9
	disconnect = 10
	attributes = 11
	next       = 12
	notify     = 15
	query      = 19
	bind       = 20
	resolve    = 21
)

// guid is the GUID of the device.
const guid = 0x0211

// kernel simulates the kernel's connection manager. Tests write its events.
type kernel struct {
	mu     sync.Mutex
	errors map[uint32]error
	// uids are the user IDs of the existing rdma_cm IDs, by the kernel's number of the ID.
	uids   map[uint32]uint64
	last   uint32
	seen   []uint32
	bodies map[uint32][]byte // the body of the last command of each number
	events [][]byte
	// blocks is the number of a command. The method Do does not execute this command before the
	// channel blocked is closed. If blocked is nil, no command waits.
	blocked chan struct{}
	blocks  uint32
	// guid is the GUID that the kernel reports for the device of every address.
	guid uint64
	mask uint32
}

// Do implements rdmacm.Driver.
func (k *kernel) Do(c *rdmacm.Command) error {
	if c.Number == k.blocks && k.blocked != nil {
		<-k.blocked
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.Number == next {
		if err := k.errors[next]; err != nil {
			return err
		}
		if len(k.events) == 0 {
			return unix.EAGAIN
		}
		copy(c.Memory, k.events[0])
		k.events = k.events[1:]
		return nil
	}
	k.seen = append(k.seen, c.Number)
	k.bodies[c.Number] = append([]byte{}, c.Body...)
	word := binary.NativeEndian
	if c.Number == destroy {
		delete(k.uids, word.Uint32(c.Body[8:]))
	}
	if err := k.errors[c.Number]; err != nil {
		return err
	}
	switch c.Number {
	case create:
		k.last++
		k.uids[k.last] = word.Uint64(c.Body)
		word.PutUint32(c.Memory, k.last)
	case accept:
		if uid := word.Uint64(c.Body); uid != 0 {
			k.uids[word.Uint32(c.Body[280:])] = uid
		}
	case query:
		binary.BigEndian.PutUint64(c.Memory, k.guid)
		word.PutUint16(c.Memory[12:], 16)
		word.PutUint16(c.Memory[14:], 16)
		copy(c.Memory[16:], []byte{2, 0, 0, 7, 10, 9, 0, 1})
		copy(c.Memory[144:], []byte{2, 0, 0, 8, 10, 9, 0, 2})
	case attributes:
		word.PutUint32(c.Memory, k.mask)
		copy(c.Memory[4:8], c.Body[12:16])
		c.Memory[130], c.Memory[131] = 200, 100
	}
	return nil
}

// Ready, Descriptor and Close implement rdmacm.Driver.
func (k *kernel) Ready() bool     { k.mu.Lock(); defer k.mu.Unlock(); return len(k.events) > 0 }
func (k *kernel) Descriptor() int { return -1 }
func (k *kernel) Close() error    { return nil }

// say reports an event of an ID.
func (k *kernel) say(id uint32, kind rdmacm.Kind, status int32, p rdmacm.Parameters) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := make([]byte, 336)
	word := binary.NativeEndian
	word.PutUint64(b, k.uids[id])
	if kind == rdmacm.ConnectRequest {
		k.last++
		id = k.last
		k.uids[id] = 0
	}
	word.PutUint32(b[8:], id)
	word.PutUint32(b[12:], uint32(kind))
	word.PutUint32(b[16:], uint32(status))
	copy(b[28:], p.PrivateData)
	b[284] = uint8(len(p.PrivateData))
	b[286], b[287] = p.ResponderResources, p.InitiatorDepth
	b[289], b[290] = p.RetryCount, p.RNRRetryCount
	k.events = append(k.events, b)
}

// ids returns the number of IDs that are not destroyed.
func (k *kernel) ids() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.uids)
}

// pair is a queue pair, and the receiver of its upcalls.
type pair struct {
	*connection.Connection
	provider.QueuePair
	log      []string
	modified []rdmacm.Attributes
	answer   *provider.Proposal
	data     []byte
	err      error
	why      provider.Failure
	refuse   error  // returned by Established
	modify   error  // returned by Modify
	taking   func() // called within Take
}

func (p *pair) Number() uint32       { return 0x77 }
func (p *pair) SharesReceives() bool { return true }
func (p *pair) Modify(a *rdmacm.Attributes) error {
	p.modified = append(p.modified, *a)
	return p.modify
}

func (p *pair) Take() {
	p.log = append(p.log, "take")
	if p.taking != nil {
		p.taking()
	}
}
func (p *pair) Fail() { p.log = append(p.log, "flush") }
func (p *pair) Established(answer *provider.Proposal, local, remote netip.AddrPort) error {
	p.log = append(p.log, "established "+local.String()+" "+remote.String())
	p.answer = answer
	return p.refuse
}

func (p *pair) Failed(why provider.Failure, privateData []byte, err error) {
	p.log, p.why, p.data, p.err = append(p.log, "failed"), why, privateData, err
}
func (p *pair) Disconnected()    { p.log = append(p.log, "disconnected") }
func (p *pair) Broken(err error) { p.log, p.err = append(p.log, "broken"), err }

// Connect, Contacted, Disconnect and Abort call the methods of the Connection.
func (p *pair) Connect(remote netip.AddrPort, q *provider.Proposal) (netip.AddrPort, error) {
	return p.Connection.Connect(remote, q)
}
func (p *pair) Contacted() bool { return p.Connection.Contacted() }
func (p *pair) Disconnect()     { p.Connection.Disconnect() }
func (p *pair) Abort()          { p.Connection.Abort() }

// world is a device whose kernel is simulated (type kernel).
type world struct {
	*testing.T
	*kernel
	device   *connection.Device
	happened []provider.Event
	woken    chan struct{}
}

func newWorld(t *testing.T, iwarp bool) *world {
	t.Helper()
	w := &world{T: t, woken: make(chan struct{}, 16)}
	w.kernel = &kernel{errors: map[uint32]error{}, uids: map[uint32]uint64{}, bodies: map[uint32][]byte{}, guid: guid, mask: 1}
	if iwarp {
		w.mask = 0
	}
	w.device = connection.New(connection.Config{
		Channel: rdmacm.New(w.kernel), GUID: guid, IWARP: iwarp, Interface: "rocks",
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24"), netip.MustParsePrefix("fd00::1/64"), netip.MustParsePrefix("fe80::1/64")},
		Wake:      func() { w.woken <- struct{}{} },
		Happened:  func(e provider.Event) { w.happened = append(w.happened, e) },
	})
	t.Cleanup(func() { require.NoError(t, w.device.Close()) })
	return w
}

func (w *world) pair() *pair {
	p := &pair{}
	p.Connection = w.device.NewConnection(p, p)
	return p
}

// progress processes all events.
func (w *world) progress() {
	w.Helper()
	w.device.Stir()
	_, err := w.device.Progress()
	require.NoError(w, err)
}

// to is a remote address.
var to = netip.MustParseAddrPort("10.9.0.2:8")

// asked returns the proposal of the tests.
func asked() *provider.Proposal {
	return &provider.Proposal{PrivateData: []byte("question"), ResponderResources: 7, InitiatorDepth: 5, RetryCount: 6, RNRRetryCount: 3, FlowControl: true}
}

// requested returns the queue pair of an active side that has sent its request.
func (w *world) requested() *pair {
	w.Helper()
	p := w.pair()
	_, err := p.Connect(to, asked())
	require.NoError(w, err)
	w.say(w.last, rdmacm.AddressResolved, 0, rdmacm.Parameters{})
	w.progress()
	w.say(w.last, rdmacm.RouteResolved, 0, rdmacm.Parameters{})
	w.progress()
	return p
}

// answer reports the event by which the peer answers the last request. After this event the
// connection of the active side is established.
func (w *world) answer(p rdmacm.Parameters) {
	kind := rdmacm.ConnectResponse
	if w.device.IWARP {
		kind = rdmacm.Established
	}
	w.say(w.last, kind, 0, p)
	w.progress()
}

var errTest = errors.New("test")

// patience is the time for which a test waits for a goroutine.
const patience = 20 * time.Second
