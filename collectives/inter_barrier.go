package collectives

import "github.com/gorun-hpc/gorun/runtime"

// InterBarrier returns when all ranks of both groups have called it.
func InterBarrier(t *runtime.Intercomm) error { return interBarrierCall(t).wait() }

// InterIBarrier starts an InterBarrier.
func InterIBarrier(t *runtime.Intercomm) runtime.Request {
	return interBarrierCall(t).start()
}

// InterBarrierInit sets up an InterBarrier.
func InterBarrierInit(t *runtime.Intercomm) *runtime.Persistent {
	return interBarrierCall(t).persist()
}

func interBarrierCall(t *runtime.Intercomm) *interCall {
	k := onInter[byte](t, interBarrier)
	k.run = func(x *crossing) error {
		if err := x.do(barrier(new(call), x.group)); err != nil {
			return err
		}
		if x.first {
			if err := swap(x, []byte(nil), nil); err != nil {
				return err
			}
		}
		return x.do(barrier(new(call), x.group))
	}
	return k
}
