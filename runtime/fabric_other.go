//go:build !linux || portable

package runtime

import "errors"

// errNoFabric is the reason why the program cannot reach other nodes.
var errNoFabric = errors.New("connections to other nodes need Linux and a build without the tag portable")

// openFabric returns errNoFabric.
func (*World) openFabric(bool, [32]byte) (fabric, error) { return nil, errNoFabric }
