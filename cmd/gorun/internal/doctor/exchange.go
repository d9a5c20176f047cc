package doctor

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"
)

// greeting starts the first line that a host says, which has the version after it.
const greeting = "gorun-doctor "

// tokenBytes is the length of the proof that who calls was told to.
const tokenBytes = 16

// Report is what a host says about itself.
type Report struct {
	Version   string
	Findings  []Finding
	Addresses []Address
	Token     []byte // what who calls has to say
	PID       int
}

// Address is where a host listens.
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

// Answer is how a call ended: Err is "" if a long message has arrived.
type Answer struct {
	Peer    string
	Address Address
	Err     string
	Stalled bool // the connection was made, and the message did not arrive
}

// request is what a host is asked for: its clock, or calls.
type request struct {
	Clock bool
	Calls []Peer
}

// reply is the answer to a request.
type reply struct {
	Nanoseconds int64 // of the clock, since 1970
	Answers     []Answer
}

// Serve is what runs on a host. It speaks through its standard input and output, and ends with
// the input. network is the value of -net, "" for every network.
func Serve(in io.Reader, out io.Writer, m *Machine, version, network string) (err error) {
	r := Report{Version: version, Findings: m.Check(), Token: make([]byte, tokenBytes), PID: os.Getpid()}
	_, _ = rand.Read(r.Token) // it never fails
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
			return fmt.Errorf("what is asked for: %w", err)
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

// fits reports whether an address is in what -net names.
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
