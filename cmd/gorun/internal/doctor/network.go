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
	// messageBytes are more than one packet of any network: where long packets are dropped on
	// the way, the connection is made and the message does not arrive.
	messageBytes = 256 << 10
	// callDelay bounds a call, and what a caller may take: the third attempt of TCP to connect
	// comes after 3 s.
	callDelay = 5 * time.Second
	// callersMax are served at a time.
	callersMax = 256
)

// received is the answer to a message.
const received = "received"

// listener listens at all addresses of a host.
type listener struct {
	addresses []Address
	token     []byte
	open      []net.Listener
	callers   chan struct{}
	serving   sync.WaitGroup
}

// listen listens at the addresses that fit.
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
			continue // the interface is gone
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

// add listens at an address of an interface, if others can reach it there.
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
		return // an address that is not ready yet
	}
	if tcp, ok := open.Addr().(*net.TCPAddr); ok {
		to.At = netip.AddrPortFrom(prefix.Addr(), tcp.AddrPort().Port())
	}
	l.open, l.addresses = append(l.open, open), append(l.addresses, to)
}

// close ends listening and all calls.
func (l *listener) close() {
	for _, open := range l.open {
		_ = open.Close()
	}
	l.serving.Wait()
}

// accept serves those who call an address.
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

// serve reads a message and answers it. Who does not know the token gets no answer.
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

// callAll calls all addresses of all peers.
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

// call sends a message and waits for the answer.
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
