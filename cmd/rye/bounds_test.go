package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestBoundsOfWholeFiles: 100 MB in every place where rye reads a file cost neither
// their size in memory nor the time to read them. The files have no blocks, so
// reading one whole would show in memory only.
func TestBoundsOfWholeFiles(t *testing.T) {
	t.Parallel()
	const (
		size   = 100 << 20
		time1  = 2 * time.Second // of the processor, for a program that starts in 4 ms
		memory = 80 << 20        // resident; rye alone takes 15 to 20 MiB
	)
	for name, c := range map[string]struct {
		path   string
		status []int
		args   []string
	}{
		"knowledge":       {noteFile, []int{20}, []string{"load", noteRef}},
		"knowledge, YAML": {".ai/knowledge/acme/notes.yaml", []int{20}, []string{"load", noteRef}},
		"directive":       {directiveFile, []int{20}, []string{"load", directiveRef}},
		"tool":            {toolFile, []int{20}, []string{"load", toolRef}},
		"tool, python":    {".ai/tools/acme/hello.py", []int{20}, []string{"load", toolRef}},
		"tool, JSON":      {".ai/tools/acme/hello.json", []int{20, 19, 11}, []string{"load", toolRef}},
		"config":          {".ai/config/acme/x.yaml", []int{20}, []string{"load", "config:acme/x"}},
		"to sign":         {noteFile, []int{20}, []string{"sign", noteRef}},
		"to verify":       {noteFile, []int{20}, []string{"verify"}},
		"bundle manifest": {".ai/tools/acme/pack/rye.bundle.yaml", []int{20, 19}, []string{"bundle", "verify", ".ai/tools/acme/pack"}},
		"project":         {".ai/rye.yaml", []int{20}, []string{"list"}},
		"lock":            {".ai/rye.lock", []int{20}, []string{"list"}},
		"policy":          {".ai/policy.yaml", []int{20}, []string{"execute", noteRef}},
		"allowed signers": {".ai/allowed_signers", []int{20}, []string{"trust", "pin", "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "--namespace", "acme"}},
		"trust store":     {"../home/.config/rye/trust.yaml", []int{20}, []string{"list"}},
		"user's policy":   {"../home/.config/rye/policy.yaml", []int{20}, []string{"execute", noteRef}},
		"key":             {"../home/.config/rye/keys/default", []int{20}, []string{"key", "list"}},
		"key to import":   {"big", []int{20}, []string{"key", "import", "big", "big"}},
		"public key":      {"big", []int{19}, []string{"trust", "pin", "big", "--namespace", "acme"}},
		"trusted of RYE":  {"big.toml", []int{19, 20}, []string{"trust", "import", "big.toml", "--namespace", "acme"}},
		"file to add":     {"big.md", []int{20}, []string{"add", "big.md", "--kind", "knowledge", "--as", "acme/big"}},
		"proposed change": {"big.txt", []int{20, 3}, []string{"registry", "root", "approve", "big.txt"}},
	} {
		h := newHome(t)
		if c.args[0] == "execute" {
			h.signed(noteFile, noteRef, attackNote)
		}
		path := filepath.Join(h.dir, filepath.FromSlash(c.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			err = errors.Join(f.Truncate(size), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := h.command(c.args...)
		out, status, took := measured(t, cmd)
		if !slices.Contains(c.status, status) {
			t.Errorf("%s: status %d, want one of %v\n%.600s", name, status, c.status, out)
		}
		if took.cpu > time1 {
			t.Errorf("%s: took %s of the processor", name, took.cpu)
		}
		if took.rss > memory {
			t.Errorf("%s: %d bytes resident", name, took.rss)
		}
	}
}
