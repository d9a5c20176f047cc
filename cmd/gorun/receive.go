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

	"github.com/klauspost/compress/zstd"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// inbox takes the files that gorun sends to an agent with -copy, into the directory that the
// agent removes at its end.
type inbox struct {
	dir    string            // "" if nothing can be taken
	paths  []string          // on gorun's machine, by number
	copies map[string]string // what stands for a path of these
	into   *io.PipeWriter    // the file that is arriving, nil for none
	done   chan error        // its end
	err    error             // the first
}

// begin takes the header of a file: its number and hash.
func (b *inbox) begin(body []byte) error {
	if len(body) != 4+sha256.Size || b.into != nil {
		return fmt.Errorf("header of a file of %d bytes: %w", len(body), link.ErrMalformed)
	}
	i := int(binary.LittleEndian.Uint32(body))
	if i >= len(b.paths) {
		return fmt.Errorf("file %d of %d: %w", i, len(b.paths), link.ErrMalformed)
	}
	path, hash := b.paths[i], bytes.Clone(body[4:])
	r, w := io.Pipe()
	b.into, b.done = w, make(chan error, 1)
	// A program finds its own name in the last element of its path, and two of the same name
	// may differ.
	name := filepath.Join(b.dir, hex.EncodeToString(hash[:8]), filepath.Base(path))
	if b.copies == nil {
		b.copies = map[string]string{}
	}
	b.copies[path] = name
	go func() {
		err := b.unpack(r, name, hash)
		_, _ = io.Copy(io.Discard, r) // after an error nobody waits for the sender
		b.done <- err
	}()
	return nil
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

// data takes a piece of a file, or its end.
func (b *inbox) data(piece []byte) error {
	switch {
	case b.into == nil:
		return fmt.Errorf("%d bytes of no file: %w", len(piece), link.ErrMalformed)
	case len(piece) > 0:
		_, err := b.into.Write(piece)
		return err
	}
	err := errors.Join(b.into.Close(), <-b.done)
	b.into = nil
	if b.err == nil {
		b.err = err // reported in answer to the plan
	}
	return nil
}

// local returns what stands for a path of gorun's machine here.
func (b *inbox) local(path string) string {
	if name, ok := b.copies[path]; ok {
		return name
	}
	return path
}
