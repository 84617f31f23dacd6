package bearer

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestTokens(t *testing.T) {
	ctx := context.Background()
	f := File(filepath.Join(t.TempDir(), "config", "mcp-tokens.json"))
	d := &Door{File: f}
	knows := func(token, want string, now time.Time) {
		t.Helper()
		if name, ok := d.Name(token, now); name != want || ok != (want != "") {
			t.Errorf("the token is of %q (%v), want %q", name, ok, want)
		}
	}
	knows("x", "", noon)
	ann, err := f.Add(ctx, "ann", noon)
	if err != nil {
		t.Fatal(err)
	}
	bob, err := f.Add(ctx, "a", noon)
	if err != nil {
		t.Fatal(err)
	}
	if len(ann.Token) != len(prefix)+43 || ann.Token == bob.Token {
		t.Errorf("tokens %q and %q", ann.Token, bob.Token)
	}
	knows(ann.Token, "ann", noon)
	knows(bob.Token, "a", noon)
	for _, no := range []string{"", ann.Token[1:], ann.Token + "x", strings.ToUpper(ann.Token), digest(ann.Token)} {
		knows(no, "", noon)
	}
	if _, err := f.Add(ctx, "ann", noon); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second token for ann: %v", err)
	}
	next, err := f.Rotate(ctx, "ann", noon)
	if err != nil {
		t.Fatal(err)
	}
	knows(next.Token, "ann", noon)
	knows(ann.Token, "ann", noon.Add(grace-time.Second))
	knows(ann.Token, "", noon.Add(grace))
	third, _ := f.Rotate(ctx, "ann", noon.Add(time.Hour))
	knows(ann.Token, "", noon.Add(time.Hour)) // one predecessor counts, not every one
	knows(next.Token, "ann", noon.Add(time.Hour))
	if err := f.Remove(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	knows(third.Token, "", noon.Add(time.Hour))
	knows(next.Token, "", noon.Add(time.Hour))
	knows(bob.Token, "a", noon)
	for what, err := range map[string]error{"remove": f.Remove(ctx, "ann"), "rotate": func() error { _, err := f.Rotate(ctx, "ann", noon); return err }()} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s what is not there: %v", what, err)
		}
	}
	raw, err := os.ReadFile(string(f))
	if err != nil || bytes.Contains(raw, []byte(bob.Token)) || bytes.Contains(raw, []byte(bob.Token[len(prefix):])) {
		t.Errorf("the file holds the token: %s, %v", raw, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, _ := os.Stat(string(f)); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	os.Chmod(string(f), 0o640)
	if _, err := f.List(); !fault.Is(err, fault.Auth) {
		t.Errorf("others may read it: %v", err)
	}
	knows(bob.Token, "", noon)
}

func TestNames(t *testing.T) {
	for name, good := range map[string]bool{"a": true, "claude-code_2": true, "7": true, strings.Repeat("a", 32): true,
		"": false, "A": false, "-a": false, "a b": false, "a/b": false, "ü": false, "a\n": false, strings.Repeat("a", 33): false} {
		if err := CheckName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestAtOnce: changes by several at once are all there.
func TestAtOnce(t *testing.T) {
	f := File(filepath.Join(t.TempDir(), "mcp-tokens.json"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := f.Add(context.Background(), fmt.Sprint("c", i), noon); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := f.List(); err != nil || len(list) != 8 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
}

// FuzzTokens: what is read is written as the same bytes, or is refused.
func FuzzTokens(f *testing.F) {
	sum := strings.Repeat("0a", 32)
	f.Add([]byte(`{"v":1,"tokens":[]}` + "\n"))
	f.Add([]byte(`{"v":1,"tokens":[{"name":"a","sha256":"` + sum + `","made":"2026-01-02T03:04:05Z","before":{"sha256":"` + sum + `","until":"2026-01-03T03:04:05Z"}},{"name":"b","sha256":"` + sum + `","made":"2026-01-02T03:04:05Z"}]}` + "\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := parse(raw)
		if err != nil {
			if !fault.Is(err, fault.Malformed) {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		if len(raw) > 0 && !bytes.Equal(encode(all), raw) {
			t.Errorf("%q is written as %q", raw, encode(all))
		}
	})
}
