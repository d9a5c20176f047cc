//go:build !linux || portable

package shm

import "errors"

// processRead refuses: ranks of other processes are on Linux alone.
func processRead(int, []byte, uint64) (int, error) { return 0, errors.ErrUnsupported }

// processWrite refuses, too.
func processWrite(int, []byte, uint64) (int, error) { return 0, errors.ErrUnsupported }
