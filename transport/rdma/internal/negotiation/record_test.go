package negotiation_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

// The golden records were made by Python's struct and hmac from the table in
// doc.go.
const (
	goldenRequest = "6752101e9baabbff000000030002000510fe000807000121000000000000000000000000cafef00ddb0f6173b2a4a23d89e2046168912a2f"
	goldenReply   = "6752102e9baabbff00000001ffff00090410000403000020000000000000000000000000cafef00df503a8924e2d807663b60e1077b4b3fa"
)

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(tb, err)
	return b
}

func key() []byte {
	k := make([]byte, 32)
	for i := range k {
		k[i] = byte(i)
	}
	return k
}

func credentials(rank uint32) *negotiation.Credentials {
	return &negotiation.Credentials{Key: key(), Job: negotiation.JobHash("job 7"), Rank: rank, Size: 4}
}

func request() negotiation.Record {
	return negotiation.Record{
		Job: negotiation.JobHash("job 7"), Source: 3, Incarnation: 2, Attempt: 5,
		Depths: negotiation.Depths{IRD: 16, ORD: 254}, Credits: 8, Slot: 8192,
		Features: negotiation.WithoutCRC | 0x101, Nonce: 0xCAFEF00D,
	}
}

func reply() negotiation.Record {
	return negotiation.Record{
		Job: negotiation.JobHash("job 7"), Source: 1, Incarnation: 65535, Attempt: 9,
		Depths: negotiation.Depths{IRD: 4, ORD: 16}, Credits: 4, Slot: 4096,
		Features: negotiation.WithoutCRC, Nonce: 0xCAFEF00D,
	}
}

func TestGoldenBytes(t *testing.T) {
	req, rep := request(), reply()
	b := credentials(3).AppendRequest(nil, &req, 1)
	require.Equal(t, goldenRequest, hex.EncodeToString(b))
	require.Len(t, b, negotiation.Size)
	got, err := credentials(1).OpenRequest(b)
	require.NoError(t, err)
	require.Equal(t, req, got)

	c := credentials(1).AppendReply([]byte("before"), &rep, 3, b)
	require.Equal(t, "before"+string(unhex(t, goldenReply)), string(c))
	got, err = credentials(3).OpenReply(c[len("before"):], b, 1)
	require.NoError(t, err)
	require.Equal(t, rep, got)
}

// TestPadding: InfiniBand pads requests to 56 bytes and replies to 196, an iWARP
// adapter adds 4, a length of one byte ends at 255; with zeros or with garbage.
func TestPadding(t *testing.T) {
	req, rep := unhex(t, goldenRequest), unhex(t, goldenReply)
	for _, n := range []int{56, 57, 60, 148, 196, 255} {
		for _, fill := range []byte{0, 0xA5, 0xFF} {
			pad := bytes.Repeat([]byte{fill}, n-negotiation.Size)
			padded := append(bytes.Clone(req), pad...)
			got, err := credentials(1).OpenRequest(padded)
			require.NoError(t, err)
			require.Equal(t, request(), got)
			answer := credentials(1).AppendReply(nil, new(reply()), 3, padded)
			require.Equal(t, rep, answer, "the padding of the request is not in the tag")
			got, err = credentials(3).OpenReply(append(answer, pad...), req, 1)
			require.NoError(t, err)
			require.Equal(t, reply(), got)
		}
	}
}

func TestEveryTruncationIsRefused(t *testing.T) {
	req, rep := unhex(t, goldenRequest), unhex(t, goldenReply)
	for n := range negotiation.Size {
		_, err := credentials(1).OpenRequest(req[:n])
		require.ErrorIs(t, err, negotiation.Refused(negotiation.BadLength), "request of %d", n)
		_, err = credentials(3).OpenReply(rep[:n], req, 1)
		require.ErrorIs(t, err, negotiation.Refused(negotiation.BadLength), "reply of %d", n)
	}
}

