package actors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// address is the address of the actors of a rank in its epoch.
func address(rank int, epoch uint32) string { return port.Address(rank, epoch) }

// parseAddress is the inverse of address. It accepts only what address makes. It allocates no
// string, because every answer to a Future calls it.
func parseAddress(a string) (rank int, epoch uint32, err error) {
	rest, ok := strings.CutPrefix(a, port.AddressPrefix)
	number, life, later := strings.Cut(rest, "@")
	r, fine := parseNumber(number, 31)
	ok = ok && fine
	e := uint64(0)
	if later {
		e, fine = parseNumber(life, 32)
		ok = ok && fine && e > 0
	}
	if !ok {
		return 0, 0, fmt.Errorf("%w: %q", ErrNoRank, a)
	}
	return int(r), uint32(e), nil
}

// parseNumber parses a decimal number of at most this many bits, without sign or leading
// zeros.
func parseNumber(text string, bits int) (n uint64, ok bool) {
	n, err := strconv.ParseUint(text, 10, bits)
	return n, err == nil && (text[0] != '0' || len(text) == 1)
}
