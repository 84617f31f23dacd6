//go:build !linux

package primitive

func host() {}
