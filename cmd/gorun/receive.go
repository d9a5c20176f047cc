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

// inbox receives the files that the launcher sends to an agent with -copy. It writes them to the directory
// that the agent removes at its end, and forwards them to the agents below that need them. The goroutine that
// reads the link only enqueues the frames, so that a slow host below does not delay the frames for other
// hosts. The launcher's window bounds the queue.
type inbox struct {
	dir   string   // "" if the agent cannot store files
	paths []string // paths on the launcher's machine, by number
	conn  *link.Conn
	below *branches
	queue *frames // read by run, whose goroutine ends after close
	open  bool    // a file is arriving

	mu     sync.Mutex        // guards what follows
	copies map[string]string // path of the copy on this machine, by the path on the launcher's machine
	shared map[int][]int     // by file: the numbers of the commands to forward it to
}

func newInbox(dir string, conn *link.Conn, below *branches) *inbox {
	b := &inbox{dir: dir, conn: conn, below: below, queue: newFrames(), copies: map[string]string{}, shared: map[int][]int{}}
	go b.run()
	return b
}

// close ends the goroutine. No more files may follow.
func (b *inbox) close() { b.queue.put(received{err: io.EOF}) }

// number validates the number of a file.
func (b *inbox) number(i int) error {
	if i >= len(b.paths) {
		return fmt.Errorf("file %d of %d: %w", i, len(b.paths), link.ErrMalformed)
	}
	return nil
}

// share records the commands to which a file will be forwarded.
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

// take checks that frames arrive in order, and enqueues the header of a file, a piece of the file, or the end
// of the file.
func (b *inbox) take(k link.Kind, body []byte) error {
	switch {
	case k == link.KindFileData && !b.open:
		return fmt.Errorf("%d bytes of a file whose header has not come: %w", len(body), link.ErrMalformed)
	case k == link.KindFileData:
		b.open = len(body) > 0
	case b.open:
		return fmt.Errorf("header of a file before the end of another file: %w", link.ErrMalformed)
	case len(body) != 4+sha256.Size:
		return fmt.Errorf("file header of %d bytes: %w", len(body), link.ErrMalformed)
	default:
		if err := b.number(int(binary.LittleEndian.Uint32(body))); err != nil {
			return err
		}
		b.open = true
	}
	b.queue.put(received{kind: k, body: body})
	return nil
}

// run receives the files one after the other.
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

// receive receives one file and forwards it piece by piece. The agents below check its hash as this agent
// does. receive returns the first error that occurred on this host. After an error, it still receives the
// rest of the file.
func (b *inbox) receive(i int, header []byte) error {
	b.mu.Lock()
	to := b.shared[i]
	b.mu.Unlock()
	// The copy keeps the last element of the path, because a program may read its own name there. The first 8
	// bytes of the hash are the name of the copy's directory, because two programs of the same name may
	// differ.
	path, hash := b.paths[i], header[4:]
	name := filepath.Join(b.dir, hex.EncodeToString(hash[:8]), filepath.Base(path))
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := b.unpack(r, name, hash)
		_, _ = io.Copy(io.Discard, r) // after an error the rest is discarded, so that the writer does not block
		done <- err
	}()
	b.pass(to, link.KindFile, header)
	due := 0
	for {
		f := b.queue.take()
		if f.err != nil {
			return errors.Join(w.CloseWithError(f.err), <-done) // close was called before the end of the file
		}
		b.pass(to, link.KindFileData, f.body)
		if len(f.body) == 0 {
			break
		}
		_, _ = w.Write(f.body)
		if due += len(f.body); due > link.FileWindowBytes/8 {
			b.credit(due - 1) // one byte of credit is kept until the file is complete
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

// credit returns credit for n bytes to the launcher's window.
func (b *inbox) credit(n int) {
	b.conn.Send(link.KindCredit, link.Target{}.Append(nil), link.Amount(n))
}

// pass sends a frame to agents below. It skips an agent that has ended. The launcher learns of that end by an
// ExecEnd.
func (b *inbox) pass(to []int, k link.Kind, body []byte) {
	for _, number := range to {
		if r := b.below.find(number); r != nil {
			r.in.Room()
			r.in.Send(k, body)
		}
	}
}

// unpack decompresses a file, writes it and checks its hash.
func (b *inbox) unpack(r io.Reader, name string, hash []byte) error {
	if b.dir == "" {
		return errors.New("-copy: gorun was not copied to this host, and therefore stores no programs here")
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

// local returns the path of the copy of a file on this machine, or path itself if the file was not copied.
func (b *inbox) local(path string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if name, ok := b.copies[path]; ok {
		return name
	}
	return path
}
