//go:build race

package store

// slowdown is how much more processor time everything takes here.
const slowdown = 12
