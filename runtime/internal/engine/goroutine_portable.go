//go:build !amd64 && !arm64

package engine

import goruntime "runtime"

// goroutine returns an identifier of the calling goroutine. It is the number at the start of
// the text of its stack, "goroutine 7 [running]:".
func goroutine() uintptr {
	var text [40]byte
	n := goruntime.Stack(text[:], false)
	id := uintptr(0)
	for _, c := range text[min(n, len("goroutine ")):n] {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + uintptr(c-'0')
	}
	return id
}
