package negotiation

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// labels are the HKDF labels of the keys of the tags. Each kind of tag has a key of its own, so that
// a tag of one kind is not valid for another kind.
var labels = [...]string{
	kindRequest: "gorun rdma request 2",
	kindReply:   "gorun rdma reply 2",
	kindReject:  "gorun rdma reject 2",
	kindProof:   "gorun rdma proof 2",
}

// Credentials has the keys with which a rank proves its membership in the job, and verifies the
// membership of other ranks. NewCredentials makes them.
type Credentials struct {
	// Job is the JobHash of the job's id.
	Job uint32
	// Rank is the rank of this process, Size the number of ranks.
	Rank, Size uint32

	keys [len(labels)][sha256.Size]byte
}

// NewCredentials derives the keys of a rank from the job's secret and id.
func NewCredentials(secret []byte, job string, rank, size uint32) Credentials {
	c := Credentials{Job: JobHash(job), Rank: rank, Size: size}
	for k, label := range labels {
		copy(c.keys[k][:], DeriveKey(secret, job, label))
	}
	return c
}

// DeriveKey returns a key of 32 bytes for one job and one purpose: HKDF (RFC 5869) with SHA-256, the
// job's id as salt, and the label, which names the purpose, as info.
func DeriveKey(secret []byte, job, label string) []byte {
	key, err := hkdf.Key(sha256.New, secret, []byte(job), label, sha256.Size)
	if err != nil {
		panic("negotiation: " + err.Error()) // HKDF fails only for lengths that are too large
	}
	return key
}

// AppendRequest appends the request r to b. The argument to is the destination rank. AppendRequest
// sets Job and Source of the record from the credentials.
func (c *Credentials) AppendRequest(b []byte, r *Record, to uint32) []byte {
	return c.appendRecord(b, r, kindRequest, to, nil)
}

// AppendReply appends the reply r to b. The argument to is the destination rank. request is the
// private data of the request that r answers, as it was received; padding is ignored.
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

// OpenRequest verifies the private data b of a connection request and returns the record in it. Every
// error is a *RefusalError, whose Reject can be sent as the answer.
func (c *Credentials) OpenRequest(b []byte) (Record, error) {
	if err := checkFrame(b, kindRequest); err != nil {
		return Record{}, err
	}
	return c.open(b[:Size], kindRequest, nil)
}

// OpenReply verifies the private data b of the reply to a request, and returns the record in it.
// request is the record that this side sent, and from is the rank to which this side sent it.
func (c *Credentials) OpenReply(b, request []byte, from uint32) (Record, error) {
	if err := checkFrame(b, kindReply); err != nil {
		return Record{}, err
	}
	r, err := c.open(b[:Size], kindReply, request[:Size])
	if err != nil {
		return Record{}, err
	}
	if r.Source != from {
		return Record{}, refuse(WrongRank, "rank %d answered a request to rank %d", r.Source, from)
	}
	return r, nil
}

// open verifies a record whose frame was checked, and returns it. open compares the job before it
// verifies the tag. The tag of a record of another job has another key, so its check would fail, too.
// But the error "another job" is more helpful than "bad tag".
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

// AppendProof appends the proof of the active side to head. head is the first message of the active
// side without the proof. The proof covers all of head. request and reply are the private data of
// both sides, as they were sent; padding is ignored.
func (c *Credentials) AppendProof(head, request, reply []byte) []byte {
	return append(head, c.tag(head, kindProof, 0, request[:Size], reply[:Size])...)
}

// OpenProof verifies the first message of the active side of a connection that was made by request
// and reply. The message must end with the proof, which shows that the sender has the job's secret
// and knows request and reply.
func (c *Credentials) OpenProof(message, request, reply []byte) error {
	at := len(message) - ProofSize
	if at < 0 || !hmac.Equal(message[at:], c.tag(message[:at], kindProof, 0, request[:Size], reply[:Size])) {
		return refuse(Auth, "the first message has no valid proof; the request may be a replay")
	}
	return nil
}

// tag returns the tag of a record, a reject or a first message. head has the bytes that precede the
// tag. rank is the destination of a record or the source of a reject. For a proof, rank is 0. A proof
// covers both records, and these determine both ranks.
func (c *Credentials) tag(head []byte, k kind, rank uint32, records ...[]byte) []byte {
	mac := hmac.New(sha256.New, c.keys[k][:])
	mac.Write(head)
	mac.Write(binary.BigEndian.AppendUint32(nil, rank))
	for _, r := range records {
		mac.Write(r)
	}
	return mac.Sum(nil)[:tagSize]
}
