package runtime_test

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/runtime"
)

// Local runs ranks as goroutines, so that a program can be tested without a launcher.
func ExampleLocal() {
	err := runtime.Local(3, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() > 0 {
			return runtime.Send(c, []float64{float64(c.Rank()), 0.5}, 0, 7)
		}
		sum, pair := 0.0, make([]float64, 2)
		for range c.Size() - 1 {
			if _, err := runtime.Recv(c, pair, runtime.AnySource, 7); err != nil {
				return err
			}
			sum += pair[0] + pair[1]
		}
		fmt.Println("sum", sum)
		return nil
	})
	fmt.Println(err)
	// Output:
	// sum 4
	// <nil>
}

// A test should run its program with several numbers of ranks.
func ExampleLocal_sizes() {
	ring := func(w *runtime.World) error {
		c := w.Comm()
		next, previous := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		sum, token := 0, []int{c.Rank()}
		for range c.Size() {
			sum += token[0]
			if _, err := runtime.SendRecvReplace(c, token, next, 0, previous, 0); err != nil {
				return err
			}
		}
		if want := c.Size() * (c.Size() - 1) / 2; sum != want {
			return fmt.Errorf("sum is %d, want %d", sum, want)
		}
		return nil
	}
	for _, ranks := range []int{1, 2, 5} {
		fmt.Println(ranks, runtime.Local(ranks, ring))
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 5 <nil>
}

// The failure of a rank ends the other ranks, and the error names the rank and its cause.
func ExampleRankError() {
	errNoInput := errors.New("no input")
	err := runtime.Local(2, func(w *runtime.World) error {
		if w.Rank() == 1 {
			return errNoInput
		}
		_, err := runtime.Recv(w.Comm(), make([]int, 1), 1, 0) // rank 1 never sends
		return err
	})
	var failure *runtime.RankError
	if errors.As(err, &failure) {
		fmt.Println("rank", failure.Rank, "failed:", failure.Err)
	}
	fmt.Println(errors.Is(err, errNoInput))
	// Output:
	// rank 1 failed: no input
	// true
}

// A rank ends the whole job, and operations of the other ranks end with an AbortError.
func ExampleWorld_Abort() {
	err := runtime.Local(2, func(w *runtime.World) error {
		if w.Rank() == 1 {
			w.Abort(3)
			return nil
		}
		_, err := runtime.Recv(w.Comm(), make([]int, 1), 1, 0) // rank 1 never sends
		return err
	})
	var aborted *runtime.AbortError
	if errors.As(err, &aborted) {
		fmt.Println("rank", aborted.Rank, "ended the job with exit code", aborted.Code)
	}
	// Output:
	// rank 1 ended the job with exit code 3
}

// Any type without pointers can be an element: here a slice of structs is sent.
func ExampleSend() {
	type particle struct {
		Mass     float64
		Position [3]float32
	}
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 0 {
			return runtime.Send(c, []particle{{1, [3]float32{0, 1, 2}}, {2.5, [3]float32{3, 4, 5}}}, 1, 0)
		}
		got := make([]particle, 2)
		_, err := runtime.Recv(c, got, 0, 0)
		fmt.Println(got)
		return err
	})
	fmt.Println(err)
	// Output:
	// [{1 [0 1 2]} {2.5 [3 4 5]}]
	// <nil>
}

// The buffer may be longer than the message. The status reports how many elements have arrived.
func ExampleRecv() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 1 {
			return runtime.Send(c, []int32{5, 6, 7}, 0, 9)
		}
		buf := make([]int32, 100)
		status, err := runtime.Recv(c, buf, runtime.AnySource, runtime.AnyTag)
		if err != nil {
			return err
		}
		fmt.Println("rank", status.Source, "tag", status.Tag, buf[:status.Count()])
		return nil
	})
	fmt.Println(err)
	// Output:
	// rank 1 tag 9 [5 6 7]
	// <nil>
}

