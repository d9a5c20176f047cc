//go:build !linux || portable

package shm

import "errors"

// processRead fails, because in this build ranks are goroutines of one process.
func processRead(int, []byte, uint64) (int, error) { return 0, errors.ErrUnsupported }

// processWrite fails, because in this build ranks are goroutines of one process.
func processWrite(int, []byte, uint64) (int, error) { return 0, errors.ErrUnsupported }
