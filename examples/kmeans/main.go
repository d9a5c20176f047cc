// Command kmeans finds the centres of clusters of points (Lloyd's algorithm). Each point is a line of CSV, in
// a file or in text that rank 0 generates. Rank 0 reads the points with encoding/csv and streams a share of
// them to each rank. In each step, every rank adds up the points nearest to each centre, and an AllReduce
// adds up the sums of the ranks.
//
//	gorun -np 4 ./examples/kmeans -k 3 -points 100000
//	gorun -np 4 ./examples/kmeans -k 3 -file points.csv
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gorun-hpc/gorun/examples/internal/options"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	k := options.Int("k", 3, 1, "`number` of clusters")
	points := options.Int("points", 3000, 1, "`number` of points to generate")
	file := flag.String("file", "", "CSV `file` that rank 0 reads, with a point on each line")
	options.Parse()
	runtime.Main(func(w *runtime.World) error {
		var text io.Reader
		switch {
		case w.Rank() != 0:
		case *file == "":
			text = generate(*points, *k)
		default:
			f, err := os.Open(*file)
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			text = f
		}
		centres, err := cluster(w.Comm(), text, *k)
		if err == nil && w.Rank() == 0 {
			slices.SortFunc(centres, func(a, b []float64) int { return cmp.Compare(a[0], b[0]) })
			for _, p := range centres {
				fmt.Printf("%.2f\n", p)
			}
		}
		return err
	})
}
