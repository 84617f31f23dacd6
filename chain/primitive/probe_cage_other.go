//go:build !linux

package primitive

// NoNamespaces says why namespaces cannot be made here.
func NoNamespaces() string { return "only Linux has them" }

func foresee(*Call) []string {
	return []string{"files, network and system calls are not restricted below S2"}
}

// Ahead begins what a run needs and takes a while, beside what else is done before it.
func Ahead() {}
