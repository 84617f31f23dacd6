// Package govern runs registries and namespaces: who holds them, who signs for them, how far
// they are vouched for, and what is said of published versions afterwards.
package govern
