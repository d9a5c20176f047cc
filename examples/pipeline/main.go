// Command pipeline sends frames through stages on different ranks. Rank 0 makes the frames, the ranks between
// the first and the last rank brighten them, and the last rank checks and counts them. A frame is a message
// in arena memory, which is handed over to the next rank. On a node, the first handover of a frame copies
// nothing. Each further handover costs one copy, because the frame came from another rank. The last stage is
// slow on purpose, so that the outboxes of the earlier stages fill up and their actors wait for credit. The
// credit bounds the memory, and no frame is lost.
//
//	gorun -np 4 ./examples/pipeline -frames 2000
package main

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// frameBytes is the size of a frame in bytes.
const frameBytes = 64 << 10

func main() {
	frames := options.Int("frames", 500, 1, "`number` of frames")
	slow := flag.Duration("slow", 200*time.Microsecond, "how long the last stage takes for a frame")
	options.Parse()
	runtime.Main(func(w *runtime.World) error { return run(w, *frames, *slow) })
}

func run(w *runtime.World, frames int, slow time.Duration) error {
	if w.Size() < 2 {
		return errors.New("a pipeline of one rank: start it with gorun -np 2 or more")
	}
	s, err := actors.Of(w)
	if err != nil {
		return err
	}
	s.EventStream.Subscribe(func(event any) {
		if d, ok := event.(*actors.DeadLetter); ok {
			fmt.Println("lost:", d)
		}
	})
	switch {
	case w.Rank() == 0:
		return source(w, s, frames)
	case w.Rank() < w.Size()-1:
		next := s.PID(w.Rank()+1, "stage")
		_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) { brighten(c, next) }), "stage")
		return err
	default:
		done := make(chan error, 1)
		k := &sink{want: frames, stages: byte(w.Size() - 2), slow: slow, done: done}
		if _, err := s.Spawn(actor.PropsFromProducer(func() actor.Actor { return k }), "stage"); err != nil {
			return err
		}
		return <-done
	}
}

// source makes the frames and sends them to the first stage. Because source runs outside of an actor, its
// Send blocks while there is no credit for the first stage.
func source(w *runtime.World, s *actors.System, frames int) error {
	next := s.PID(1, "stage")
	for i := range frames {
		b, err := runtime.Alloc[byte](w, frameBytes)
		if err != nil {
			return err
		}
		pixels := b.Bytes()
		for j := range pixels {
			pixels[j] = byte(i)
		}
		m, err := runtime.NewMessage(b)
		if err != nil {
			return err
		}
		s.Root.Send(next, m)
	}
	return nil
}

// brighten is the receive function of a stage. It brightens the frame in place and sends the frame to next.
func brighten(c actor.Context, next *actor.PID) {
	m, ok := c.Message().(*runtime.Message)
	if !ok {
		return
	}
	for i, p := range m.Bytes() {
		m.Bytes()[i] = p + 1
	}
	c.Send(next, m)
}

// sink is the actor of the last stage. It counts the frames and checks their pixels, which differ from
// frame to frame. It sends the result to done: nil after the last frame, or the error of the first bad frame.
type sink struct {
	want, got int
	stages    byte
	slow      time.Duration
	done      chan<- error // has room for one result
	over      bool         // the result was sent
}

// Receive implements actor.Actor.
func (k *sink) Receive(c actor.Context) {
	m, ok := c.Message().(*runtime.Message)
	if !ok {
		return
	}
	defer m.Close()
	if k.over {
		return
	}
	time.Sleep(k.slow)
	if err := k.check(m.Bytes()); err != nil || k.got == k.want {
		k.done <- err
		k.over = true
	}
}

// check checks the next frame and counts it.
func (k *sink) check(pixels []byte) error {
	for i, p := range pixels {
		if p != byte(k.got)+k.stages {
			return fmt.Errorf("pixel %d of frame %d is %d", i, k.got, p)
		}
	}
	if k.got++; k.got == k.want {
		fmt.Printf("%d frames through %d brightening stages\n", k.got, k.stages)
	}
	return nil
}
