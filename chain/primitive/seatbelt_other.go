//go:build !linux && !darwin

package primitive

// noSeatbelt returns the reason why no Seatbelt profile is used.
func noSeatbelt() string { return "only macOS has it" }
