// Package startheap keeps the garbage collector off until a program's main begins.
//
// The libraries of rye-engine build tables when they are initialised. These stay until the end, so
// the collections of that time free nothing, and cost 5 of the 18 ms until main begins.
package startheap

import "runtime/debug"

var usual = debug.SetGCPercent(-1)

// Restore sets the percentage that the environment asked for (GOGC), or Go's default. Main calls
// it first.
func Restore() { debug.SetGCPercent(usual) }
