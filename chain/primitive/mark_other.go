//go:build !linux

package primitive

// Marked always returns false: only Linux has marks.
func Marked() bool { return false }
