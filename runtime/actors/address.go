package actors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// parseAddress is the inverse of port.Address. It accepts exactly the addresses of the ranks from 0 to 1<<31 - 1.
// If the address is valid, parseAddress allocates no memory. This matters because resolve calls parseAddress for
// each new *actor.PID of another rank, except the PIDs of futures in the cache (remoteFutures).
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

// parseNumber parses a decimal number. The argument bits is the largest length of the number in bits.
// parseNumber accepts neither a sign nor leading zeros.
func parseNumber(text string, bits int) (n uint64, ok bool) {
	n, err := strconv.ParseUint(text, 10, bits)
	return n, err == nil && (text[0] != '0' || len(text) == 1)
}
