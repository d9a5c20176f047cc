package doctor

import (
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// messageBytes is the length of the message of a call. The message is longer than one packet of
	// any network. If the network drops long packets, the connection is established but the message
	// does not arrive.
	messageBytes = 256 << 10
	// callDelay bounds the time to connect and the time to send the message, at both ends. TCP
	// sends its third SYN after 3 s.
	callDelay = 5 * time.Second
	// callersMax is the largest number of callers that are served concurrently, and of calls that are made
	// concurrently.
	callersMax = 256
)

// received is the answer to a message that has arrived completely.
const received = "received"

// listener listens at the addresses of this host that -net selects and that other hosts can reach.
type listener struct {
	addresses []Address
	token     []byte
	open      []net.Listener
	callers   chan struct{} // has an element for each caller that is being served
	serving   sync.WaitGroup
}

// listen returns a listener that has begun to listen. network is the value of -net.
func listen(network string, token []byte) (*listener, error) {
	l := &listener{token: token, callers: make(chan struct{}, callersMax)}
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		all, err := i.Addrs()
		if err != nil {
			continue // the interface was removed meanwhile
		}
		for _, a := range all {
			l.add(network, i, a)
		}
	}
	for _, open := range l.open {
		l.serving.Go(func() { l.accept(open) })
	}
	return l, nil
}

// add listens at address a of interface i. It skips an address that other hosts cannot reach, and an address
// that -net does not select.
func (l *listener) add(network string, i net.Interface, a net.Addr) {
	prefix, err := netip.ParsePrefix(a.String())
	if err != nil || prefix.Addr().IsLinkLocalUnicast() || prefix.Addr().IsLoopback() {
		return
	}
	to := Address{At: netip.AddrPortFrom(prefix.Addr(), 0), Network: prefix.Masked(), Interface: i.Name, MTU: i.MTU}
	if !fits(network, to) {
		return
	}
	open, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(to.At))
	if err != nil {
		return // the address may not be ready yet
	}
	if tcp, ok := open.Addr().(*net.TCPAddr); ok {
		to.At = netip.AddrPortFrom(prefix.Addr(), tcp.AddrPort().Port())
	}
	l.open, l.addresses = append(l.open, open), append(l.addresses, to)
}

// close closes the listeners and waits until all callers have been served.
func (l *listener) close() {
	for _, open := range l.open {
		_ = open.Close()
	}
	l.serving.Wait()
}

// accept serves callers until its listener is closed. It closes connections beyond callersMax.
func (l *listener) accept(open net.Listener) {
	for {
		c, err := open.Accept()
		if err != nil {
			return
		}
		select {
		case l.callers <- struct{}{}:
			l.serving.Go(func() { l.serve(c); <-l.callers })
		default:
			_ = c.Close()
		}
	}
}

// serve reads the message of a caller and answers it. A caller that does not send the token gets no answer.
func (l *listener) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(callDelay))
	token := make([]byte, tokenBytes)
	if _, err := io.ReadFull(c, token); err != nil || subtle.ConstantTimeCompare(token, l.token) != 1 {
		return
	}
	if _, err := io.CopyN(io.Discard, c, messageBytes); err == nil {
		_, _ = io.WriteString(c, received)
	}
}

// callAll calls all addresses of all peers, concurrently, and returns the results.
func callAll(peers []Peer) []Answer {
	var answers []Answer
	for _, p := range peers {
		for _, a := range p.Addresses {
			answers = append(answers, Answer{Peer: p.Name, Address: a})
		}
	}
	tokens := map[string][]byte{}
	for _, p := range peers {
		tokens[p.Name] = p.Token
	}
	var calls sync.WaitGroup
	room := make(chan struct{}, callersMax)
	for i := range answers {
		room <- struct{}{}
		calls.Go(func() {
			call(&answers[i], tokens[answers[i].Peer])
			<-room
		})
	}
	calls.Wait()
	return answers
}

// call sends a message to the address in a, waits for the answer, and sets Err and Stalled of a.
func call(a *Answer, token []byte) {
	c, err := net.DialTimeout("tcp", a.Address.At.String(), callDelay)
	if err != nil {
		a.Err = err.Error()
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(callDelay))
	_, err = c.Write(append(token[:len(token):len(token)], make([]byte, messageBytes)...))
	answer := make([]byte, len(received))
	if err == nil {
		_, err = io.ReadFull(c, answer)
	}
	var timeout net.Error
	a.Stalled = errors.As(err, &timeout) && timeout.Timeout()
	if err != nil {
		a.Err = err.Error()
	} else if string(answer) != received {
		a.Err = "another program answers there"
	}
}
