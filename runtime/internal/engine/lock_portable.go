//go:build !(amd64 || arm64) || race

package engine

import "sync"

// mutex is that of package sync: the race detector knows it.
type mutex = sync.Mutex
