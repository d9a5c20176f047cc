//go:build !linux || portable

package runtime

import "errors"

// errNoFabric says why the program reaches no other node.
var errNoFabric = errors.New("the network between machines is for Linux")

// openFabric opens nothing.
func (*World) openFabric(bool, [32]byte) (fabric, error) { return nil, errNoFabric }
