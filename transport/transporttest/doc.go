// Package transporttest holds what proves a transport: the conformance suite,
// which is the contract of package transport as tests, and the fake, an
// in-memory transport that injects seeded faults and checks its callers.
//
// A transport runs the suite from its own tests:
//
//	func TestConformance(t *testing.T) {
//		transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric { ... })
//	}
//
// The engine and the runtime run their tests over the fake:
//
//	fake := transporttest.NewFake(4, transporttest.FakeOptions{Seed: seed, DelayPolls: 3})
//	engine.New(engine.Config{Transports: []transport.Transport{fake.Transport(rank)}, ...})
//
// The fake takes the contract at its word wherever the contract leaves room: a
// message may be late, a ring small, a completion out of order, and nobody is
// woken for anything but an arrival. A caller that works on it and on no other
// promise works on every transport.
package transporttest
