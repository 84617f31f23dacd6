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

// Memory bounds the writable memory of this process to more bytes than it has now, until lift is
// called. A program that is started meanwhile inherits the bound. Only one bound can hold at a time.
func Memory(more uint64) (lift func(), err error) {
	_, data, err := Taken()
	var was unix.Rlimit
	if err == nil {
		err = unix.Getrlimit(unix.RLIMIT_DATA, &was) // private writable memory, since Linux 4.7
	}
	if err == nil {
		err = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: min(data+more, was.Cur), Max: was.Max})
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = unix.Setrlimit(unix.RLIMIT_DATA, &was) }, nil
}
