// Package govern runs registries and namespaces: their holders and signers, the reach of
// checkpoints, and the marks on published versions.
package govern
