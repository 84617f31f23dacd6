package layers

import (
	"slices"
	"strings"
	"testing"
)

// outward are the packages of Go's library that reach files, processes or hosts. Below net only
// net/url is pure.
var outward = []string{"os", "net", "syscall", "io/ioutil", "path/filepath", "crypto/tls"}

// TestOplogIsPure: what an operation means depends on its bytes alone, so that every reader comes
// to the same. No file, host or clock has a say.
func TestOplogIsPure(t *testing.T) {
	n := 0
	for _, f := range sources(t) {
		if f.room != "registry/oplog" || f.test {
			continue
		}
		n++
		for _, imp := range f.imports {
			if imp != "net/url" && within(imp, outward) {
				t.Errorf("%s imports %s", f.name, imp)
			}
			if in, ok := inside(imp); ok && slices.Contains([]string{"store/transport", "internal/place"}, in) {
				t.Errorf("%s imports %s", f.name, in)
			}
		}
		for _, clock := range []string{"time.Now(", "time.Since(", "time.After("} {
			if strings.Contains(string(f.text), clock) {
				t.Errorf("%s asks the clock: %s", f.name, clock)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d files were looked at", n)
	}
}
