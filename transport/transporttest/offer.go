package transporttest

import (
	"encoding/binary"

	"github.com/gorun-hpc/gorun/transport"
)

// appendOffer appends a key and a length, together 24 bytes, to b.
func appendOffer(b []byte, k transport.Key, n int) []byte {
	b = binary.LittleEndian.AppendUint64(b, k.Addr)
	b = binary.LittleEndian.AppendUint64(b, k.Token)
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}

// parseOffer returns what appendOffer wrote.
func parseOffer(b []byte) (transport.Key, int) {
	k := transport.Key{Addr: binary.LittleEndian.Uint64(b), Token: binary.LittleEndian.Uint64(b[8:])}
	return k, int(binary.LittleEndian.Uint64(b[16:]))
}
