//go:build !linux && !darwin

package place

// KeepsModes returns false: rye does not know which file systems keep the executable bit here.
func KeepsModes(string) bool { return false }
