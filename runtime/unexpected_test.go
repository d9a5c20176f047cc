package runtime_test

import (
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["unexpected"] = func() { runtime.Main(unexpected) }
}

// unexpectedEach is the length in bytes of a message of the flood. Messages of this length are sent
// eagerly.
const unexpectedEach = 8 << 10

// envUnexpected has the number of messages.
const envUnexpected = "GORUN_TEST_UNEXPECTED"

// unexpected makes rank 1 flood rank 0. Rank 0 begins to receive the messages of the flood after rank 1 has started
// all their sends. Rank 0 prints the largest growth of its heap in bytes.
func unexpected(w *runtime.World) error {
	messages, err := strconv.Atoi(os.Getenv(envUnexpected))
	if err != nil {
		return err
	}
	c, payload := w.Comm(), make([]byte, unexpectedEach+256)
	if c.Rank() == 1 {
		for i := range payload {
			payload[i] = byte(i)
		}
		requests := make([]runtime.Request, messages)
		for i := range requests {
			requests[i] = runtime.Isend(c, payload[i%256:][:unexpectedEach], 0, 1)
		}
		if err := runtime.Send(c, payload[:1], 0, 2); err != nil {
			return err
		}
		for _, r := range requests {
			if _, err := r.Wait(); err != nil {
				return err
			}
		}
		return nil
	}
	goruntime.GC()
	before := held()
	if _, err := runtime.Recv(c, payload, 1, 2); err != nil {
		return err
	}
	most := held() - before
	for i := range messages {
		s, err := runtime.Recv(c, payload, 1, 1)
		if err != nil {
			return err
		}
		if s.Bytes != unexpectedEach || payload[0] != byte(i) || payload[unexpectedEach-1] != byte(i-1) {
			return fmt.Errorf("message %d: %d bytes, from %d to %d", i, s.Bytes, payload[0], payload[unexpectedEach-1])
		}
		if i%512 == 0 {
			most = max(most, held()-before)
		}
	}
	fmt.Println("grown by", max(most, held()-before))
	return nil
}

// held returns the number of bytes that the heap has from the operating system.
func held() int {
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int(m.HeapSys - m.HeapReleased)
}

// TestUnexpectedMessagesKeepToTheBudget: rank 1 floods rank 0 with unexpected messages whose total
// length exceeds the budget of 64 MiB. With either transport, the memory of rank 0 grows at most by
// the budget, a record for each message, and an overhead. The garbage collector and the pool of
// receives cause the overhead.
func TestUnexpectedMessagesKeepToTheBudget(t *testing.T) {
	const budget, slack, record = 64 << 20, 16 << 20, 512
	if testing.Short() {
		t.Skip("a flood through programs: without -short")
	}
	total := 160 << 20
	if soak() {
		total = 1 << 30
	}
	messages := total / unexpectedEach
	for _, way := range []string{"shm", "rdma"} {
		t.Run(way, func(t *testing.T) {
			r := launch(t, 2, "unexpected", "-transport", way, "-x", envUnexpected+"="+strconv.Itoa(messages))
			require.Zero(t, r.code, r.errors)
			var grown int
			_, err := fmt.Sscanf(r.out, "grown by %d", &grown)
			require.NoError(t, err, r.out)
			t.Logf("%d MiB of messages, the heap grew by %d MiB", total>>20, grown>>20)
			require.LessOrEqual(t, grown, budget+slack+messages*record)
		})
	}
}
