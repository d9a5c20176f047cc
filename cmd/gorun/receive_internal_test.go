package main

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// sent returns the frames of a compressed file that is sent in two pieces.
func sent(tb testing.TB, content, hash []byte) []byte {
	tb.Helper()
	z, err := zstd.NewWriter(nil)
	require.NoError(tb, err)
	packed := z.EncodeAll(content, nil)
	half := len(packed) / 2
	return slices.Concat(link.AppendFrame(nil, link.KindFile, []byte{0, 0, 0, 0}, hash), link.AppendFrame(nil, link.KindFileData, packed[:half]),
		link.AppendFrame(nil, link.KindFileData, packed[half:]), link.AppendFrame(nil, link.KindFileData))
}

// inboxOf returns an inbox for one file, with the agents below it, and a buffer that gets what the
// inbox sends to gorun.
func inboxOf(dir string, below ...*safeBuffer) (*inbox, *safeBuffer) {
	var said safeBuffer
	conn := link.NewConn(nil, &said)
	under := newBranches(conn)
	for number, to := range below {
		under.list[number] = &branch{in: link.NewConn(nil, to)}
	}
	b := newInbox(dir, conn, under)
	b.paths = []string{"/bin/prog"}
	return b, &said
}

// takeAll passes a stream of frames to an inbox. For each file, it returns the reason why the file was not
// stored, or "" if it was stored. It checks that the inbox has returned credit for all bytes.
func takeAll(t *testing.T, b *inbox, said *safeBuffer, stream []byte, files int) (why []string) {
	t.Helper()
	require.NoError(t, framesOf(stream, func(k link.Kind, body []byte) error {
		if k == link.KindShare {
			return b.share(body)
		}
		return b.take(k, body)
	}))
	credit := 0
	for len(why) < files {
		goruntime.Gosched()
		require.NoError(t, b.conn.Flush())
		why, credit = nil, 0
		said.mu.Lock()
		require.NoError(t, framesOf(said.text.Bytes(), func(k link.Kind, body []byte) error {
			if k == link.KindCredit {
				_, n, err := link.ParseAmount(body)
				credit += n
				return err
			}
			f, err := link.Decode[link.Filed](body)
			why = append(why, f.Why)
			return err
		}))
		said.mu.Unlock()
	}
	b.close()
	_ = framesOf(stream, func(k link.Kind, body []byte) error {
		if k == link.KindFileData {
			credit -= len(body)
		}
		return nil
	})
	require.Zero(t, credit, "credit is returned for all bytes of the file")
	return why
}

// An inbox stores a file whose hash is right. If it does not store a file, it reports the reason.
func TestFilesArriveWhole(t *testing.T) {
	content := bytes.Repeat([]byte("program"), 1000)
	hash := sha256.Sum256(content)
	whole := sent(t, content, hash[:])
	b, said := inboxOf(t.TempDir())
	require.Equal(t, []string{"", ""}, takeAll(t, b, said, slices.Concat(whole, whole), 2))
	require.Equal(t, "/bin/other", b.local("/bin/other"))
	require.Equal(t, "prog", filepath.Base(b.local("/bin/prog")))
	got, err := os.ReadFile(b.local("/bin/prog"))
	require.NoError(t, err)
	require.Equal(t, content, got)
	garbage := slices.Concat(link.AppendFrame(nil, link.KindFile, []byte{0, 0, 0, 0}, hash[:]), link.AppendFrame(nil, link.KindFileData, []byte("no zstd")), link.AppendFrame(nil, link.KindFileData))
	for name, c := range map[string]struct {
		stream    []byte
		dir, want string
	}{
		"other contents": {sent(t, content[1:], hash[:]), t.TempDir(), "has other contents than were sent"},
		"no directory":   {whole, "", "stores no programs"},
		"a bad one":      {whole, os.DevNull, "-copy: mkdir " + os.DevNull},
		"garbage":        {garbage, t.TempDir(), "-copy: "},
	} {
		b, said := inboxOf(c.dir)
		why := takeAll(t, b, said, c.stream, 1)
		require.Contains(t, why[0], c.want, name)
		require.Equal(t, "/bin/prog", b.local("/bin/prog"), name)
	}
}

// An inbox passes a file on while the file arrives. It passes the file on to exactly those agents below that
// should get it, even if it cannot store the file itself.
func TestFilesArePassedOn(t *testing.T) {
	content := bytes.Repeat([]byte("program"), 1000)
	hash := sha256.Sum256(content)
	whole := sent(t, content, hash[:])
	share := link.AppendFrame(nil, link.KindShare, []byte{0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0})
	for _, dir := range []string{t.TempDir(), ""} {
		var below [3]safeBuffer
		b, said := inboxOf(dir, &below[0], &below[1], &below[2])
		takeAll(t, b, said, slices.Concat(share, whole), 1)
		for number, want := range [][]byte{whole, nil, whole} {
			require.NoError(t, b.below.find(number).in.Flush())
			require.Equal(t, want, below[number].text.Bytes())
		}
	}
}
