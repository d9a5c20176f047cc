package verbs_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// A client connects to a server, and each side takes its events from its own queue. In this example both
// sides are in one process. Usually they are in two processes.
func ExampleEndpoint_Connect() {
	run := func(ctx context.Context) error {
		adapter, err := verbs.Open(iwarp.New(iwarp.Config{}), "127.0.0.1")
		if err != nil {
			return err
		}
		defer adapter.Close() // closes everything that was made with the adapter
		domain, err := adapter.NewProtectionDomain()
		if err != nil {
			return err
		}
		clientQueue, err := adapter.NewCompletionQueue(16)
		if err != nil {
			return err
		}
		serverQueue, err := adapter.NewCompletionQueue(16)
		if err != nil {
			return err
		}
		client, err := adapter.NewEndpoint(verbs.EndpointConfig{Domain: domain, Connections: clientQueue})
		if err != nil {
			return err
		}
		server, err := adapter.NewEndpoint(verbs.EndpointConfig{Domain: domain, Connections: serverQueue})
		if err != nil {
			return err
		}
		listener, err := adapter.Listen(verbs.ListenOptions{Queue: serverQueue})
		if err != nil {
			return err
		}
		var got [1]verbs.Completion
		if err := client.Connect(listener.Address(), verbs.ConnectOptions{Timeout: time.Minute}); err != nil {
			return err
		}
		if err := serverQueue.Wait(ctx, 1); err != nil {
			return err
		}
		serverQueue.Poll(got[:])
		fmt.Println("server:", got[0].Event.Type)
		if err := got[0].Event.Request.Accept(server, nil); err != nil {
			return err
		}
		if err := clientQueue.Wait(ctx, 1); err != nil {
			return err
		}
		clientQueue.Poll(got[:])
		fmt.Println("client:", got[0].Event.Type)
		if err := serverQueue.Wait(ctx, 1); err != nil {
			return err
		}
		serverQueue.Poll(got[:])
		fmt.Println("server:", got[0].Event.Type)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(run(ctx))
	// Output:
	// server: CONNECTION_REQUEST
	// client: ESTABLISHED
	// server: ESTABLISHED
	// <nil>
}

// A connection request and its answer carry private data, and the number of Reads that each side may have
// outstanding. In this example the server grants fewer Reads than the client requests.
func ExampleConnectionRequest_Accept() {
	run := func(ctx context.Context) error {
		adapter, err := verbs.Open(iwarp.New(iwarp.Config{}), "127.0.0.1")
		if err != nil {
			return err
		}
		defer adapter.Close() // closes everything that was made with the adapter
		domain, err := adapter.NewProtectionDomain()
		if err != nil {
			return err
		}
		clientQueue, err := adapter.NewCompletionQueue(16)
		if err != nil {
			return err
		}
		serverQueue, err := adapter.NewCompletionQueue(16)
		if err != nil {
			return err
		}
		client, err := adapter.NewEndpoint(verbs.EndpointConfig{Domain: domain, Connections: clientQueue})
		if err != nil {
			return err
		}
		server, err := adapter.NewEndpoint(verbs.EndpointConfig{Domain: domain, Connections: serverQueue})
		if err != nil {
			return err
		}
		listener, err := adapter.Listen(verbs.ListenOptions{Queue: serverQueue})
		if err != nil {
			return err
		}
		var got [1]verbs.Completion
		err = client.Connect(listener.Address(), verbs.ConnectOptions{
			Timeout: time.Minute,
			Param:   &verbs.ConnParam{PrivateData: []byte("client 7"), ResponderResources: 0, InitiatorDepth: 8},
		})
		if err != nil {
			return err
		}
		if err := serverQueue.Wait(ctx, 1); err != nil {
			return err
		}
		serverQueue.Poll(got[:])
		request := got[0].Event.Request
		info, err := request.Query()
		if err != nil {
			return err
		}
		fmt.Printf("server: %s wants %d Reads under way\n", info.Param.PrivateData, info.Param.ResponderResources)
		err = request.Accept(server, &verbs.ConnParam{PrivateData: []byte("welcome"), ResponderResources: 2, InitiatorDepth: 0})
		if err != nil {
			return err
		}
		if err := clientQueue.Wait(ctx, 1); err != nil {
			return err
		}
		clientQueue.Poll(got[:])
		event := got[0].Event
		fmt.Printf("client: %s, %d Reads under way\n", event.PrivateData, event.InitiatorDepth)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(run(ctx))
	// Output:
	// server: client 7 wants 8 Reads under way
	// client: welcome, 2 Reads under way
	// <nil>
}

// The client reads the server's memory, and the server has nothing to do for the Read. The client needs the
// address and the key of the memory, which the server sends in the answer to the request.
func ExampleEndpoint_Post() {
	run := func(ctx context.Context) error {
		adapter, err := verbs.Open(iwarp.New(iwarp.Config{}), "127.0.0.1")
		if err != nil {
			return err
		}
		defer adapter.Close() // closes everything that was made with the adapter
		domain, err := adapter.NewProtectionDomain()
		if err != nil {
			return err
		}
		clientQueue, err := adapter.NewCompletionQueue(16)
		if err != nil {
			return err
		}
		serverQueue, err := adapter.NewCompletionQueue(16)
		if err != nil {
			return err
		}
		client, err := adapter.NewEndpoint(verbs.EndpointConfig{Domain: domain, Requests: clientQueue, Connections: clientQueue})
		if err != nil {
			return err
		}
		server, err := adapter.NewEndpoint(verbs.EndpointConfig{Domain: domain, Connections: serverQueue})
		if err != nil {
			return err
		}
		listener, err := adapter.Listen(verbs.ListenOptions{Queue: serverQueue})
		if err != nil {
			return err
		}
		var got [1]verbs.Completion
		source, err := domain.Register([]byte("what the server has"), verbs.AccessRemoteRead)
		if err != nil {
			return err
		}
		sink, err := domain.Register(make([]byte, len(source.Bytes())), verbs.AccessLocalWrite)
		if err != nil {
			return err
		}
		if err := client.Connect(listener.Address(), verbs.ConnectOptions{Timeout: time.Minute}); err != nil {
			return err
		}
		if err := serverQueue.Wait(ctx, 1); err != nil {
			return err
		}
		serverQueue.Poll(got[:])
		var answer bytes.Buffer
		region := source.Remote(0, len(source.Bytes()))
		if err := gob.NewEncoder(&answer).Encode(region); err != nil {
			return err
		}
		err = got[0].Event.Request.Accept(server, &verbs.ConnParam{
			PrivateData: answer.Bytes(), ResponderResources: verbs.DepthDefault, InitiatorDepth: verbs.DepthDefault,
		})
		if err != nil {
			return err
		}
		if err := clientQueue.Wait(ctx, 1); err != nil {
			return err
		}
		clientQueue.Poll(got[:])
		var from verbs.RemoteRegion
		if err := gob.NewDecoder(bytes.NewReader(got[0].Event.PrivateData)).Decode(&from); err != nil {
			return err
		}
		err = client.Post(&verbs.WorkRequest{
			ID: 1, Op: verbs.OpRead, Segments: []verbs.Segment{sink.Segment(0, len(sink.Bytes()))},
			RemoteAddress: from.Address, RKey: from.RKey,
		})
		if err != nil {
			return err
		}
		if err := clientQueue.Wait(ctx, 1); err != nil {
			return err
		}
		clientQueue.Poll(got[:])
		fmt.Println("request", got[0].ID, "read", got[0].Length, "bytes:", got[0].Status)
		fmt.Printf("%s\n", sink.Bytes())
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(run(ctx))
	// Output:
	// request 1 read 19 bytes: success
	// what the server has
	// <nil>
}
