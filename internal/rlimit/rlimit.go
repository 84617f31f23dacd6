// Package rlimit lets the kernel bound the memory of this process, where the kernel can.
//
// Only Linux can: a Go program does not work under a limit of its address space, and other systems
// have no limit of writable memory. A process that wants more than it may ends with an error of
// Go's runtime, which nothing in it can catch.
package rlimit
