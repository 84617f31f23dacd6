package primitive

import (
	"slices"
	"testing"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// TestHiddenWithoutParent: a hidden directory stays hidden where nothing around it is in view, and
// a need or an interpreter's link names a path in it.
func TestHiddenWithoutParent(t *testing.T) {
	got := arrange([]mount{
		{cage.Mount{Kind: cage.Shown, Path: "/home/u/keys"}, shown},
		{cage.Mount{Kind: cage.Shown, Path: "/home/u/keys/bin/python3"}, shown},
		{cage.Mount{Kind: cage.Link, Path: "/home/u/keys/link"}, shown},
		{cage.Mount{Kind: cage.Given, Path: "/home/u/keys/data"}, given},
		{cage.Mount{Kind: cage.Shown, Path: "/home/u/other"}, shown},
		{cage.Mount{Kind: cage.Gone, Path: "/home/u/keys"}, gone},
	}, "/temp")
	if slices.ContainsFunc(got, func(m mount) bool { return m.Path != "/home/u/other" }) || len(got) != 1 {
		t.Errorf("the view has %+v, want only /home/u/other", got)
	}
}
