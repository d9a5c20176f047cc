package main

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// sent are the frames of a file.
func sent(tb testing.TB, content, hash []byte) []byte {
	tb.Helper()
	z, err := zstd.NewWriter(nil)
	require.NoError(tb, err)
	packed := z.EncodeAll(content, nil)
	half := len(packed) / 2
	return slices.Concat(link.AppendFrame(nil, link.KindFile, []byte{0, 0, 0, 0}, hash), link.AppendFrame(nil, link.KindFileData, packed[:half]),
		link.AppendFrame(nil, link.KindFileData, packed[half:]), link.AppendFrame(nil, link.KindFileData))
}

func TestFilesArriveWhole(t *testing.T) {
	content := bytes.Repeat([]byte("program"), 1000)
	hash := sha256.Sum256(content)
	whole := sent(t, content, hash[:])
	take := func(stream []byte, dir string) *inbox {
		b := &inbox{dir: dir, paths: []string{"/bin/prog"}}
		require.NoError(t, framesOf(stream, func(k link.Kind, body []byte) error {
			if k == link.KindFile {
				return b.begin(body)
			}
			return b.data(body)
		}))
		return b
	}
	b := take(slices.Concat(whole, whole), t.TempDir())
	require.NoError(t, b.err)
	require.Equal(t, "/bin/other", b.local("/bin/other"))
	require.Equal(t, "prog", filepath.Base(b.local("/bin/prog")))
	got, err := os.ReadFile(b.local("/bin/prog"))
	require.NoError(t, err)
	require.Equal(t, content, got)

	require.ErrorContains(t, take(sent(t, content[1:], hash[:]), t.TempDir()).err, "has other contents than were sent")
	require.ErrorContains(t, take(whole, "").err, "takes no programs")
	require.ErrorContains(t, take(whole, os.DevNull).err, "-copy: mkdir "+os.DevNull)
	garbage := slices.Concat(link.AppendFrame(nil, link.KindFile, []byte{0, 0, 0, 0}, hash[:]), link.AppendFrame(nil, link.KindFileData, []byte("no zstd")), link.AppendFrame(nil, link.KindFileData))
	require.ErrorContains(t, take(garbage, t.TempDir()).err, "-copy: ")
}
