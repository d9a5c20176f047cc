package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strconv"

	"github.com/gorun-hpc/gorun/runtime"
)

// generate returns a CSV of n points around the k centres (10 i, -10 i).
func generate(n, k int) io.Reader {
	var text bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	w := csv.NewWriter(&text)
	for i := range n {
		at := 10 * float64(i%k)
		// A write to memory does not fail.
		_ = w.Write([]string{strconv.FormatFloat(at+r.NormFloat64(), 'g', -1, 64), strconv.FormatFloat(r.NormFloat64()-at, 'g', -1, 64)})
	}
	w.Flush()
	return &text
}

// read yields the points of a CSV. All lines have the same number of fields.
func read(text io.Reader) iter.Seq2[[]float64, error] {
	return func(yield func([]float64, error) bool) {
		lines := csv.NewReader(text)
		for {
			fields, err := lines.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			var p []float64
			if err == nil {
				p, err = parse(fields, lines)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// parse returns the numbers of a line. For an error, it takes the number of the line from lines.
func parse(fields []string, lines *csv.Reader) ([]float64, error) {
	p := make([]float64, len(fields))
	for i, field := range fields {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			line, _ := lines.FieldPos(i)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		p[i] = v
	}
	return p, nil
}

// batch is the largest number of points in a message of rank 0.
const batch = 256

// share distributes the points that rank 0 reads from text, and returns this rank's points. The ranks get points in
// turn, max(batch, k) at a time. Rank 0 gets at least k of them, because it chooses the k first centres among its
// own points.
func share(c *runtime.Comm, text io.Reader, k int) ([][]float64, error) {
	if c.Rank() != 0 {
		var mine [][]float64
		for points, err := range runtime.Stream[[][]float64](c, 0, 0) {
			if err != nil {
				return nil, err
			}
			mine = append(mine, points...)
		}
		return mine, nil
	}
	all := make([][][]float64, c.Size())
	n := 0
	for p, err := range read(text) {
		if err != nil {
			return nil, errors.Join(err, refuse(c, err))
		}
		to := n / max(batch, k) % c.Size()
		all[to] = append(all[to], p)
		n++
	}
	for rank := 1; rank < c.Size(); rank++ {
		if err := runtime.SendStream(c, batches(all[rank]), rank, 0); err != nil {
			return nil, err
		}
	}
	return all[0], nil
}

// batches yields the points in batches.
func batches(points [][]float64) iter.Seq2[[][]float64, error] {
	return func(yield func([][]float64, error) bool) {
		for at := 0; at < len(points); at += batch {
			if !yield(points[at:min(at+batch, len(points))], nil) {
				return
			}
		}
	}
}

// refuse sends the error cause to the other ranks in place of the points.
func refuse(c *runtime.Comm, cause error) error {
	for rank := 1; rank < c.Size(); rank++ {
		failed := func(yield func([][]float64, error) bool) { yield(nil, cause) }
		if err := runtime.SendStream(c, failed, rank, 0); !errors.Is(err, cause) {
			return err
		}
	}
	return nil
}
