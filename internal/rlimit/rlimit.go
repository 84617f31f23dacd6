// Package rlimit lets the kernel bound the memory of this process, where the kernel can.
//
// Only Linux can: it shows a process how much it has, and bounds what it may add. A process that wants
// more than it may ends with an error of Go's runtime, which nothing in it can catch.
package rlimit