func TestEveryBitFlipIsRefused(t *testing.T) {
	req, rep := unhex(t, goldenRequest), unhex(t, goldenReply)
	for bit := range negotiation.Size * 8 {
		flip := func(b []byte) []byte {
			b = bytes.Clone(b)
			b[bit/8] ^= 0x80 >> (bit % 8)
			return b
		}
		var refusal *negotiation.RefusalError
		_, err := credentials(1).OpenRequest(flip(req))
		require.ErrorAs(t, err, &refusal, "bit %d of the request", bit)
		_, err = credentials(3).OpenReply(flip(rep), req, 1)
		require.ErrorAs(t, err, &refusal, "bit %d of the reply", bit)
		if bit/8 != 2 && bit/8 != 3 && bit/8 > 1 {
			_, err = credentials(3).OpenReply(rep, flip(req), 1)
			require.ErrorAs(t, err, &refusal, "bit %d of the request that the reply answers", bit)
		}
	}
}

func TestRefusals(t *testing.T) {
	seal := func(change func(*negotiation.Credentials, *negotiation.Record), to uint32) []byte {
		c, r := credentials(3), request()
		change(c, &r)
		return c.AppendRequest(nil, &r, to)
	}
	same := func(*negotiation.Credentials, *negotiation.Record) {}
	major := seal(same, 1)
	major[2] = 0x20
	zero := seal(same, 1)
	zero[2] = 0x01
	turned := seal(same, 1)
	turned[3] = 0x2E
	shorter := seal(same, 1)
	shorter[3] = 0x1D
	cases := map[string]struct {
		b    []byte
		want negotiation.Reason
	}{
		"empty":                  {nil, negotiation.BadLength},
		"garbage":                {bytes.Repeat([]byte("GET / "), 20), negotiation.BadLength},
		"newer major":            {major, negotiation.Version},
		"major 0":                {zero, negotiation.Version},
		"major 2, four bytes":    {major[:4], negotiation.Version},
		"a reply as request":     {turned, negotiation.BadLength},
		"another length":         {shorter, negotiation.BadLength},
		"meant for another rank": {seal(same, 2), negotiation.Auth},
		"another key": {seal(func(c *negotiation.Credentials, _ *negotiation.Record) {
			c.Key = make([]byte, 32)
		}, 1), negotiation.Auth},
		"another job": {seal(func(c *negotiation.Credentials, _ *negotiation.Record) {
			c.Job = negotiation.JobHash("job 8")
		}, 1), negotiation.Job},
		"from itself":        {seal(func(c *negotiation.Credentials, _ *negotiation.Record) { c.Rank = 1 }, 1), negotiation.WrongRank},
		"from rank 4 of 4":   {seal(func(c *negotiation.Credentials, _ *negotiation.Record) { c.Rank = 4 }, 1), negotiation.WrongRank},
		"from rank 2^32-1":   {seal(func(c *negotiation.Credentials, _ *negotiation.Record) { c.Rank = 1<<32 - 1 }, 1), negotiation.WrongRank},
		"a reject as answer": {unhex(t, goldenReject), negotiation.BadLength},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := credentials(1).OpenRequest(c.b)
			require.ErrorIs(t, err, negotiation.Refused(c.want))
			require.ErrorContains(t, err, c.want.Remedy())
			require.Equal(t, c.want, negotiation.RejectOf(err).Reason)
		})
	}
}

