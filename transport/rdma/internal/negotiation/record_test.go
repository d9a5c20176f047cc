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

// These bytes were made with Python's struct and hmac modules from the description in doc.go.
const (
	goldenRequest = "6752201e9baabbff000000030002000510fe00080700012100000000cafef00d0102030405060708d5d89cf714df409986e637ee2938ff44"
	goldenReply   = "6752202e9baabbff00000001ffff0009041000040300002000000000a0a1a2a3a4a5a6a7a8a9aaab968786f43e5e6b763d30180dd0f1bd70"
	// goldenProof is a first message: its header, and the proof.
	goldenProof = "0000080000000000050000000000000089f49438583826ae6c7bd5318c0c6537"
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
	return new(negotiation.NewCredentials(key(), "job 7", rank, 4))
}

// guessing returns the credentials of a stranger who does not know the secret.
func guessing(rank uint32) *negotiation.Credentials {
	return new(negotiation.NewCredentials(make([]byte, 32), "job 7", rank, 4))
}

func request() negotiation.Record {
	return negotiation.Record{
		Job: negotiation.JobHash("job 7"), Source: 3, Incarnation: 2, Attempt: 5,
		Depths: negotiation.Depths{IRD: 16, ORD: 254}, Credits: 8, Slot: 8192,
		Features: negotiation.WithoutCRC | 0x101, Nonce: negotiation.Nonce{0xCA, 0xFE, 0xF0, 0x0D, 1, 2, 3, 4, 5, 6, 7, 8},
	}
}

func reply() negotiation.Record {
	return negotiation.Record{
		Job: negotiation.JobHash("job 7"), Source: 1, Incarnation: 65535, Attempt: 9,
		Depths: negotiation.Depths{IRD: 4, ORD: 16}, Credits: 4, Slot: 4096,
		Features: negotiation.WithoutCRC,
		Nonce:    negotiation.Nonce{0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xAB},
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

// TestPadding checks records with padding of zeros or other bytes. InfiniBand pads requests to 56 bytes and
// replies to 196 bytes. An iWARP adapter adds 4 bytes. A length field of one byte can hold at most 255.
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
	major[2] = 0x30
	zero := seal(same, 1)
	zero[2] = 0x01
	older := seal(same, 1)
	older[2] = 0x10
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
		"major 1":                {older, negotiation.Version},
		"major 3, four bytes":    {major[:4], negotiation.Version},
		"a reply as request":     {turned, negotiation.BadLength},
		"another length":         {shorter, negotiation.BadLength},
		"meant for another rank": {seal(same, 2), negotiation.Auth},
		"another key": {seal(func(c *negotiation.Credentials, _ *negotiation.Record) {
			*c = *guessing(3)
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

// TestReplyFitsOneRequest checks that a reply is valid only for the request that it answers, and only if it
// comes from the rank to which the request was sent.
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
}

// TestProofFitsOneConnection checks that the proof in the first message is valid for one connection only, and
// that it cannot be written without the secret.
func TestProofFitsOneConnection(t *testing.T) {
	req, rep, message := unhex(t, goldenRequest), unhex(t, goldenReply), unhex(t, goldenProof)
	head := message[:len(message)-negotiation.ProofSize]
	passive := credentials(1)
	require.Equal(t, message, credentials(3).AppendProof(bytes.Clone(head), req, rep))
	require.NoError(t, passive.OpenProof(message, req, rep))
	require.NoError(t, passive.OpenProof(message, append(bytes.Clone(req), 0xA5), append(bytes.Clone(rep), 0xA5)), "padded")
	refused := func(m, req, rep []byte, what string, arguments ...any) {
		t.Helper()
		require.ErrorIs(t, passive.OpenProof(m, req, rep), negotiation.Refused(negotiation.Auth), append([]any{what}, arguments...)...)
	}
	for n := range message {
		refused(message[:n], req, rep, "%d bytes", n)
	}
	refused(append(bytes.Clone(message), 0), req, rep, "a byte more")
	flip := func(b []byte, bit int) []byte {
		b = bytes.Clone(b)
		b[bit/8] ^= 0x80 >> (bit % 8)
		return b
	}
	for bit := range len(message) * 8 {
		refused(flip(message, bit), req, rep, "bit %d", bit)
	}
	for bit := range negotiation.Size * 8 {
		refused(message, flip(req, bit), rep, "bit %d of the request", bit)
		refused(message, req, flip(rep, bit), "bit %d of the reply", bit)
	}
	refused(guessing(3).AppendProof(bytes.Clone(head), req, rep), req, rep, "a guess")
	refused(message, rep, req, "the other direction")
}

// TestKeysAreOfOnePurpose checks that keys for another label, job or secret are different.
func TestKeysAreOfOnePurpose(t *testing.T) {
	seen := map[string]bool{}
	for _, secret := range [][]byte{key(), make([]byte, 32)} {
		for _, job := range []string{"job 7", "job 8"} {
			for _, label := range []string{"gorun rdma request 2", "gorun rdma reply 2"} {
				k := negotiation.DeriveKey(secret, job, label)
				require.Len(t, k, 32)
				seen[string(k)] = true
			}
		}
	}
	require.Len(t, seen, 8)
}

func randomRecord(r *rand.Rand, source uint32) negotiation.Record {
	return negotiation.Record{
		Job: negotiation.JobHash("job 7"), Source: source, Incarnation: uint16(r.Uint32()), Attempt: uint16(r.Uint32()),
		Depths:  negotiation.Depths{IRD: r.IntN(255), ORD: r.IntN(255)},
		Credits: uint16(r.Uint32()), Slot: (r.IntN(256) + 1) << 10, Purpose: negotiation.Purpose(r.IntN(3)),
		Features: negotiation.Features(r.Uint32()), Nonce: negotiation.Nonce{byte(r.Uint32()), 11: byte(r.Uint32())},
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

// TestOutOfRangeIsClamped checks that values outside the range of the wire format are brought into the range.
// They are brought into the range when a record is written, and when a record with a valid tag is read.
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
	mac := hmac.New(sha256.New, negotiation.DeriveKey(key(), "job 7", "gorun rdma request 2"))
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
