package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/elf"
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

// packed is a file that was read once.
type packed struct {
	bytes []byte // compressed
	hash  []byte // SHA-256 of what is not
	err   error
}

// ownPacked is this executable in a form that every host can unpack.
var ownPacked = sync.OnceValue(func() (p packed) {
	f, err := os.Open(ownFile)
	if err != nil {
		return packed{err: err}
	}
	defer func() { _ = f.Close() }()
	var to bytes.Buffer
	sum := sha256.New()
	w, err := gzip.NewWriterLevel(&to, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(io.MultiWriter(w, sum), f)
	}
	if err == nil {
		err = w.Close()
	}
	return packed{to.Bytes(), sum.Sum(nil), err}
})

// packedGorun returns ownPacked and the hash of the executable.
func packedGorun() (text, hash []byte, err error) {
	p := ownPacked()
	return p.bytes, p.hash, p.err
}

// install sends gorun to the host's shell, which starts it. hash is the one that gorun has to
// have, nil for any.
func install(in *bufio.Reader, out io.Writer, hash []byte) error {
	packed, own, err := packedGorun()
	if err == nil && hash != nil && !bytes.Equal(own, hash) {
		err = errors.New("the gorun of this host is another one")
	}
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

// loaderRemedy says what an executable needs on another host to be run there, "" if nothing.
func loaderRemedy(path string) string {
	executable, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = executable.Close() }()
	for _, p := range executable.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > loaderBytesMax {
			continue
		}
		loader, err := io.ReadAll(p.Open())
		if err != nil {
			return ""
		}
		return fmt.Sprintf("; this gorun is linked with the C library and needs its %s there: one that is built with CGO_ENABLED=0 needs nothing", bytes.TrimRight(loader, "\x00"))
	}
	return ""
}

// loaderBytesMax bounds the path of a loader.
const loaderBytesMax = 4096

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

// pack returns a file compressed; it is read once for all hosts.
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
	if err != nil {
		return nil, err // and not what there is of it, to the next host either
	}
	f.packed[i] = to.Bytes()
	return f.packed[i], nil
}
