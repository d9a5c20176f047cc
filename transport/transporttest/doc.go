// Package transporttest tests transports and their callers. It has the conformance
// suite, which is the contract of package transport in the form of tests, and the
// fake, an in-memory transport that injects seeded faults and checks its callers.
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
// The fake uses every freedom of the contract: messages may be late, rings small,
// completions out of order, and only arrivals wake a rank. A caller that works with the
// fake works with every transport.
//
// Unstable: any release may change this package, also after v1.
package transporttest
