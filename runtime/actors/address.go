package actors

import (
	"fmt"
	"math"
	"strings"

	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// address is the address of the actors of a rank in its epoch.
func address(rank int, epoch uint32) string { return port.Address(rank, epoch) }

// parseAddress is the inverse of address. It takes nothing that address does not
// make, and makes no string: every answer to a Future passes here.
func parseAddress(a string) (rank int, epoch uint32, err error) {
	rest, ok := strings.CutPrefix(a, port.AddressPrefix)
	number, life, later := strings.Cut(rest, "@")
	r, fine := parseNumber(number, math.MaxInt32)
	ok = ok && fine
	e := uint64(0)
	if later {
		e, fine = parseNumber(life, math.MaxUint32)
		ok = ok && fine && e > 0
	}
	if !ok {
		return 0, 0, fmt.Errorf("%w: %q", ErrNoRank, a)
	}
	return int(r), uint32(e), nil
}

// parseNumber parses a decimal number up to limit, below 1<<60, as it is written:
// without a sign, and without zeros before it.
func parseNumber(text string, limit uint64) (n uint64, ok bool) {
	if text == "" || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for i := range len(text) {
		digit := text[i] - '0'
		n = n*10 + uint64(digit)
		if digit > 9 || n > limit {
			return 0, false
		}
	}
	return n, true
}
