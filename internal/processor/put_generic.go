//go:build !(amd64 || arm64) || race

package processor

import "sync/atomic"

// Put64 stores a word. A reader is certain to see this word only after it has seen a later Store64. Any other
// reader must be able to handle the earlier word.
func Put64(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
