//go:build !linux || portable

package runtime

import "errors"

// errNoFabric says why the program reaches no other node.
var errNoFabric = errors.New("the network between machines is for Linux")

// providerName is that of no provider.
const providerName = "none"

// openFabric opens nothing.
func (*World) openFabric(bool, []byte) (fabric, error) { return nil, errNoFabric }
