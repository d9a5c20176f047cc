package certificate

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
)

const (
	// admissionLabel is the HKDF label from which the key of the tags is derived.
	admissionLabel = "gorun tls hello 1"
	// admissionBytes is the length of a nonce and of a tag.
	admissionBytes = 16
	// admissionsKept is the number of nonces that a side remembers.
	admissionsKept = 4096
)

// ErrRepeated reports that a ClientHello has the nonce of an earlier ClientHello, and is therefore a
// replay.
var ErrRepeated = errors.New("the TLS ClientHello has the name of an earlier connection: it is a replay")

// nonce is the random part of a name in a ClientHello (see type admission). The nonce makes each
// name different from all other names.
type nonce [admissionBytes]byte

// admission makes and checks the names (SNI) in a ClientHello: NONCE.TAG in hexadecimal digits,
// where TAG is the HMAC-SHA256 of the nonce, truncated to 16 bytes. A listener checks this name
// before it computes a key exchange and a signature, because these take some hundred times as long
// as the check of the tag. An admission is safe for concurrent use.
type admission struct {
	key []byte

	mu sync.Mutex
	// seen has the last admissionsKept nonces that were admitted. kept has the same nonces in the
	// order of admission, as a circular buffer. When the buffer is full, its oldest entry is at the
	// index next.
	seen map[nonce]struct{}
	kept []nonce
	next int
}

func newAdmission(secret []byte, job string) *admission {
	return &admission{key: negotiation.DeriveKey(secret, job, admissionLabel), seen: map[nonce]struct{}{}}
}

// name returns a new name, which is valid for one connection.
func (a *admission) name() string {
	var n nonce
	_, _ = rand.Read(n[:]) // never fails
	return hex.EncodeToString(n[:]) + "." + hex.EncodeToString(a.tag(n))
}

func (a *admission) tag(n nonce) []byte {
	mac := hmac.New(sha256.New, a.key)
	mac.Write(n[:])
	return mac.Sum(nil)[:admissionBytes]
}

// check admits a valid name unless it is among the last admissionsKept names that were admitted. The
// error is ErrForeign for a name without a valid tag, and ErrRepeated for a nonce that is in seen.
func (a *admission) check(name string) error {
	first, second, _ := strings.Cut(name, ".")
	var n nonce
	said, err := hex.DecodeString(first)
	tag, e := hex.DecodeString(second)
	if err != nil || e != nil || copy(n[:], said) != len(n) || len(said) != len(n) || !hmac.Equal(tag, a.tag(n)) {
		return ErrForeign
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, again := a.seen[n]; again {
		return ErrRepeated
	}
	a.seen[n] = struct{}{}
	if len(a.kept) < admissionsKept {
		a.kept = append(a.kept, n)
		return nil
	}
	delete(a.seen, a.kept[a.next])
	a.kept[a.next] = n
	a.next = (a.next + 1) % admissionsKept
	return nil
}
