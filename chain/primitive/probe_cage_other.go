//go:build !linux

package primitive

// NoNamespaces returns the reason why namespaces cannot be used here.
func NoNamespaces() string { return "only Linux has them" }

func foresee(*Call) []string {
	return []string{"files, network and system calls are not restricted below S2"}
}

// Ahead does nothing here: a run has no slow preparations.
func Ahead() {}
