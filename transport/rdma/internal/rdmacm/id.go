package rdmacm

import (
	"math"
	"net/netip"
	"os"
	"sync"
	"time"
)

// ID is a connection or a listener (struct rdma_cm_id). Its methods may be called from several
// goroutines. All commands return at once except two: Connect on siw waits for TCP. Destroy waits for
// other commands of the same ID, and on iWARP also for the answer to a request of this ID. While
// Destroy waits, later commands of this ID wait too.
type ID struct {
	// Context is for the caller. The package does not use it.
	Context any

	channel *Channel
	uid     uint64 // the number that this package has given the id, and that it never uses again
	number  uint32 // the kernel's number of the id, which the kernel may give to another id after Destroy

	// mu is held by Destroy for writing, and by all other commands for reading.
	mu        sync.RWMutex
	destroyed bool
}

// do carries out a command. It writes the kernel's number of the id to the body. The argument at is the
// offset of this number.
func (id *ID) do(op string, at int, c *Command) error {
	id.mu.RLock()
	defer id.mu.RUnlock()
	err := os.ErrClosed
	if !id.destroyed {
		words(c.Body).put32(at, id.number)
		err = id.channel.driver.Do(c)
	}
	if err != nil {
		return &Error{Op: op, ID: id.uid, Err: err}
	}
	return nil
}

// Destroy ends the id (rdma_destroy_id(3)). The kernel cancels operations of the id in progress,
// breaks its connection, and refuses its unanswered request. Next returns no event of the id
// afterwards.
func (id *ID) Destroy() error {
	id.channel.forget(id)
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.destroyed {
		return &Error{Op: "destroy", ID: id.uid, Err: os.ErrClosed}
	}
	id.destroyed = true
	body := words(make([]byte, destroySize))
	body.put32(destroyID, id.number)
	err := id.channel.driver.Do(&Command{Number: commandDestroy, Body: body, Memory: make([]byte, destroyedSize), Pointer: destroyResponse})
	if err != nil {
		return &Error{Op: "destroy", ID: id.uid, Err: err}
	}
	return nil
}

// Bind gives the id a local address (rdma_bind_addr(3)). If the address is not the unspecified
// address, Bind also determines the device of the id. With port 0 the kernel chooses a free port.
func (id *ID) Bind(local netip.AddrPort) error {
	body := words(make([]byte, bindSize))
	n, err := putAddress(body[bindAddress:], local)
	if err != nil {
		return &Error{Op: "bind", ID: id.uid, Peer: local, Err: err}
	}
	body.put16(bindAddressSize, uint16(n))
	return at(local, id.do("bind", bindID, &Command{Number: commandBind, Body: body}))
}

// ResolveAddress finds the device that reaches the destination, and the next hop on the path
// (rdma_resolve_addr(3)). The event AddressResolved or AddressError follows. If source is not
// valid, the kernel's routes determine the source address.
func (id *ID) ResolveAddress(source, destination netip.AddrPort, timeout time.Duration) error {
	const op = "resolve address"
	body := words(make([]byte, resolveSize))
	body.put32(resolveTimeout, milliseconds(timeout))
	n, err := putAddress(body[resolveDestination:], destination)
	if err != nil {
		return &Error{Op: op, ID: id.uid, Peer: destination, Err: err}
	}
	body.put16(resolveDestinationSize, uint16(n))
	if source.IsValid() {
		if n, err = putAddress(body[resolveSource:], source); err != nil {
			return &Error{Op: op, ID: id.uid, Peer: source, Err: err}
		}
		body.put16(resolveSourceSize, uint16(n))
	}
	return at(destination, id.do(op, resolveID, &Command{Number: commandResolve, Body: body}))
}

// ResolveRoute finds the path to the destination (rdma_resolve_route(3)). The event RouteResolved
// or RouteError follows.
func (id *ID) ResolveRoute(timeout time.Duration) error {
	body := words(make([]byte, routeSize))
	body.put32(routeTimeout, milliseconds(timeout))
	return id.do("resolve route", routeID, &Command{Number: commandResolveRoute, Body: body})
}

// milliseconds converts a timeout to the kernel's milliseconds: at least 1, and at most the maximum
// of the kernel's int.
func milliseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 1), math.MaxInt32))
}

// Listen makes a bound id receive requests (rdma_listen(3)). At most backlog requests can wait for
// a call of Next. If backlog is not positive, or exceeds the limit in
// /proc/sys/net/rdma_ucm/max_backlog, the kernel uses this limit.
func (id *ID) Listen(backlog int) error {
	body := words(make([]byte, listenSize))
	body.put32(listenBacklog, uint32(min(max(backlog, 0), math.MaxInt32)))
	return id.do("listen", listenID, &Command{Number: commandListen, Body: body})
}

// Connect sends the connection request (rdma_connect(3)). One of the events ConnectResponse,
// Established, Rejected, Unreachable and ConnectError follows. On iWARP p has to name the
// queue pair, because the kernel itself changes the state of the queue pair. The driver siw makes the TCP connection
// during the call: Connect waits for the connection, and returns its error.
func (id *ID) Connect(p *Parameters) error {
	body := words(make([]byte, connectSize))
	if err := p.encode(body[connectParameters:]); err != nil {
		return &Error{Op: "connect", ID: id.uid, Err: err}
	}
	return id.do("connect", connectID, &Command{Number: commandConnect, Body: body})
}

// Accept accepts a request (rdma_accept(3)). The event Established or ConnectError follows. If p is
// nil, Accept confirms a ConnectResponse on the active side. In this case the queue pair must
// already be in StateSend, and the connection is established when Accept has succeeded.
func (id *ID) Accept(p *Parameters) error {
	body := words(make([]byte, acceptSize))
	if p != nil {
		if err := p.encode(body[acceptParameters:]); err != nil {
			return &Error{Op: "accept", ID: id.uid, Err: err}
		}
		body.put64(acceptUID, id.uid)
	}
	return id.do("accept", acceptID, &Command{Number: commandAccept, Body: body})
}

// Reject refuses a request (rdma_reject(3)). The caller destroys the id afterwards.
func (id *ID) Reject(privateData []byte) error {
	body := words(make([]byte, rejectSize))
	if len(privateData) > PrivateDataMax {
		return &Error{Op: "reject", ID: id.uid, Err: dataTooLong(len(privateData))}
	}
	body[rejectLength] = uint8(len(privateData))
	copy(body[rejectData:], privateData)
	return id.do("reject", rejectID, &Command{Number: commandReject, Body: body})
}

// Disconnect ends a connection (rdma_disconnect(3)). If the event Disconnected has come, Disconnect
// acknowledges that the peer has ended the connection.
func (id *ID) Disconnect() error {
	body := make([]byte, disconnectSize)
	return id.do("disconnect", disconnectID, &Command{Number: commandDisconnect, Body: body})
}

// NotifyEstablished tells the kernel that the queue pair has received a message although the event
// Established has not come yet. The kernel then regards the connection as established
// (rdma_notify(3), IB_EVENT_COMM_EST).
func (id *ID) NotifyEstablished() error {
	body := words(make([]byte, notifySize))
	body.put32(notifyEvent, eventCommunicationEstablished)
	return id.do("notify", notifyID, &Command{Number: commandNotify, Body: body})
}
