package runtime_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["huge"] = func() { runtime.Main(fiveGibibytes) }
}

// fiveGibibytes makes rank 0 send rank 1 a message of 5 GiB, a length that does not fit in 32 bits.
func fiveGibibytes(w *runtime.World) error {
	const n = 5 << 30 / 8
	c, buf := w.Comm(), make([]uint64, n)
	if c.Rank() == 0 {
		for i := range buf {
			buf[i] = uint64(i) * 0x9e3779b97f4a7c15
		}
		return runtime.Send(c, buf, 1, 0)
	}
	s, err := runtime.Recv(c, buf, 0, 0)
	if err != nil {
		return err
	}
	if s.Count() != n || s.Bytes != 8*n {
		return fmt.Errorf("%d elements, %d bytes", s.Count(), s.Bytes)
	}
	for i := range buf {
		if buf[i] != uint64(i)*0x9e3779b97f4a7c15 {
			return errors.New("wrong word")
		}
	}
	return nil
}

// A message of 5 GiB arrives complete between processes (MPICH's pt2pt/large_message.c): copied by
// process_vm_readv, through shared memory, and by RDMA Reads of at most 1 MiB.
func TestFiveGibibytesBetweenProcesses(t *testing.T) {
	if !soak() {
		t.Skip("needs GORUN_SOAK=1 and 12 GiB of memory")
	}
	for name, options := range map[string][]string{
		"kernel copy":   {"-x", "GORUN_CMA=1"},
		"shared memory": {"-x", "GORUN_CMA=0"},
		"rdma":          {"-transport", "rdma"},
	} {
		t.Run(name, func(t *testing.T) {
			r := launch(t, 2, "huge", options...)
			require.Zero(t, r.code, r.errors)
		})
	}
}
