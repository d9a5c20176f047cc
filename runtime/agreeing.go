package runtime

import (
	"fmt"
	"sync"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// agreeing records the agreements of one communicator that are under way at this rank: Agree, Shrink,
// NewShared, the calls of agreement.run, and the operations with the tags wholeInter and wholeGraph. It maps the tag
// of each agreement to the source line of the call.
type agreeing struct {
	// mu guards sites. No function is called while mu is held.
	mu    sync.Mutex
	sites map[int]callsite.Site
}

// enter records the beginning of the agreement with this tag. If another agreement with this tag is
// under way, the error is ErrInUse with the source lines of both calls.
func (g *agreeing) enter(tag int) error {
	var site callsite.Site
	site.Note()
	g.mu.Lock()
	other, busy := g.sites[tag]
	if !busy {
		if g.sites == nil {
			g.sites = make(map[int]callsite.Site)
		}
		g.sites[tag] = site
	}
	g.mu.Unlock()
	if busy {
		return fmt.Errorf("%w: call at %s while another goroutine makes the same call at %s", ErrInUse, site.Line(packagePath), other.Line(packagePath))
	}
	return nil
}

// leave records the end of the agreement with this tag.
func (g *agreeing) leave(tag int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sites, tag)
}

// packagePath is the prefix of the names of the functions of this package.
const packagePath = "github.com/gorun-hpc/gorun/runtime"
