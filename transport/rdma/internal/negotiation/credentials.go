package negotiation

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// labels keep a tag of one purpose from being used for another.
var labels = [...]string{
	kindRequest: "gorun rdma request 1",
	kindReply:   "gorun rdma reply 1",
	kindReject:  "gorun rdma reject 1",
}

// Credentials are what a rank proves its membership in the job with, and checks
// that of others.
type Credentials struct {
	// Key is the job's secret, or a key derived from it. It is only read.
	Key []byte
	// Job is JobHash of the job's id.
	Job uint32
	// Rank is this process, Size the number of ranks.
	Rank, Size uint32
}

// AppendRequest adds the request r for the rank to to b. It sets Job and Source
// from the credentials.
func (c *Credentials) AppendRequest(b []byte, r *Record, to uint32) []byte {
	return c.appendRecord(b, r, kindRequest, to, nil)
}

// AppendReply adds the reply r to b. request is the private data of the request
// that it answers, as it came; padding is ignored.
func (c *Credentials) AppendReply(b []byte, r *Record, to uint32, request []byte) []byte {
	return c.appendRecord(b, r, kindReply, to, request[:Size])
}

func (c *Credentials) appendRecord(b []byte, r *Record, k kind, to uint32, request []byte) []byte {
	own := *r
	own.Job, own.Source = c.Job, c.Rank
	at := len(b)
	b = own.append(b, k)
	return append(b, c.tag(b[at:], k, to, request)...)
}

// OpenRequest checks the private data b of a connection request and returns the
// record in it. Every error is a *RefusalError, ready to become a Reject.
func (c *Credentials) OpenRequest(b []byte) (Record, error) {
	if err := checkFrame(b, kindRequest, Size); err != nil {
		return Record{}, err
	}
	return c.open(b[:Size], kindRequest, nil)
}

// OpenReply checks the private data b of an accepted connection. request is the
// record that was sent, from the rank whose reply is due.
func (c *Credentials) OpenReply(b, request []byte, from uint32) (Record, error) {
	if err := checkFrame(b, kindReply, Size); err != nil {
		return Record{}, err
	}
	r, err := c.open(b[:Size], kindReply, request[:Size])
	if err != nil {
		return Record{}, err
	}
	if r.Source != from {
		return Record{}, refuse(WrongRank, "rank %d answered a request to rank %d", r.Source, from)
	}
	if asked := binary.BigEndian.Uint32(request[nonceAt:]); r.Nonce != asked {
		return Record{}, refuse(Auth, "the reply echoes nonce %#08x, the request had %#08x", r.Nonce, asked)
	}
	return r, nil
}

// open checks what a framed record says. The job comes first although it is
// not yet proved: two jobs have two keys, and "another job" says more than "bad
// tag".
func (c *Credentials) open(b []byte, k kind, request []byte) (Record, error) {
	r := parse(b)
	if r.Job != c.Job {
		return Record{}, refuse(Job, "the record is of job %#08x, this rank is in job %#08x", r.Job, c.Job)
	}
	if !hmac.Equal(b[tagAt:], c.tag(b[:tagAt], k, c.Rank, request)) {
		return Record{}, refuse(Auth, "the tag of the record does not verify for rank %d", c.Rank)
	}
	if r.Source >= c.Size || r.Source == c.Rank {
		return Record{}, refuse(WrongRank, "the record is from rank %d, this is rank %d of %d", r.Source, c.Rank, c.Size)
	}
	return r, nil
}

// tag returns the tag over what a record or a reject says before it. rank is the
// destination of a record and the source of a reject.
func (c *Credentials) tag(head []byte, k kind, rank uint32, request []byte) []byte {
	mac := hmac.New(sha256.New, c.Key)
	mac.Write([]byte(labels[k]))
	mac.Write(head)
	mac.Write(binary.BigEndian.AppendUint32(nil, rank))
	mac.Write(request)
	return mac.Sum(nil)[:tagSize]
}
