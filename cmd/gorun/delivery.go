package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// unlimited is a timeout that never expires.
const unlimited = time.Duration(math.MaxInt64)

// copyFiles sends the programs to the hosts that lack them, and returns when all these hosts have them. The
// launcher sends a file at most once to each agent that it has started itself. These agents pass the file on to the
// agents below them.
func (j *job) copyFiles(kept []*host) error {
	ways, err := j.spreads(kept)
	if err != nil {
		return err
	}
	awaited := map[*host]int{}
	for i, way := range ways {
		for h := range way {
			awaited[h]++
			if to := way.commands(h); len(to) > 0 {
				body := link.Numbered(i)
				for _, number := range to {
					body = append(body, link.Numbered(number)...)
				}
				h.conn.Send(link.KindShare, body)
			}
		}
	}
	var sending sync.WaitGroup
	failures := make([]error, len(j.hosts))
	for at, h := range j.hosts {
		if h.via != nil || awaited[h] == 0 {
			continue
		}
		sending.Go(func() {
			for i, way := range ways {
				if failures[at] == nil && way[h] {
					failures[at] = h.sendFile(i, way.under(h))
				}
			}
		})
	}
	err = j.each(unlimited, func(h *host) error { return h.awaitFiles(awaited[h], j.patience()) })
	sending.Wait()
	for _, failure := range failures {
		if failure != nil {
			return failure // the launcher could not read a file; the first of these errors suffices
		}
	}
	return err
}

// sendFile sends file i to the host's agent. The parameter to lists this host and the hosts that get the file
// through its agent. sendFile sends no faster than the slowest of these hosts receives.
func (h *host) sendFile(i int, to []*host) error {
	f := h.job.files
	packed, err := f.pack(i)
	if err != nil {
		for _, t := range to {
			t.giveUp(errNoJob)
		}
		return fmt.Errorf("-copy: %w", err)
	}
	through := ""
	if len(to) > 1 {
		through = fmt.Sprintf(", which passes it on to %d more", len(to)-1)
	}
	h.job.say("host %s: sending %s, %d bytes compressed%s", h.name, f.paths[i], len(packed), through)
	h.conn.Send(link.KindFile, link.Numbered(i), f.digests[i].Hash)
	for len(packed) > 0 {
		n := min(len(packed), link.ChunkBytesMax)
		wanted := false
		for _, t := range to {
			if room := t.files.wait(); room > 0 {
				n, wanted = min(n, room), true
			}
		}
		if !wanted {
			return nil // all these hosts are lost
		}
		for _, t := range to {
			t.files.take(n) // without effect for lost hosts
		}
		h.conn.Room()
		h.conn.Send(link.KindFileData, packed[:n])
		packed = packed[n:]
	}
	h.conn.Send(link.KindFileData)
	return nil
}

// awaitFiles waits until the host has received a number of files. It gives up the host if bytes are on their
// way to the host and the host takes none of them within patience. It does not give up the host while a host
// above in the tree delays these bytes.
func (h *host) awaitFiles(number int, patience time.Duration) error {
	if number == 0 {
		return nil
	}
	defer h.files.close()
	progress := make(chan struct{}, 1)
	ended := make(chan struct{})
	defer close(ended)
	go h.expectProgress(progress, ended, patience)
	for number > 0 {
		k, body, err := h.receive()
		if err != nil {
			return fmt.Errorf("host %s: -copy: %s", h.name, h.ending(err))
		}
		select {
		case progress <- struct{}{}:
		default:
		}
		switch k {
		case link.KindCredit:
			_, n, err := link.ParseAmount(body)
			if err != nil || !h.files.give(n) {
				return fmt.Errorf("host %s: -copy: credit of %d bytes: %w", h.name, n, link.ErrMalformed)
			}
		case link.KindFiled:
			f, err := link.Decode[link.Filed](body)
			if err == nil && f.Number >= len(h.job.files.paths) {
				err = fmt.Errorf("file %d: %w", f.Number, link.ErrMalformed)
			}
			if err == nil && f.Why != "" {
				err = errors.New(f.Why)
			}
			if err != nil {
				return fmt.Errorf("host %s: %w", h.name, err)
			}
			number--
		default:
			return fmt.Errorf("host %s: -copy: frame of kind %d: %w", h.name, k, link.ErrMalformed)
		}
	}
	return nil
}

// expectProgress gives up the host if bytes are on their way to the host and the channel progress gets no value
// within patience. It does not give up the host while a host above in the tree delays these bytes.
// expectProgress returns when it has given up the host, or when the channel ended is closed.
func (h *host) expectProgress(progress, ended <-chan struct{}, patience time.Duration) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case <-ended:
			return
		case <-progress:
		case <-late.C:
			if !h.files.whole() && !h.heldUp() {
				h.giveUp(fmt.Errorf("no answer within %v", patience))
				return
			}
		}
		late.Reset(patience)
	}
}

// heldUp reports whether bytes are on their way to a host above this one in the tree. In that case, the host
// above may be the cause of a delay.
func (h *host) heldUp() bool {
	for up := h.via; up != nil; up = up.via {
		if !up.files.whole() {
			return true
		}
	}
	return false
}

// spread is the set of hosts that receive a file.
type spread map[*host]bool

// spreads returns, for each file, the hosts that receive it. These are the hosts that do not have the file at
// the same path with the same contents, and the hosts above them in the tree.
func (j *job) spreads(kept []*host) ([]spread, error) {
	all := make([]spread, len(j.files.paths))
	for i := range all {
		all[i] = spread{}
		for _, h := range kept {
			if len(h.hello.Programs) != len(all) {
				return nil, fmt.Errorf("host %s: %d of %d files were compared: %w", h.name, len(h.hello.Programs), len(all), link.ErrMalformed)
			}
			if bytes.Equal(h.hello.Programs[i].Hash, j.files.digests[i].Hash) {
				continue
			}
			for up := h; up != nil; up = up.via {
				all[i][up] = true
			}
		}
	}
	return all, nil
}

// under returns those hosts of s that are h or are below h in the tree.
func (s spread) under(h *host) []*host {
	var list []*host
	if s[h] {
		list = append(list, h)
	}
	for _, b := range h.below {
		list = append(list, s.under(b)...)
	}
	return list
}

// commands returns the numbers of the commands that the agent of h runs for those hosts to which it passes the file on.
func (s spread) commands(h *host) []int {
	var numbers []int
	for _, b := range h.below {
		if s[b] {
			numbers = append(numbers, b.number)
		}
	}
	return numbers
}
