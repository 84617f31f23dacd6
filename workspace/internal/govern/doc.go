// Package govern runs registries and namespaces: who holds them, who signs for them, how
// far checkpoints cover them, and the marks on published versions.
package govern
