//go:build !linux && !darwin

package place

// KeepsModes is false: which file systems keep the executable bit is not known here.
func KeepsModes(string) bool { return false }
