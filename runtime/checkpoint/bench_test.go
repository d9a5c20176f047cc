package checkpoint_test

import (
	"testing"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/checkpoint"
)

// BenchmarkSave is a Save of two ranks with 32 MiB each, by the way of the copies, the data and the mode. bytes/op
// that are sent and filed are what compression has made of them.
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

// save saves the state of two ranks again and again.
func save(b *testing.B, config checkpoint.Config, fill func([]float64), floats int) {
	b.Helper()
	err := runtime.Local(2, func(w *runtime.World) error {
		store, err := checkpoint.New(config)
		if err != nil {
			return err
		}
		state := make([]float64, floats)
		fill(state)
		const warm = 2 // what is adaptive has looked at the ways
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
