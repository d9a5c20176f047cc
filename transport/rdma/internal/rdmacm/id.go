package rdmacm

import (
	"math"
	"net/netip"
	"os"
	"sync"
	"time"
)

// ID is a connection or a listener (struct rdma_cm_id). Its methods may be called from
// several goroutines. Commands return at once, but for Connect on siw, which waits for
// TCP, and Destroy, which waits for commands of the same ID.
type ID struct {
	// Context is the caller's. The package does not touch it.
	Context any

	channel *Channel
	uid     uint64
	number  uint32 // the kernel's, which it gives again to others after Destroy

	// mu is held for writing by Destroy, for reading by commands.
	mu        sync.RWMutex
	destroyed bool
}

// do carries out a command. The number of the id belongs at offset at of the body.
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

// Destroy ends the id (rdma_destroy_id(3)): what is under way is cancelled, a connection
// breaks, a request is refused. No event of it comes afterwards. The number is how many
// events the kernel has reported of it.
func (id *ID) Destroy() (events uint32, err error) {
	id.channel.forget(id)
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.destroyed {
		return 0, &Error{Op: "destroy", ID: id.uid, Err: os.ErrClosed}
	}
	id.destroyed = true
	body, answer := words(make([]byte, destroySize)), words(make([]byte, destroyedSize))
	body.put32(destroyID, id.number)
	err = id.channel.driver.Do(&Command{Number: commandDestroy, Body: body, Memory: answer, Pointer: destroyResponse, Answers: true})
	if err != nil {
		return 0, &Error{Op: "destroy", ID: id.uid, Err: err}
	}
	return answer.at32(destroyedEvents), nil
}

// Bind gives the id a local address, and with it a device unless the address is
// unspecified (rdma_bind_addr(3)). Port 0 is any free one.
func (id *ID) Bind(local netip.AddrPort) error {
	body := words(make([]byte, bindSize))
	n, err := putAddress(body[bindAddress:], local)
	if err != nil {
		return &Error{Op: "bind", ID: id.uid, Peer: local, Err: err}
	}
	body.put16(bindAddressSize, uint16(n))
	return at(local, id.do("bind", bindID, &Command{Number: commandBind, Body: body}))
}

// ResolveAddress finds the device that reaches the destination and the next hop on the way
// (rdma_resolve_addr(3)): AddressResolved or AddressError follows. A source that is not
// valid is chosen by the routes.
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

// ResolveRoute finds the path to the destination (rdma_resolve_route(3)): RouteResolved or
// RouteError follows.
func (id *ID) ResolveRoute(timeout time.Duration) error {
	body := words(make([]byte, routeSize))
	body.put32(routeTimeout, milliseconds(timeout))
	return id.do("resolve route", routeID, &Command{Number: commandResolveRoute, Body: body})
}

// milliseconds is a duration as the kernel wants it: at least one, and in its int.
func milliseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 1), math.MaxInt32))
}

// Listen makes a bound id receive requests (rdma_listen(3)), of which so many may wait
// for Next. Not positive, and above /proc/sys/net/rdma_ucm/max_backlog, is that number.
func (id *ID) Listen(backlog int) error {
	body := words(make([]byte, listenSize))
	body.put32(listenBacklog, uint32(min(max(backlog, 0), math.MaxInt32)))
	return id.do("listen", listenID, &Command{Number: commandListen, Body: body})
}

// Connect sends the request (rdma_connect(3)). ConnectResponse or Established, Rejected,
// Unreachable or ConnectError follows. iWARP looks the queue pair up by its number. siw
// makes the TCP connection within the call, which may take as long as that does, and
// returns why it failed.
func (id *ID) Connect(p *Parameters) error {
	body := words(make([]byte, connectSize))
	if err := p.encode(body[connectParameters:]); err != nil {
		return &Error{Op: "connect", ID: id.uid, Err: err}
	}
	return id.do("connect", connectID, &Command{Number: commandConnect, Body: body})
}

// Accept answers a request (rdma_accept(3)): Established, or ConnectError, follows. With nil
// it confirms a ConnectResponse on the active side, whose queue pair is ready (in StateSend):
// the connection stands then.
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

// Reject refuses a request (rdma_reject(3)). The id is to be destroyed then.
func (id *ID) Reject(privateData []byte) error {
	body := words(make([]byte, rejectSize))
	if len(privateData) > PrivateDataMax {
		return &Error{Op: "reject", ID: id.uid, Err: dataTooLong(len(privateData))}
	}
	body[rejectLength] = uint8(len(privateData))
	copy(body[rejectData:], privateData)
	return id.do("reject", rejectID, &Command{Number: commandReject, Body: body})
}

// Disconnect ends a connection (rdma_disconnect(3)), or says that its end has been seen.
func (id *ID) Disconnect() error {
	body := make([]byte, disconnectSize)
	return id.do("disconnect", disconnectID, &Command{Number: commandDisconnect, Body: body})
}

// NotifyEstablished says that the queue pair has received something before the connection
// was established, which establishes it (rdma_notify(3), IB_EVENT_COMM_EST).
func (id *ID) NotifyEstablished() error {
	body := words(make([]byte, notifySize))
	body.put32(notifyEvent, eventCommunicationEstablished)
	return id.do("notify", notifyID, &Command{Number: commandNotify, Body: body})
}
