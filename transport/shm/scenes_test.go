package shm_test

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// playEcho sends every message back. On the command wordClaim it claims the longest record in the
// inbox of rank 0 and kills itself before it updates the tail.
func playEcho(p *player) error {
	ended := false
	var failed error
	p.onArrive = func(h transport.Header, payload []byte) {
		switch h.A {
		case wordEnd:
			ended = true
			return
		case wordClaim:
			shm.Claim(p.tr, 0, shm.MaxRecord/64, false)
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		}
		if err := p.to0.Send(h, payload); err != nil && failed == nil {
			failed = err
		}
	}
	if err := p.poll(func() bool { return ended || failed != nil }); err != nil {
		return err
	}
	return failed
}

// playSink counts messages, and sends the count on the command wordAnswer.
func playSink(p *player) error {
	ended, count := false, uint64(0)
	p.onArrive = func(h transport.Header, _ []byte) {
		switch h.A {
		case wordEnd:
			ended = true
		case wordAnswer:
			_ = p.to0.Send(transport.Header{A: wordAnswer, B: count}, nil)
			count = 0
		default:
			count++
		}
	}
	return p.poll(func() bool { return ended })
}

// fixedAddress is the address at which playSource maps memory on the command wordFixed. It is the
// same in all processes.
const fixedAddress = 0x5a0000000000

// playSource exposes memory of the requested length and sends its key. It polls, so that it can help
// with shared Gets and make the copies that peers request.
func playSource(p *player) error {
	ended := false
	var keys []transport.Key
	p.onArrive = func(h transport.Header, _ []byte) {
		switch h.A {
		case wordEnd:
			ended = true
		case wordKey, wordFixed:
			memory := pattern(int(h.B), h.C)
			if h.A == wordFixed {
				fixed, err := mapAt(fixedAddress, len(memory))
				if err != nil {
					return
				}
				copy(fixed, memory)
				memory = fixed
			}
			k, err := p.tr.Expose(memory, transport.AccessRead|transport.AccessWrite)
			if err != nil {
				return
			}
			keys = append(keys, k)
			_ = p.to0.Send(transport.Header{A: wordKey, B: k.Addr, C: k.Token}, nil)
		}
	}
	if err := p.poll(func() bool { return ended }); err != nil {
		return err
	}
	for _, k := range keys {
		if err := p.tr.Conceal(k); err != nil {
			return err
		}
	}
	return nil
}

// playSleep sleeps until a message arrives and sends it back.
func playSleep(p *player) error {
	ended := false
	p.onArrive = func(h transport.Header, payload []byte) {
		ended = h.A == wordEnd
		if !ended {
			_ = p.to0.Send(h, payload)
		}
	}
	for !ended {
		if err := sleepOnce(p.tr, p); err != nil {
			return err
		}
	}
	return nil
}

// sleepOnce polls once. If the poll finds nothing, sleepOnce sleeps until something arrives.
func sleepOnce(tr *shm.Transport, h transport.Handler) error {
	n, err := tr.Poll(h, 64)
	if err != nil || n > 0 {
		return err
	}
	ticket := tr.Sleeper().Prepare()
	if tr.Arm() {
		tr.Sleeper().Sleep(ticket, -1)
		tr.Disarm()
	}
	return nil
}
