package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/runtime"
)

// InterScatter copies block i of the root's send to recv of rank i of the other group, for all i.
func InterScatter[T any](t *runtime.Intercomm, send, recv []T, root int) error {
	return interScatterCall(t, send, recv, root).wait()
}

// InterIScatter starts an InterScatter.
func InterIScatter[T any](t *runtime.Intercomm, send, recv []T, root int) runtime.Request {
	return interScatterCall(t, send, recv, root).start()
}

// InterScatterInit sets up an InterScatter.
func InterScatterInit[T any](t *runtime.Intercomm, send, recv []T, root int) *runtime.Persistent {
	return interScatterCall(t, send, recv, root).persist()
}

func interScatterCall[T any](t *runtime.Intercomm, send, recv []T, root int) *interCall {
	k := onInter[T](t, interScatter)
	if !k.from(root) {
		return k
	}
	block := recv
	if root == Root {
		block = interBlock(k, "send", send)
	}
	k.of(len(kernel.Bytes(block)))
	k.run = func(x *crossing) error {
		if root == Root {
			return pass(x, send, 0)
		}
		all := firstOnly[T](x, len(recv)*x.group.Size())
		if x.first {
			if err := take(x, all, root); err != nil {
				return err
			}
		}
		return x.do(scatter(new(call), x.group, all, recv, 0))
	}
	return k
}
