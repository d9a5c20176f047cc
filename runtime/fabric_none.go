//go:build linux && gorun_shm && !portable

package runtime

import "errors"

// errNoFabric says why the program reaches no other node.
var errNoFabric = errors.New("the program was built without the network (go build -tags gorun_shm): build it without that tag")

// openFabric opens nothing.
func (*World) openFabric(bool, [32]byte) (fabric, error) { return nil, errNoFabric }
