// Package headroom makes room on the stack of a program's first goroutine, early: it
// imports nothing, so it is initialised before nearly everything else. Programs import it
// for that alone.
//
// A stack grows by being copied, frame by frame, with the frames' maps read from a part
// of the program that is not in memory yet: several times before a short command has
// loaded an item, which is 0.3 ms of its 5. Here there is next to nothing to copy, and
// only pages that are used cost anything.
package headroom

// room is the deepest stack that a command needs, in bytes; stacks are powers of two.
const room = 24 << 10

func init() { reserve(false) }

// reserve has a frame of room bytes, so a call makes the stack grow to fit it. It touches
// the bytes only if use is set, which never happens.
//
//go:noinline
func reserve(use bool) {
	if use {
		var frame [room]byte
		touch(&frame)
	}
}

//go:noinline
func touch(frame *[room]byte) { frame[0]++ }
