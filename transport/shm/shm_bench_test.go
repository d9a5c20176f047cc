package shm_test

import (
	"fmt"
	"testing"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// counter is a Handler that only counts.
type counter struct{ arrived, completed int }

func (c *counter) Arrive(int, transport.Header, []byte) { c.arrived++ }
func (c *counter) Completed(int, uint64, uint64, error) { c.completed++ }
func (c *counter) Down(*transport.PeerDown)             {}

// BenchmarkLatency measures half a round trip between two processes.
func BenchmarkLatency(b *testing.B) {
	for _, size := range []int{8, 64, 1024, 4096, 8192} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newStage(b, "echo", 2, false)
			e := endpointTo(b, s.tr, 1)
			payload := make([]byte, size)
			c := &counter{}
			ball := func() {
				want := c.arrived + 1
				if err := e.Send(transport.Header{A: wordData}, payload); err != nil {
					b.Fatal(err)
				}
				for c.arrived < want {
					if _, err := s.tr.Poll(c, 64); err != nil {
						b.Fatal(err)
					}
				}
			}
			for range 1000 {
				ball()
			}
			for b.Loop() {
				ball()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/oneway")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkRate measures the rate of messages to another process.
func BenchmarkRate(b *testing.B) {
	for _, size := range []int{8, 64, 1024, 8192} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newStage(b, "sink", 2, false)
			e := endpointTo(b, s.tr, 1)
			payload := make([]byte, size)
			c := &counter{}
			b.SetBytes(int64(size))
			for b.Loop() {
				for e.Send(transport.Header{A: wordData}, payload) != nil {
					_, _ = s.tr.Poll(c, 64)
				}
			}
			for e.Send(transport.Header{A: wordAnswer}, payload) != nil {
				_, _ = s.tr.Poll(c, 64)
			}
			for c.arrived == 0 {
				_, _ = s.tr.Poll(c, 64)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkGet measures Gets of private memory of a process that polls.
func BenchmarkGet(b *testing.B) {
	for _, way := range []struct {
		name  string
		noCMA bool
		way   int
	}{{"tuned", false, -1}, {"alone", false, shm.WayAlone}, {"shared", false, shm.WayShared}, {"piped", false, shm.WayPiped}, {"staged", true, -1}} {
		for _, size := range []int{16 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20} {
			b.Run(fmt.Sprintf("%s/%d", way.name, size), func(b *testing.B) {
				s := newStage(b, "source", 2, way.noCMA)
				e := endpointTo(b, s.tr, 1)
				if way.way >= 0 {
					shm.ForceWay(s.tr, way.way)
				}
				k := s.askKey(b, size, 1)
				dst := make([]byte, size)
				c := &counter{}
				b.SetBytes(int64(size))
				for b.Loop() {
					want := c.completed + 1
					if err := e.Get(dst, k, 1); err != nil {
						b.Fatal(err)
					}
					for c.completed < want {
						_, _ = s.tr.Poll(c, 64)
					}
				}
			})
		}
	}
}
