package transport_test

import (
	"sync"
	"testing"

	"github.com/gorun-hpc/gorun/transport"
)

func TestChannelSleeperIsNotLateForARing(t *testing.T) {
	var s transport.ChannelSleeper
	ticket := s.Prepare()
	s.Ring()
	s.Sleep(ticket, -1) // would never return
	s.Sleep(s.Prepare(), 1)
}

func TestChannelSleeperRingWakesEverySleeper(t *testing.T) {
	var s transport.ChannelSleeper
	ticket := s.Prepare()
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			s.Sleep(ticket, -1)
		}()
	}
	s.Ring()
	all.Wait()
}
