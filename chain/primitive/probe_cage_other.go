//go:build !linux

package primitive

// NoNamespaces returns the reason why namespaces cannot be used here.
func NoNamespaces() string { return "only Linux has them" }

func foresee(c *Call) []string { return unconfined(&c.Sandbox) }

// Ahead does nothing here: a run has no slow preparations.
func Ahead() {}
