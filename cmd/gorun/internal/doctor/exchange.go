package doctor

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"
)

// greeting is the prefix of the first line that a host writes. The version of its gorun follows.
const greeting = "gorun-doctor "

// tokenBytes is the length of the token by which a caller proves that gorun doctor has told it to call.
const tokenBytes = 16

// Report is the result of a host's checks of itself.
type Report struct {
	Version   string
	Findings  []Finding
	Addresses []Address
	Token     []byte // a caller must send the token first
}

// Address is an address at which a host listens.
type Address struct {
	At        netip.AddrPort
	Network   netip.Prefix
	Interface string
	MTU       int
}

// Peer is another host to call.
type Peer struct {
	Name      string
	Addresses []Address
	Token     []byte
}

// Answer is the result of a call to one address of a peer. Err is "" if the long message has arrived.
type Answer struct {
	Peer    string
	Address Address
	Err     string
	Stalled bool // the connection was established, but the message or its answer timed out
}

// request asks a host for the time of its clock, or tells the host to call its peers.
type request struct {
	Clock bool
	Calls []Peer
}

// reply is the answer to a request.
type reply struct {
	Nanoseconds int64 // the time of the clock since 1970
	Answers     []Answer
}

// Serve runs on each host. It reads requests from in (the standard input). It writes its report and the replies
// to out (the standard output). It returns at the end of in. network is the value of -net; "" means every
// network.
func Serve(in io.Reader, out io.Writer, m *Machine, version, network string) (err error) {
	r := Report{Version: version, Findings: m.Check(), Token: make([]byte, tokenBytes)}
	_, _ = rand.Read(r.Token) // rand.Read never fails
	l, err := listen(network, r.Token)
	if err != nil {
		return err
	}
	defer l.close()
	r.Addresses = l.addresses
	if len(l.addresses) == 0 && network != "" {
		r.Findings = append(r.Findings, fail("network", "gorun -net names a network, an address or an interface of each host", "no interface that is up fits -net %s", network))
	}
	if _, err := fmt.Fprintln(out, greeting+version); err != nil {
		return err
	}
	encoder, decoder := json.NewEncoder(out), json.NewDecoder(in)
	if err := encoder.Encode(r); err != nil {
		return err
	}
	for {
		var q request
		if err := decoder.Decode(&q); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("the request: %w", err)
		}
		var a reply
		if q.Clock {
			a.Nanoseconds = time.Now().UnixNano()
		} else {
			a.Answers = callAll(q.Calls)
		}
		if err := encoder.Encode(a); err != nil {
			return err
		}
	}
}

// fits reports whether -net, whose value is network, selects an address.
func fits(network string, a Address) bool {
	if network == "" {
		return true
	}
	for part := range strings.SplitSeq(network, ",") {
		prefix, err := netip.ParsePrefix(part)
		single, e := netip.ParseAddr(part)
		if part == a.Interface || err == nil && prefix.Contains(a.At.Addr()) || e == nil && single == a.At.Addr() {
			return true
		}
	}
	return false
}
