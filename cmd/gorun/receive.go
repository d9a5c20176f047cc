package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// inbox takes the files that gorun sends to an agent with -copy, into the directory that the
// agent removes at its end, and passes them on to the agents below that are to have them. The
// goroutine that reads the link only queues what arrives: a slow host below must not delay the
// frames to the others. gorun's window bounds the queue.
type inbox struct {
	dir   string   // "" if nothing can be taken
	paths []string // on gorun's machine, by number
	conn  *link.Conn
	below *branches
	queue *frames // for the goroutine that takes the files, which ends with close
	open  bool    // a file is arriving

	mu     sync.Mutex        // guards what follows
	copies map[string]string // what stands for a path of gorun's machine
	shared map[int][]int     // the commands that a file is passed on to
}

func newInbox(dir string, conn *link.Conn, below *branches) *inbox {
	b := &inbox{dir: dir, conn: conn, below: below, queue: newFrames(), copies: map[string]string{}, shared: map[int][]int{}}
	go b.run()
	return b
}

// close ends the goroutine. No file follows.
func (b *inbox) close() { b.queue.put(received{err: io.EOF}) }

// number checks the number of a file.
func (b *inbox) number(i int) error {
	if i >= len(b.paths) {
		return fmt.Errorf("file %d of %d: %w", i, len(b.paths), link.ErrMalformed)
	}
	return nil
}

// share takes the commands that a file will be passed on to.
func (b *inbox) share(body []byte) error {
	numbers, err := link.ParseNumbers(body)
	if err == nil {
		err = b.number(numbers[0])
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shared[numbers[0]] = numbers[1:]
	return nil
}

// take takes the header of a file, a piece of it, or its end.
func (b *inbox) take(k link.Kind, body []byte) error {
	switch {
	case k == link.KindFileData && !b.open:
		return fmt.Errorf("%d bytes of no file: %w", len(body), link.ErrMalformed)
	case k == link.KindFileData:
		b.open = len(body) > 0
	case len(body) != 4+sha256.Size || b.open:
		return fmt.Errorf("header of a file of %d bytes: %w", len(body), link.ErrMalformed)
	default:
		if err := b.number(int(binary.LittleEndian.Uint32(body))); err != nil {
			return err
		}
		b.open = true
	}
	b.queue.put(received{kind: k, body: body})
	return nil
}

// run takes the files one after the other.
func (b *inbox) run() {
	for {
		f := b.queue.take()
		if f.err != nil {
			return
		}
		i := int(binary.LittleEndian.Uint32(f.body))
		why := ""
		if err := b.receive(i, f.body); err != nil {
			why = err.Error()
		}
		b.conn.Send(link.KindFiled, link.Encode(link.Filed{Number: i, Why: why}))
	}
}

// receive takes one file, and passes it on piece by piece. The agents below check its hash as
// this one does. The error is the first one here; the whole file is taken in any case.
func (b *inbox) receive(i int, header []byte) error {
	b.mu.Lock()
	to := b.shared[i]
	b.mu.Unlock()
	// A program finds its own name in the last element of its path, and two of the same name
	// may differ.
	path, hash := b.paths[i], header[4:]
	name := filepath.Join(b.dir, hex.EncodeToString(hash[:8]), filepath.Base(path))
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := b.unpack(r, name, hash)
		_, _ = io.Copy(io.Discard, r) // after an error nobody waits for the sender
		done <- err
	}()
	b.pass(to, link.KindFile, header)
	due := 0
	for {
		f := b.queue.take()
		if f.err != nil {
			return errors.Join(w.CloseWithError(f.err), <-done) // the agent ends
		}
		b.pass(to, link.KindFileData, f.body)
		if len(f.body) == 0 {
			break
		}
		_, _ = w.Write(f.body)
		if due += len(f.body); due > link.FileWindowBytes/8 {
			b.credit(due - 1) // the last byte is due until the file is there
			due = 1
		}
	}
	err := errors.Join(w.Close(), <-done)
	b.credit(due)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.copies[path] = name
	}
	return err
}

// credit returns bytes to gorun's window.
func (b *inbox) credit(n int) {
	b.conn.Send(link.KindCredit, link.Target{}.Append(nil), link.Amount(n))
}

// pass sends a frame to agents below. One that has ended is skipped: gorun knows of it.
func (b *inbox) pass(to []int, k link.Kind, body []byte) {
	for _, number := range to {
		if r := b.below.find(number); r != nil {
			r.in.Room()
			r.in.Send(k, body)
		}
	}
}

// unpack writes a file from its compressed bytes.
func (b *inbox) unpack(r io.Reader, name string, hash []byte) error {
	if b.dir == "" {
		return errors.New("-copy: gorun was not copied to this host, and takes no programs")
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("-copy: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return fmt.Errorf("-copy: %w", err)
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return errors.Join(fmt.Errorf("-copy: %w", err), f.Close())
	}
	defer z.Close()
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), z)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("-copy: %s: %w", name, err)
	}
	if !bytes.Equal(sum.Sum(nil), hash) {
		return fmt.Errorf("-copy: %s has other contents than were sent", name)
	}
	return nil
}

// local returns what stands for a path of gorun's machine here.
func (b *inbox) local(path string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if name, ok := b.copies[path]; ok {
		return name
	}
	return path
}
