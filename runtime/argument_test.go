package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// TestArguments passes wrong arguments to the functions for messages and communicators, and requires the matching
// errors. MPICH's directory errors/ has tests of this kind.
func TestArguments(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		closed, err := c.Dup()
		require.NoError(t, err)
		require.NoError(t, closed.Close())
		var none *runtime.Comm
		buf := []int{1, 2, 3, 4}
		far := runtime.Strided{Count: 3, Block: 1, Stride: 2}
		for name, check := range map[string]struct {
			err, want error
		}{
			"Send to a rank too high":         {runtime.Send(c, buf, 2, 0), runtime.ErrRank},
			"Send to a negative rank":         {runtime.Send(c, buf, -5, 0), runtime.ErrRank},
			"Send to AnySource":               {runtime.Send(c, buf, runtime.AnySource, 0), runtime.ErrRank},
			"Send with a negative tag":        {runtime.Send(c, buf, 0, -3), runtime.ErrTag},
			"Send with AnyTag":                {runtime.Send(c, buf, 0, runtime.AnyTag), runtime.ErrTag},
			"Send with a tag too high":        {runtime.Send(c, buf, 0, runtime.TagMax+1), runtime.ErrTag},
			"Send to ProcNull with a bad tag": {runtime.Send(c, buf, runtime.ProcNull, -7), runtime.ErrTag},
			"Send without a communicator":     {runtime.Send(none, buf, 0, 0), runtime.ErrComm},
			"Send on a closed one":            {runtime.Send(closed, buf, 0, 0), runtime.ErrCommClosed},
			"Ssend to a rank too high":        {runtime.Ssend(c, buf, 2, 0), runtime.ErrRank},
			"Isend to a rank too high":        {second(runtime.Isend(c, buf, 2, 0).Wait()), runtime.ErrRank},
			"Isend without a communicator":    {second(runtime.Isend(none, buf, 0, 0).Wait()), runtime.ErrComm},
			"Issend with a bad tag":           {second(runtime.Issend(c, buf, 0, -1).Wait()), runtime.ErrTag},
			"Recv from a rank too high":       {second(runtime.Recv(c, buf, 2, 0)), runtime.ErrRank},
			"Recv from Undefined":             {second(runtime.Recv(c, buf, runtime.Undefined, 0)), runtime.ErrRank},
			"Recv with a negative tag":        {second(runtime.Recv(c, buf, 0, -2)), runtime.ErrTag},
			"Recv with a tag too high":        {second(runtime.Recv(c, buf, 0, runtime.TagMax+1)), runtime.ErrTag},
			"Recv without a communicator":     {second(runtime.Recv(none, buf, 0, 0)), runtime.ErrComm},
			"Recv on a closed one":            {second(runtime.Recv(closed, buf, 0, 0)), runtime.ErrCommClosed},
			"Irecv from a rank too high":      {second(runtime.Irecv(c, buf, 2, 0).Wait()), runtime.ErrRank},
			"Irecv without a communicator":    {second(runtime.Irecv(none, buf, 0, 0).Wait()), runtime.ErrComm},
			"Probe of a rank too high":        {second(runtime.Probe(c, 2, 0)), runtime.ErrRank},
			"Probe without a communicator":    {second(runtime.Probe(none, 0, 0)), runtime.ErrComm},
			"Mprobe with a bad tag":           {second(runtime.Mprobe(c, 0, -9)), runtime.ErrTag},
			"SendRecv of one slice":           {second(runtime.SendRecv(c, buf, 0, 0, buf, 0, 0)), runtime.ErrAlias},
			"SendRecv of overlapping slices":  {second(runtime.SendRecv(c, buf[:3], 0, 0, buf[2:], 0, 0)), runtime.ErrAlias},
			"SendRecv to a rank too high":     {second(runtime.SendRecv(c, buf[:2], 2, 0, buf[2:], 0, 0)), runtime.ErrRank},
			"SendRecv from a rank too high":   {second(runtime.SendRecv(c, buf[:2], 0, 0, buf[2:], 2, 0)), runtime.ErrRank},
			"SendRecv without a communicator": {second(runtime.SendRecv(none, buf[:2], 0, 0, buf[2:], 0, 0)), runtime.ErrComm},
			"a persistent send to nowhere":    {started(runtime.SendInit(c, buf, 9, 0)), runtime.ErrRank},
			"a persistent receive, bad tag":   {started(runtime.RecvInit(c, buf, 0, -4)), runtime.ErrTag},
			"a stride beyond the end":         {runtime.SendStrided(c, buf, far, 0, 0), runtime.ErrArgument},
			"a negative count":                {runtime.SendStrided(c, buf, runtime.Strided{Count: -1, Block: 1, Stride: 1}, 0, 0), runtime.ErrArgument},
			"blocks that overlap":             {runtime.SendStrided(c, buf, runtime.Strided{Count: 2, Block: 2, Stride: 1}, 0, 0), runtime.ErrArgument},
			"a stride that overflows":         {runtime.SendStrided(c, buf, runtime.Strided{Count: 3, Block: 1, Stride: 1 << 62}, 0, 0), runtime.ErrArgument},
			"a strided receive beyond it":     {second(runtime.RecvStrided(c, buf, far, 0, 0)), runtime.ErrArgument},
			"a strided Irecv beyond it":       {second(runtime.IrecvStrided(c, buf, far, 0, 0).Wait()), runtime.ErrArgument},
			"Dup of a closed one":             {second(closed.Dup()), runtime.ErrCommClosed},
			"Split of a closed one":           {second(closed.Split(0, 0)), runtime.ErrCommClosed},
			"Close of a closed one":           {closed.Close(), runtime.ErrCommClosed},
			"Close of none":                   {none.Close(), runtime.ErrComm},
			"Close of the World's":            {c.Close(), runtime.ErrArgument},
			"an attribute of a closed one":    {second(closed.Attribute(1, func() (any, error) { return 1, nil })), runtime.ErrCommClosed},
			"NewRequest without a comm":       {second(runtime.NewRequest(none, nil).Wait()), runtime.ErrComm},
			"Split with a bad color":          {second(c.Split(-4, 0)), runtime.ErrArgument},
			"Create without the caller":       {second(c.Create(runtime.Group{}, 0)), runtime.ErrRank},
			"Create with a bad tag":           {second(c.Create(c.Group(), -1)), runtime.ErrTag},
			"a matched message of none":       {second(runtime.RecvMatched[int](nil, nil)), runtime.ErrRequest},
		} {
			require.ErrorIs(t, check.err, check.want, name)
			require.NotEmpty(t, check.err.Error(), name)
		}
	})
}

// started starts a persistent operation and returns the error of its start or of its wait.
func started(p *runtime.Persistent) error {
	if err := p.Start(); err != nil {
		return err
	}
	return second(p.Wait())
}
