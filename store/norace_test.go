//go:build !race

package store

const slowdown = 1