// TestReplyFitsOneRequest: a reply is good for the request it answers, from the
// rank that was asked, and for nothing else.
func TestReplyFitsOneRequest(t *testing.T) {
	first, rep := request(), reply()
	second := first
	second.Attempt++
	a := credentials(3).AppendRequest(nil, &first, 1)
	b := credentials(3).AppendRequest(nil, &second, 1)
	answer := credentials(1).AppendReply(nil, &rep, 3, a)
	_, err := credentials(3).OpenReply(answer, b, 1)
	require.ErrorIs(t, err, negotiation.Refused(negotiation.Auth))
	_, err = credentials(3).OpenReply(answer, a, 2)
	require.ErrorIs(t, err, negotiation.Refused(negotiation.WrongRank))
	_, err = credentials(2).OpenReply(answer, a, 1)
	require.ErrorIs(t, err, negotiation.Refused(negotiation.Auth))
	_, err = credentials(3).OpenReply(a, a, 1)
	require.ErrorIs(t, err, negotiation.Refused(negotiation.BadLength), "a request sent back")
	rep.Nonce++
	_, err = credentials(3).OpenReply(credentials(1).AppendReply(nil, &rep, 3, a), a, 1)
	require.ErrorIs(t, err, negotiation.Refused(negotiation.Auth))
}

func randomRecord(r *rand.Rand, source uint32) negotiation.Record {
	return negotiation.Record{
		Job: negotiation.JobHash("job 7"), Source: source, Incarnation: uint16(r.Uint32()), Attempt: uint16(r.Uint32()),
		Depths:  negotiation.Depths{IRD: r.IntN(255), ORD: r.IntN(255)},
		Credits: uint16(r.Uint32()), Slot: (r.IntN(256) + 1) << 10, Purpose: negotiation.Purpose(r.IntN(3)),
		Features: negotiation.Features(r.Uint32()), Nonce: r.Uint32(),
	}
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		req := randomRecord(r, 3)
		b := credentials(3).AppendRequest(nil, &req, 1)
		got, err := credentials(1).OpenRequest(b)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, req, got, "seed %d", seed)
	}
}

// TestOutOfRangeIsClamped: what the wire cannot say is brought into range when a
// record is written, and when a peer with the key writes it all the same.
func TestOutOfRangeIsClamped(t *testing.T) {
	r := negotiation.Record{Depths: negotiation.Depths{IRD: 256, ORD: -1}, Slot: 1 << 30}
	got, err := credentials(1).OpenRequest(credentials(3).AppendRequest(nil, &r, 1))
	require.NoError(t, err)
	require.Equal(t, negotiation.Depths{IRD: 254, ORD: 0}, got.Depths)
	require.Equal(t, negotiation.MaxSlot, got.Slot)
	r.Slot = 3000
	got, err = credentials(1).OpenRequest(credentials(3).AppendRequest(nil, &r, 1))
	require.NoError(t, err)
	require.Equal(t, 2048, got.Slot)

	b := credentials(3).AppendRequest(nil, &r, 1)
	b[16], b[17], b[21] = 255, 255, 255
	mac := hmac.New(sha256.New, key())
	mac.Write([]byte("gorun rdma request 1"))
	mac.Write(b[:40])
	mac.Write([]byte{0, 0, 0, 1})
	got, err = credentials(1).OpenRequest(mac.Sum(b[:40])[:negotiation.Size])
	require.NoError(t, err)
	require.Equal(t, negotiation.Depths{IRD: 254, ORD: 254}, got.Depths)
}

func FuzzOpen(f *testing.F) {
	req, rep := unhex(f, goldenRequest), unhex(f, goldenReply)
	for _, seed := range [][]byte{req, rep, req[:20], append(bytes.Clone(req), 1, 2, 3, 4), nil, []byte("MPA ID Req Frame"), unhex(f, goldenReject)} {
		f.Add(seed)
	}
	for n := range negotiation.Size {
		f.Add(req[:n])
		f.Add(rep[:n])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var refusal *negotiation.RefusalError
		r, err := credentials(1).OpenRequest(b)
		if err == nil {
			require.Equal(t, b[:negotiation.Size], credentials(3).AppendRequest(nil, &r, 1), "only rank 3 has signed anything")
		} else {
			require.True(t, errors.As(err, &refusal) && refusal.Reject.Reason.String() != "")
		}
		if r, err = credentials(3).OpenReply(b, req, 1); err == nil {
			require.Equal(t, b[:negotiation.Size], credentials(1).AppendReply(nil, &r, 3, req))
		}
	})
}