// Every rank sends its number to its right neighbour and receives the number of its left neighbour.
func ExampleSendRecv() {
	err := runtime.Local(4, func(w *runtime.World) error {
		c := w.Comm()
		right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		got := make([]int, 1)
		_, err := runtime.SendRecv(c, []int{c.Rank()}, right, 0, got, left, 0)
		fmt.Println("rank", c.Rank(), "has", got[0])
		return err
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 has 3
	// rank 1 has 0
	// rank 2 has 1
	// rank 3 has 2
	// <nil>
}

// Two ranks send to each other at the same time, and neither waits for the other to receive.
func ExampleIsend() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		other := 1 - c.Rank()
		mine, theirs := make([]float64, 1<<16), make([]float64, 1<<16)
		mine[0] = float64(c.Rank()) + 0.5
		send := runtime.Isend(c, mine, other, 0)
		if _, err := runtime.Recv(c, theirs, other, 0); err != nil {
			return err
		}
		if _, err := send.Wait(); err != nil { // afterwards mine may be changed
			return err
		}
		fmt.Println("rank", c.Rank(), "got", theirs[0])
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 got 1.5
	// rank 1 got 0.5
	// <nil>
}

// Receives in flight are handled in the order in which they complete.
func ExampleWaitAny() {
	err := runtime.Local(4, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() > 0 {
			return runtime.Send(c, []int{c.Rank() * c.Rank()}, 0, 0)
		}
		results := make([]int, c.Size()-1)
		var requests []runtime.Request
		for i := range results {
			requests = append(requests, runtime.Irecv(c, results[i:i+1], i+1, 0))
		}
		for range requests {
			i, status, err := runtime.WaitAny(requests)
			if err != nil {
				return err
			}
			fmt.Println("rank", status.Source, "has computed", results[i])
		}
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 1 has computed 1
	// rank 2 has computed 4
	// rank 3 has computed 9
	// <nil>
}

// A probe returns the length of a message, so that a buffer of that length can be allocated.
func ExampleProbe() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 1 {
			return runtime.Send(c, []int32{2, 3, 5, 7, 11}, 0, 4)
		}
		status, err := runtime.Probe(c, runtime.AnySource, runtime.AnyTag)
		if err != nil {
			return err
		}
		primes := make([]int32, runtime.CountOf[int32](status))
		_, err = runtime.Recv(c, primes, status.Source, status.Tag)
		fmt.Println("rank", status.Source, "tag", status.Tag, primes)
		return err
	})
	fmt.Println(err)
	// Output:
	// rank 1 tag 4 [2 3 5 7 11]
	// <nil>
}

// Two persistent operations, set up once, exchange a value in every step of a loop.
func ExampleStartAll() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		other := 1 - c.Rank()
		mine, theirs := []float64{float64(c.Rank())}, make([]float64, 1)
		send, receive := runtime.SendInit(c, mine, other, 0), runtime.RecvInit(c, theirs, other, 0)
		defer send.Close()
		defer receive.Close()
		for range 3 {
			if err := runtime.StartAll([]*runtime.Persistent{send, receive}); err != nil {
				return err
			}
			_, sendErr := send.Wait()
			_, receiveErr := receive.Wait()
			if err := errors.Join(sendErr, receiveErr); err != nil {
				return err
			}
			mine[0] += theirs[0] / 2
		}
		fmt.Println("rank", c.Rank(), "ends with", mine[0])
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// rank 0 ends with 1.625
	// rank 1 ends with 1.75
	// <nil>
}

// SendStrided sends a column of a matrix, which the program need not copy into a slice first.
func ExampleSendStrided() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 0 {
			matrix := []int{
				1, 2, 3,
				4, 5, 6,
			}
			column := runtime.Strided{Count: 2, Block: 1, Stride: 3}
			return runtime.SendStrided(c, matrix[2:], column, 1, 0)
		}
		got := make([]int, 2)
		_, err := runtime.Recv(c, got, 0, 0)
		fmt.Println(got)
		return err
	})
	fmt.Println(err)
	// Output:
	// [3 6]
	// <nil>
}

// A message is received into a column of a matrix.
func ExampleRecvStrided() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 0 {
			return runtime.Send(c, []int{7, 8, 9}, 1, 0)
		}
		const columns = 4
		matrix := make([]int, 3*columns)
		column := runtime.Strided{Count: 3, Block: 1, Stride: columns}
		_, err := runtime.RecvStrided(c, matrix[1:], column, 0, 0)
		for row := range 3 {
			fmt.Println(matrix[row*columns : (row+1)*columns])
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// [0 7 0 0]
	// [0 8 0 0]
	// [0 9 0 0]
	// <nil>
}

// A Buffer is handed over: on one node the receiver reads the memory that the sender wrote.
func ExampleSendBuffer() {
	err := runtime.Local(2, func(w *runtime.World) error {
		c := w.Comm()
		if c.Rank() == 0 {
			b, err := runtime.Alloc[float64](w, 1<<20)
			if err != nil {
				return err
			}
			defer b.Close() // does nothing after the Buffer was sent
			values := runtime.View[float64](b)
			for i := range values {
				values[i] = float64(i)
			}
			if err := runtime.SendBuffer[float64](c, b, 1, 0); err != nil {
				return err
			}
			again := runtime.SendBuffer[float64](c, b, 1, 0)
			fmt.Println("sent twice:", errors.Is(again, runtime.ErrBuffer))
			return nil
		}
		m, err := runtime.RecvMessage(c, 0, 0)
		if err != nil {
			return err
		}
		defer m.Close() // returns the memory to rank 0
		values := runtime.View[float64](m.Buffer())
		fmt.Println(len(values), "values, the last is", values[len(values)-1])
		return nil
	})
	fmt.Println(err)
	// Unordered output:
	// sent twice: true
	// 1048576 values, the last is 1.048575e+06
	// <nil>
}
