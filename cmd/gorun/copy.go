package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// installWord starts the line by which the script below says where it will put gorun.
const installWord = "gorun-copy "

// installScript is for the shell of a host. It is sent as the shell's input, since no
// quoting suits both commands that have a shell at their end and those that have none.
// It takes %d bytes of its input, and no more are sent before it has said its line. The
// shell removes the directory, which is its user's alone (mktemp(1)), unless gorun takes its
// place, which removes it itself. The umask remains that of the login: ranks inherit it.
const installScript = `d=$(mktemp -d "${TMPDIR:-/tmp}/` + scratchPrefix + `XXXXXXXX") && trap 'rm -rf "$d"' EXIT && ` +
	`echo "` + installWord + `$d" && head -c %d | gzip -dc >"$d/gorun" && chmod 700 "$d/gorun" && exec "$d/gorun" ` + agentCommand + ` "$d"; exit` + "\n"

// packedGorun returns this executable in a form that every host can unpack.
var packedGorun = sync.OnceValues(func() ([]byte, error) {
	f, err := os.Open(ownFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var to bytes.Buffer
	w, err := gzip.NewWriterLevel(&to, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(w, f)
	}
	if err == nil {
		err = w.Close()
	}
	return to.Bytes(), err
})

// install sends gorun to the host's shell, which starts it.
func install(in *bufio.Reader, out io.Writer) error {
	packed, err := packedGorun()
	if err != nil {
		return fmt.Errorf("gorun cannot be copied: %w", err)
	}
	if _, err := fmt.Fprintf(out, installScript, len(packed)); err != nil {
		return err
	}
	line, err := readLine(in)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, installWord) {
		return &link.NoiseError{Said: []byte(line)}
	}
	_, err = out.Write(packed)
	return err
}

// installLineMax bounds the line of the script.
const installLineMax = 4096

func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for len(line) < installLineMax {
		b, err := in.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && len(line) > 0:
			return "", &link.NoiseError{Said: line}
		case err != nil:
			return "", err
		case b == '\n':
			return string(line), nil
		}
		line = append(line, b)
	}
	return "", &link.NoiseError{Said: line}
}

// packed returns a file compressed; it is read once for all hosts.
func (f *files) pack(i int) ([]byte, error) {
	f.packing.Lock()
	defer f.packing.Unlock()
	if f.packed[i] != nil {
		return f.packed[i], nil
	}
	from, err := os.Open(f.paths[i])
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	var to bytes.Buffer
	w, err := zstd.NewWriter(&to, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err == nil {
		_, err = io.Copy(w, from)
	}
	if err == nil {
		err = w.Close()
	}
	f.packed[i] = to.Bytes()
	return f.packed[i], err
}

// sendFiles sends the programs that the host does not have at the same path with the same
// contents.
func (h *host) sendFiles() error {
	f := h.job.files
	if len(h.hello.Programs) != len(f.paths) {
		return fmt.Errorf("host %s: %d of %d files were compared: %w", h.name, len(h.hello.Programs), len(f.paths), link.ErrMalformed)
	}
	for i, there := range h.hello.Programs {
		if bytes.Equal(there.Hash, f.digests[i].Hash) {
			continue
		}
		packed, err := f.pack(i)
		if err != nil {
			return fmt.Errorf("-copy: %w", err)
		}
		h.job.say("host %s: sending %s, %d bytes compressed", h.name, f.paths[i], len(packed))
		number := binary.LittleEndian.AppendUint32(nil, uint32(i))
		h.conn.Send(link.KindFile, number, f.digests[i].Hash)
		for len(packed) > 0 {
			n := min(len(packed), link.ChunkBytesMax)
			h.conn.Room()
			h.conn.Send(link.KindFileData, packed[:n])
			packed = packed[n:]
		}
		h.conn.Send(link.KindFileData)
	}
	return nil
}
