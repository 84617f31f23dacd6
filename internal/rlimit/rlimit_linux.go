package rlimit

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Taken returns the bytes of address space, and of writable memory, that this process has now.
func Taken() (space, data uint64, err error) {
	raw, err := os.ReadFile("/proc/self/statm") // proc(5): seven numbers, in pages
	if err != nil {
		return 0, 0, err
	}
	f := bytes.Fields(raw)
	if len(f) < 6 {
		return 0, 0, errors.New("/proc/self/statm: unknown form")
	}
	space, err = strconv.ParseUint(string(f[0]), 10, 64)
	if err == nil {
		data, err = strconv.ParseUint(string(f[5]), 10, 64)
	}
	page := uint64(os.Getpagesize())
	return space * page, data * page, err
}

// Memory bounds the memory of this process to more bytes than it has now, until lift is called. A
// program that is started meanwhile inherits the bound. Only one bound can hold at a time.
//
// Go reserves addresses and makes them writable later. The kernel counts no memory that replaces a
// reservation, so a bound of the writable memory alone lets one large request through.
func Memory(more uint64) (lift func(), err error) {
	space, data, err := Taken()
	if err != nil {
		return nil, err
	}
	lift = func() {}
	for _, l := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_DATA, data + more}, // private writable memory, since Linux 4.7
		{unix.RLIMIT_AS, space + more},
	} {
		var was unix.Rlimit
		if err = unix.Getrlimit(l.what, &was); err == nil {
			err = unix.Setrlimit(l.what, &unix.Rlimit{Cur: min(l.most, was.Cur), Max: was.Max})
		}
		if err != nil {
			lift()
			return nil, err
		}
		others := lift
		lift = func() { _ = unix.Setrlimit(l.what, &was); others() }
	}
	return lift, nil
}
