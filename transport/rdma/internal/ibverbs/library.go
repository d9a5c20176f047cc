package ibverbs

import (
	"os"
	"path"
	"strings"
	"sync"
)

// libraryName is the soname of libibverbs, which is the same in all versions of rdma-core so far.
const libraryName = "libibverbs.so.1"

// function is the address of a C function, or 0.
type function uintptr

// library has the functions of libibverbs that this package calls.
type library struct {
	getDeviceList, freeDeviceList, getDeviceName    function
	openDevice, closeDevice, queryDevice, queryPort function
	getAsyncEvent, ackAsyncEvent                    function
	allocPD, deallocPD                              function
	regMR, deregMR                                  function
	createChannel, destroyChannel                   function
	getCQEvent, ackCQEvents                         function
	createCQ, destroyCQ                             function
	createQP, modifyQP, queryQP, destroyQP          function
	createSRQ, destroySRQ                           function
}

// symbols returns pointers to the fields of l that hold addresses of functions, by the names of the
// symbols.
func (l *library) symbols() map[string]*function {
	return map[string]*function{
		"ibv_get_device_list": &l.getDeviceList, "ibv_free_device_list": &l.freeDeviceList, "ibv_get_device_name": &l.getDeviceName,
		"ibv_open_device": &l.openDevice, "ibv_close_device": &l.closeDevice, "ibv_query_device": &l.queryDevice, "ibv_query_port": &l.queryPort,
		"ibv_get_async_event": &l.getAsyncEvent, "ibv_ack_async_event": &l.ackAsyncEvent,
		"ibv_alloc_pd": &l.allocPD, "ibv_dealloc_pd": &l.deallocPD,
		// ibv_reg_mr_iova2 is a later form of ibv_reg_mr. It ignores optional access flags that the
		// kernel does not know, such as relaxed ordering.
		"ibv_reg_mr_iova2": &l.regMR, "ibv_dereg_mr": &l.deregMR,
		"ibv_create_comp_channel": &l.createChannel, "ibv_destroy_comp_channel": &l.destroyChannel,
		"ibv_get_cq_event": &l.getCQEvent, "ibv_ack_cq_events": &l.ackCQEvents,
		"ibv_create_cq": &l.createCQ, "ibv_destroy_cq": &l.destroyCQ,
		"ibv_create_qp": &l.createQP, "ibv_modify_qp": &l.modifyQP, "ibv_query_qp": &l.queryQP, "ibv_destroy_qp": &l.destroyQP,
		"ibv_create_srq": &l.createSRQ, "ibv_destroy_srq": &l.destroySRQ,
	}
}

// load loads a library and looks up its functions. A library is never unloaded, because its
// providers register themselves in it.
func load(name string) (*library, error) {
	handle, reason, err := openLibrary(name)
	if err != nil {
		return nil, err
	}
	if handle == 0 {
		return nil, &LibraryError{File: name, Reason: reason}
	}
	l := &library{}
	first := ""
	for name, f := range l.symbols() {
		if *f = symbol(handle, name); *f == 0 && (first == "" || name < first) {
			first = name
		}
	}
	if first != "" {
		return nil, &VersionError{File: name, Symbol: first}
	}
	return l, nil
}

// loaded returns the library of this process, which the first call loads.
var loaded = sync.OnceValues(func() (*library, error) { return load(libraryName) })

// Version returns the file name of the loaded library, which contains its version. For example,
// the file of rdma-core 44 is libibverbs.so.1.14.44.0.
func Version() string {
	maps, _ := os.ReadFile("/proc/self/maps") // if it fails, versionOf returns libraryName
	return versionOf(string(maps))
}

// versionOf finds the library's file among the memory mappings of a process (proc(5)), in which the
// last word of a line is the name of the file. It returns libraryName if the library's file is not
// found.
func versionOf(maps string) string {
	for line := range strings.Lines(maps) {
		fields := strings.Fields(line)
		if len(fields) == mapsFields && strings.HasPrefix(path.Base(fields[mapsFields-1]), libraryName) {
			return path.Base(fields[mapsFields-1])
		}
	}
	return libraryName
}

// mapsFields is the number of words in the line of a mapping of a file.
const mapsFields = 6

// held contains the objects whose memory the library or the device uses. It keeps them reachable
// until they are closed successfully, even if the user drops the last reference after Close has
// failed.
var held sync.Map

// Available returns nil if the library is loaded and has all functions that this package calls.
// Otherwise the error tells what is missing: ErrNotLinked, a LibraryError or a VersionError.
func Available() error {
	_, err := loaded()
	return err
}
