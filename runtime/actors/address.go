package actors

import (
	"fmt"
	"strconv"
	"strings"
)

// addressPrefix begins the address of every rank.
const addressPrefix = "rank:"

// address is the address of the actors of a rank in its epoch.
func address(rank int, epoch uint32) string {
	a := addressPrefix + strconv.Itoa(rank)
	if epoch > 0 {
		a += "@" + strconv.FormatUint(uint64(epoch), 10)
	}
	return a
}

// parseAddress is the inverse of address. It takes nothing that address does not
// make.
func parseAddress(a string) (rank int, epoch uint32, err error) {
	rest, ok := strings.CutPrefix(a, addressPrefix)
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
