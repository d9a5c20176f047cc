package checkpoint_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

// BenchmarkSave measures a Save of two ranks with 32 MiB each, for each path of the copies, kind
// of data and mode of compression. The reported bytes that an operation sends and writes to files
// are counted after compression.
func BenchmarkSave(b *testing.B) {
	const floats = 4 << 20
	modes := map[string]checkpoint.Compression{"auto": checkpoint.CompressAuto, "never": checkpoint.CompressNever}
	for _, transport := range transports {
		for _, way := range []string{"memory", "files"} {
			for kind, fill := range kinds {
				for name, mode := range modes {
					b.Run(transport+"/"+way+"/"+kind+"/"+name, func(b *testing.B) {
						b.Setenv("GORUN_TRANSPORT", transport)
						config := checkpoint.Config{Compression: mode}
						if way == "files" {
							config.Directory = b.TempDir()
						}
						b.SetBytes(floats * 8)
						save(b, config, func(s []float64) { fill(s, 1) }, floats)
					})
				}
			}
		}
	}
}

// save saves the state of two ranks repeatedly.
func save(b *testing.B, config checkpoint.Config, fill func([]float64), floats int) {
	b.Helper()
	err := runtime.Local(2, func(w *runtime.World) error {
		store, err := checkpoint.New(config)
		if err != nil {
			return err
		}
		state := make([]float64, floats)
		fill(state)
		// After two steps, the adaptive compression has measured its paths.
		const warm = 2
		for step := range warm {
			if err := store.Save(w.Comm(), step, checkpoint.Slice(state)); err != nil {
				return err
			}
		}
		if w.Rank() == 0 {
			b.ResetTimer()
		}
		for i := range b.N {
			if err := store.Save(w.Comm(), warm+i, checkpoint.Slice(state)); err != nil {
				return err
			}
		}
		if w.Rank() == 0 {
			b.StopTimer()
			v := store.Volume()
			b.ReportMetric(float64(v.SentAs)/float64(warm+b.N), "sent-bytes/op")
			b.ReportMetric(float64(v.FiledAs)/float64(warm+b.N), "filed-bytes/op")
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
