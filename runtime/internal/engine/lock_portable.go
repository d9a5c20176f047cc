//go:build !(amd64 || arm64) || race

package engine

import "sync"

// mutex is sync.Mutex, which the race detector knows.
type mutex = sync.Mutex
