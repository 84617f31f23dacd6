//go:build !linux

package primitive

func (c *Call) tunnel() bool { return false }

func sshCommand(*Call) string { return "" }
