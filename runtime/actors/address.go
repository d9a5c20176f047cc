package actors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// address is the address of the actors of a rank in its epoch.
func address(rank int, epoch uint32) string { return port.Address(rank, epoch) }

// parseAddress is the inverse of address. It takes nothing that address does not
// make.
func parseAddress(a string) (rank int, epoch uint32, err error) {
	rest, ok := strings.CutPrefix(a, port.AddressPrefix)
	if !ok {
		return 0, 0, fmt.Errorf("%w: %q", ErrNoRank, a)
	}
	number, life, later := strings.Cut(rest, "@")
	rank, err = strconv.Atoi(number)
	if err == nil && later {
		var e uint64
		e, err = strconv.ParseUint(life, 10, 32)
		epoch = uint32(e)
	}
	if err != nil || rank < 0 || address(rank, epoch) != a {
		return 0, 0, fmt.Errorf("%w: %q", ErrNoRank, a)
	}
	return rank, epoch, nil
}
