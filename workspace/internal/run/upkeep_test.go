package run

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/chain/primitive"
)

// TestSandboxChecks: doctor claims no attempt that was not made, and proposes user namespaces only
// where a system has them.
func TestSandboxChecks(t *testing.T) {
	acts := []primitive.Act{{Name: "read a file outside", Refused: true}}
	for _, c := range []struct {
		name, system      string
		rep               primitive.Report
		text, mend        string // of the sandbox
		deeper, namespace string // of S3
	}{
		{"macOS", "darwin", primitive.Report{NoDeeper: "only Linux has namespaces"}, "nothing was attempted", "", "only Linux has namespaces", ""},
		{"Windows", "windows", primitive.Report{NoDeeper: "only Linux has namespaces"}, "nothing was attempted", "", "only Linux has namespaces", ""},
		{"an old kernel", "linux", primitive.Report{Tier: primitive.S1, NoDeeper: "this kernel gives no S2"}, "nothing was attempted", "Landlock", "this kernel gives no S2", ""},
		{"no namespaces", "linux", primitive.Report{Tier: primitive.S2, Landlock: 4, Acts: acts, NoDeeper: "forbidden"}, "1 forbidden act attempted inside, all refused", "", "forbidden", "allow user namespaces"},
		{"all", "linux", primitive.Report{Tier: primitive.S2, Landlock: 4, Acts: acts, Deeper: acts}, "1 forbidden act attempted inside, all refused", "", "S3, namespaces: 1 forbidden act", ""},
	} {
		got := sandboxChecks(c.system, c.rep)
		for i, want := range []struct{ text, mend string }{{c.text, c.mend}, {c.deeper, c.namespace}} {
			mend := got[i].Mend.String()
			if !got[i].OK || !strings.Contains(got[i].Text, want.text) || !strings.Contains(mend, want.mend) || want.mend == "" && mend != "" || strings.Contains(got[i].Text, " 0 ") {
				t.Errorf("%s: check %d is %+v, want %q, mended by %q", c.name, i, got[i], want.text, want.mend)
			}
		}
	}
}
