//go:build !linux

package primitive

func act() {}
