package transport_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye/store/transport"
)

// No two hosts share a variable: otherwise a token for one would be sent to the other.
func TestTokenVariablesAreApart(t *testing.T) {
	host := rapid.StringMatching(`[a-c-]{1,4}(\.[a-c-]{1,4}){0,3}(:[0-9]{1,3})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := host.Draw(t, "a"), host.Draw(t, "b")
		va, vb := transport.TokenVariable(a), transport.TokenVariable(b)
		if va != "" && va == vb && a != b {
			t.Fatalf("%q and %q are both %s", a, b, va)
		}
		if strings.Trim(va, "RYE_TOKNABC0123456789") != "" {
			t.Fatalf("%q is no name of a variable", va)
		}
	})
}
