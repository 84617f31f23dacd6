//go:build !linux

package primitive

// Foresee says which tier a program would get in this sandbox, and what would not bind, as
// Result does after the run: so that a person who is asked before it knows.
func Foresee(s Sandbox) (Tier, []string) {
	return Best(), []string{"files, network, system calls and resources are not restricted on this system"}
}
