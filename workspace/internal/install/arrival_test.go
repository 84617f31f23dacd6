package install

import (
	"testing"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/objects"
)

// What another process pinned while a person was asked is not replaced, unless it is what
// arrived, or what was there before.
func TestOvertaken(t *testing.T) {
	ref := objects.Ref{Kind: objects.Tool, ID: "acme/greet"}
	a := &arrival{item: &objects.Item{Ref: ref, Sum: objects.DigestOf([]byte("arrived")), Signature: &objects.Signature{Key: objects.Fingerprint{1}}}}
	pins := func(text string) *chain.Lock {
		return &chain.Lock{Items: map[objects.Ref]chain.Pin{ref: {SHA256: objects.DigestOf([]byte(text)), Author: objects.Fingerprint{1}}}}
	}
	for name, c := range map[string]struct {
		before, now *chain.Lock
		want        bool
	}{
		"nothing was pinned, nothing is": {nil, nil, false},
		"it was removed":                 {pins("old"), &chain.Lock{}, false},
		"as before":                      {pins("old"), pins("old"), false},
		"what arrived":                   {pins("old"), pins("arrived"), false},
		"something else":                 {pins("old"), pins("other"), true},
		"something else, for the first":  {nil, pins("other"), true},
	} {
		if got := a.overtaken(c.before, c.now); got != c.want {
			t.Errorf("%s: overtaken = %v, want %v", name, got, c.want)
		}
	}
}
