//go:build !linux

package primitive

func probe() (Report, error) { return Report{Tier: best(), NoDeeper: "bubblewrap is for Linux"}, nil }
