package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// enterGenerations is the program of a rank that enters each generation of the job, prints its place, and
// leaves the job in the generation whose number is in last. A rank kills itself in a generation if deaths
// contains the text "generation:rank" for it.
func enterGenerations(s *bootstrap.Session, last string, deaths []string) int {
	for {
		err := enterGeneration(s, last, deaths)
		if err == nil && strconv.Itoa(s.Job().Generation) == last {
			return finalize(s, 0)
		}
		if err != nil && !errors.Is(err, bootstrap.ErrRenewed) {
			fmt.Fprintln(os.Stderr, err)
			return 98
		}
		<-s.Renewed()
		if err := s.Renew(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 97
		}
	}
}

func enterGeneration(s *bootstrap.Session, last string, deaths []string) error {
	if _, err := s.Exchange(context.Background(), s.Card()); err != nil {
		return err
	}
	j := s.Job()
	fmt.Printf("generation %d: rank %d on %s, node %d of %d\n", j.Generation, j.Rank, j.Host, j.NodeRank, j.Nodes)
	if slices.Contains(deaths, fmt.Sprintf("%d:%d", j.Generation, j.Rank)) {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}
	if strconv.Itoa(j.Generation) == last {
		return s.Fence(context.Background())
	}
	return nil
}
