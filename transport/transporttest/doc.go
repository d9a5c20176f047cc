// Package transporttest tests transports and their callers. The package has two parts. The
// conformance suite is the contract of package transport in the form of tests. The fake is
// an in-memory transport that injects faults, which a seed determines, and checks its callers.
//
// A transport runs the suite from its own tests:
//
//	func TestConformance(t *testing.T) {
//		transporttest.Run(t, func(tb testing.TB, ranks int) *transporttest.Fabric { ... })
//	}
//
// The tests of the engine and of the runtime use the fake:
//
//	fake := transporttest.NewFake(4, transporttest.FakeOptions{Seed: seed, DelayPolls: 3})
//	engine.New(engine.Config{Transports: []transport.Transport{fake.Transport(rank)}, ...})
//
// The fake uses the freedoms that the contract gives a transport: messages may be late, lanes may be
// short, completions may be out of order, and a rank is not woken when a full lane gets room. Therefore
// tests with the fake find callers that rely on more than the contract.
//
// Unstable: any release may change this package, also after v1.
package transporttest
