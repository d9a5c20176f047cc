package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/runtime"
)

// InterBcast copies the root's buf to the buf of every rank of the other group. The other ranks of
// the root's group do not use buf.
func InterBcast[T any](t *runtime.Intercomm, buf []T, root int) error {
	return interBcastCall(t, buf, root).wait()
}

// InterIBcast starts an InterBcast.
func InterIBcast[T any](t *runtime.Intercomm, buf []T, root int) runtime.Request {
	return interBcastCall(t, buf, root).start()
}

// InterBcastInit sets up an InterBcast.
func InterBcastInit[T any](t *runtime.Intercomm, buf []T, root int) *runtime.Persistent {
	return interBcastCall(t, buf, root).persist()
}

func interBcastCall[T any](t *runtime.Intercomm, buf []T, root int) *interCall {
	k := onInter[T](t, interBcast)
	if !k.from(root) {
		return k
	}
	k.of(len(kernel.Bytes(buf)))
	k.run = func(x *crossing) error {
		if root == Root {
			return pass(x, buf, 0)
		}
		if x.first {
			if err := take(x, buf, root); err != nil {
				return err
			}
		}
		return x.do(bcast(new(call), x.group, buf, 0))
	}
	return k
}
