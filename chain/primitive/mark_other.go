//go:build !linux

package primitive

// Marked reports whether this very process belongs to a run, as far as that is known: on
// Linux only.
func Marked() bool { return false }
