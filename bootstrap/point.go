package bootstrap

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

// point is the place to meet of ranks that were started by a launcher other than gorun: the addresses of
// rank 0. It also has the secret by which the ranks authenticate each other. Rank 0 makes the point, and
// passes it to the other ranks through the launcher or through a file. No other value is passed in this way.
type point struct {
	secret    [32]byte
	addresses []Address // addresses of rank 0, at least one
}

const (
	pointVersion = 1
	// pointAddressesMax is the largest number of addresses of a point. Because of this bound, an encoded
	// point is short enough for a value in the store of any launcher.
	pointAddressesMax = 32
)

// encode returns the point in URL-safe base64, because every launcher passes these characters on unchanged.
// The encoded bytes are 1 byte version, 32 bytes secret, and 18 bytes for each address.
func (p point) encode() string {
	b := append([]byte{pointVersion}, p.secret[:]...)
	for _, a := range p.addresses[:min(len(p.addresses), pointAddressesMax)] {
		b = append(b, a.IP[:]...)
		b = binary.LittleEndian.AppendUint16(b, a.Port)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parsePoint is the inverse of encode. Its errors do not quote the text, which contains the secret.
func parsePoint(text string) (point, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") || len(b) < 1+32+addressBytes || (len(b)-33)%addressBytes != 0 || (len(b)-33)/addressBytes > pointAddressesMax {
		return point{}, fmt.Errorf("bootstrap: place to meet of %d characters: %w", len(text), ErrMalformed)
	}
	if b[0] != pointVersion {
		return point{}, fmt.Errorf("bootstrap: place to meet of version %d in place of %d: is rank 0 built with another version of gorun? %w", b[0], pointVersion, ErrMalformed)
	}
	p := point{secret: [32]byte(b[1:33])}
	for b = b[33:]; len(b) > 0; b = b[addressBytes:] {
		p.addresses = append(p.addresses, Address{IP: [16]byte(b), Port: binary.LittleEndian.Uint16(b[16:])})
	}
	return p, nil
}
