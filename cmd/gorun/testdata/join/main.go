package main

import (
	"context"
	"fmt"

	"github.com/gorun-hpc/gorun/bootstrap"
)

func main() {
	s, err := bootstrap.Join()
	if err != nil {
		panic(err)
	}
	b, err := s.Exchange(context.Background(), s.Card())
	if err != nil {
		panic(err)
	}
	if err := s.Fence(context.Background()); err != nil {
		panic(err)
	}
	c, _ := b.Card(b.Size() - 1)
	if s.Job().Rank == 0 {
		fmt.Printf("%+v %+v\n", s.Job(), c)
	}
	if err := s.Finalize(); err != nil {
		panic(err)
	}
}
