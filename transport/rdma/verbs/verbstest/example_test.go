package verbstest_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// node is an adapter with one endpoint, some memory, and one completion queue for all completions
// and events.
type node struct {
	adapter  *verbs.Adapter
	queue    *verbs.CompletionQueue
	memory   *verbs.MemoryRegion
	endpoint *verbs.Endpoint
}

func newNode(p verbs.Provider, name string) (n node, err error) {
	if n.adapter, err = verbs.Open(p, name); err != nil {
		return n, err
	}
	domain, err := n.adapter.NewProtectionDomain()
	if err != nil {
		return n, err
	}
	if n.memory, err = domain.Register(make([]byte, 4096), verbs.AccessLocalWrite); err != nil {
		return n, err
	}
	if n.queue, err = n.adapter.NewCompletionQueue(64); err != nil {
		return n, err
	}
	n.endpoint, err = n.adapter.NewEndpoint(verbs.EndpointConfig{Domain: domain, Receives: n.queue, Requests: n.queue, Connections: n.queue})
	return n, err
}

// next sleeps until an entry arrives, and returns it.
func (n node) next() verbs.Completion {
	var into [1]verbs.Completion
	for n.queue.Poll(into[:]) == 0 {
		if err := n.queue.Wait(context.Background(), 1); err != nil {
			panic(err)
		}
	}
	return into[0]
}

// One side listens and receives a message. The other side connects and sends this message.
func Example() {
	network := verbstest.NewNetwork(verbstest.StyleIWARP)
	host := func(addr string) *verbstest.Host {
		return &verbstest.Host{Network: network, Addr: netip.MustParseAddr(addr)}
	}
	server, err := newNode(host("10.0.0.1"), "10.0.0.1")
	if err != nil {
		panic(err)
	}
	defer server.adapter.Close()
	listener, err := server.adapter.Listen(verbs.ListenOptions{Queue: server.queue})
	if err != nil {
		panic(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		ep := server.endpoint
		if err := ep.PostReceive(&verbs.ReceiveRequest{ID: 1, Segments: []verbs.Segment{server.memory.Segment(0, 64)}}); err != nil {
			panic(err)
		}
		if err := server.next().Event.Request.Accept(ep, nil); err != nil {
			panic(err)
		}
		fmt.Println("server:", server.next().Event.Type)
		message := server.next()
		fmt.Printf("server: %s\n", server.memory.Bytes()[:message.Length])
		fmt.Println("server:", server.next().Event.Type)
	}()

	client, err := newNode(host("10.0.0.2"), "10.0.0.2")
	if err != nil {
		panic(err)
	}
	defer client.adapter.Close()
	if err := client.endpoint.Connect(listener.Address(), verbs.ConnectOptions{Timeout: time.Minute}); err != nil {
		panic(err)
	}
	client.next() // EventEstablished
	n := copy(client.memory.Bytes(), "hello")
	err = client.endpoint.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend, Segments: []verbs.Segment{client.memory.Segment(0, n)}})
	if err != nil {
		panic(err)
	}
	client.next() // the completion of the Send
	if err := client.endpoint.Disconnect(verbs.CloseGraceful); err != nil {
		panic(err)
	}
	client.next() // EventDisconnected
	<-served
	// Output:
	// server: ESTABLISHED
	// server: hello
	// server: DISCONNECTED
}
