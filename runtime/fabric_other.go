//go:build !linux || portable

package runtime

import "errors"

// errNoFabric is the reason why the program cannot reach other nodes.
var errNoFabric = errors.New("the network between machines is for Linux")

// openFabric returns errNoFabric.
func (*World) openFabric(bool, [32]byte) (fabric, error) { return nil, errNoFabric }
