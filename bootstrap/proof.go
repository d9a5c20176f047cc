package bootstrap

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The handshake of a connection to a Door. If another launcher has started the ranks, the two sides are a
// rank and rank 0. Otherwise, they are an agent in a container and the launcher. Before either side reads
// anything else, both sides prove that they know the secret. The table lists the messages between rank 0 and
// another rank. "both nonces" means the nonce of the rank, followed by the nonce of rank 0.
//
//	rank     "gorun-join\x02", 4 bytes rank, 16 bytes nonce
//	rank 0   16 bytes nonce, 16 bytes HMAC("0", rank, both nonces)
//	rank     16 bytes HMAC("1", rank, both nonces)
//	rank 0   1 byte: the connection is accepted
const (
	joinMagic  = "gorun-join\x02"
	nonceBytes = 16
	macBytes   = 16
)

// ErrUnproved is the error of a handshake with a peer that does not know the job's secret.
var ErrUnproved = errors.New("the other side does not know the job's secret")

// proof returns the HMAC that one side sends. side is '0' for rank 0 and '1' for the other rank.
func proof(secret [32]byte, side byte, rank int, nonces ...[]byte) []byte {
	h := hmac.New(sha256.New, secret[:])
	h.Write([]byte{side})
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(rank)))
	for _, n := range nonces {
		h.Write(n)
	}
	return h.Sum(nil)[:macBytes]
}

// introduce executes the handshake on the side of a rank that connects to rank 0.
func introduce(conn io.ReadWriter, secret [32]byte, rank int, nonce [nonceBytes]byte) error {
	b := binary.LittleEndian.AppendUint32([]byte(joinMagic), uint32(rank))
	if _, err := conn.Write(append(b, nonce[:]...)); err != nil {
		return err
	}
	var answer [nonceBytes + macBytes]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("no proof: %w", err)
	}
	theirs := answer[:nonceBytes]
	if !hmac.Equal(answer[nonceBytes:], proof(secret, '0', rank, nonce[:], theirs)) {
		return ErrUnproved
	}
	if _, err := conn.Write(proof(secret, '1', rank, nonce[:], theirs)); err != nil {
		return err
	}
	// Until rank 0 has sent this byte, rank 0 may close the connection to make room for other connections
	// without proof (Door.enter).
	if _, err := io.ReadFull(conn, answer[:1]); err != nil {
		return fmt.Errorf("rank 0 closed the connection after the proof: %w", err)
	}
	return nil
}

// welcome sends the last byte of the handshake. Rank 0 calls it after examine.
func welcome(conn io.Writer) error {
	_, err := conn.Write([]byte{1})
	return err
}

// examine executes the handshake on the side of rank 0, except for the last byte. It returns the rank of the
// other side.
func examine(conn io.ReadWriter, secret [32]byte, size int, nonce [nonceBytes]byte) (int, error) {
	var first [len(joinMagic) + 4 + nonceBytes]byte
	if _, err := io.ReadFull(conn, first[:]); err != nil {
		return 0, err
	}
	rank := int(binary.LittleEndian.Uint32(first[len(joinMagic):]))
	if string(first[:len(joinMagic)]) != joinMagic || rank >= size {
		return 0, fmt.Errorf("bootstrap: first bytes %q: %w", first[:len(joinMagic)], ErrMalformed)
	}
	theirs := first[len(joinMagic)+4:]
	if _, err := conn.Write(append(nonce[:], proof(secret, '0', rank, theirs, nonce[:])...)); err != nil {
		return 0, err
	}
	var mac [macBytes]byte
	if _, err := io.ReadFull(conn, mac[:]); err != nil {
		return 0, err
	}
	if !hmac.Equal(mac[:], proof(secret, '1', rank, theirs, nonce[:])) {
		return 0, ErrUnproved
	}
	return rank, nil
}
