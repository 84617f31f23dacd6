package workspace_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
)

// talk makes a turn of a thread as the agent records it: about 4 KiB of lines, and a little
// state that changes with each.
func talk(r *rand.Rand, n int) rye.TurnCommit {
	words := func(size int) string {
		var b strings.Builder
		for b.Len() < size {
			for w := r.IntN(3000); w > 0; w /= 7 {
				b.WriteByte('a' + byte(w*11%26))
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	sum := func() string {
		return fmt.Sprintf("%016x%016x%016x%016x", r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64())
	}
	var lines bytes.Buffer
	for i, event := range []string{"cognition_in", "cognition_out", "tool_call_start", "tool_call_result", "turn_done"} {
		fmt.Fprintf(&lines, `{"seq":%d,"ts":"2026-11-22T15:%02d:%02d.%06dZ","event_type":%q,"prev":%q,"payload":{"text":%q}}`+"\n",
			5*n+i, n/60%60, n%60, r.IntN(1e6), event, sum(), words(630))
	}
	return rye.TurnCommit{Number: n, Time: time.Unix(1_800_000_000+int64(n), 0), Subject: fmt.Sprintf("turn %d: continued", n),
		Trailers: [][2]string{{"Rye-Status", "continued"}, {"Rye-Model", "acme/model"},
			{"Rye-Tokens", fmt.Sprintf("input=%d cache_read=0 cache_write=0 cache_write_long=0 output=%d reasoning=0", 1000*n, 900+r.IntN(200))},
			{"Rye-Spend-Micros", fmt.Sprint(n * 1234)}, {"Rye-Journal", sum()}},
		Files: map[string][]byte{"turn.jsonl": lines.Bytes(), "state/status.json": fmt.Appendf(nil, "{\"next\":\"continued\",\"spent\":%d,\"turn\":%d}\n", n*1234, n),
			"state/loop.json": fmt.Appendf(nil, "{\"turn\":%d,\"window\":[%d,%d]}\n", n, max(0, n-20), n)}}
}

// A thread costs little more than its transcript deflated, whether its turns came together or
// one by one, and its record stays in few packs that git finds nothing wrong with.
func TestThreadIsSmall(t *testing.T) {
	n := 150
	if os.Getenv("RYE_SOAK") != "" {
		n = 1000
	}
	for name, together := range map[string]int{"together": 32, "one by one": 1} {
		t.Run(name, func(t *testing.T) {
			p := project(t)
			store := filepath.Join(p.record(), "store.git")
			before := sizeOf(t, store)
			var transcript bytes.Buffer
			z, _ := gzip.NewWriterLevel(&transcript, gzip.BestSpeed)
			r := rand.New(rand.NewPCG(1, 2))
			var todo []rye.TurnCommit
			begun := time.Now()
			for i := range n {
				todo = append(todo, talk(r, i))
				z.Write(todo[len(todo)-1].Files["turn.jsonl"])
				if len(todo) < together && i < n-1 {
					continue
				}
				if _, err := p.Record().Commit(t.Context(), rye.Terminal(), rye.BranchCommit{Thread: someThread, Key: threadKey, Turns: todo}); err != nil {
					t.Fatal(err)
				}
				todo = nil
			}
			z.Close()
			took := time.Since(begun)
			used := sizeOf(t, store) - before
			most := int64(transcript.Len())*13/10 + 800*int64(n)
			packs, _ := filepath.Glob(filepath.Join(store, "objects/pack/*.pack"))
			t.Logf("%d turns: %d bytes in %d packs; gzip -1 has %d, so at most %d; %v a turn", n, used, len(packs), transcript.Len(), most, took/time.Duration(n))
			if used > most {
				t.Errorf("%d bytes, want at most %d", used, most)
			}
			if len(packs) > 9 {
				t.Errorf("%d packs", len(packs))
			}
			if git, err := exec.LookPath("git"); err == nil {
				if out, err := exec.Command(git, "-C", store, "fsck", "--strict").CombinedOutput(); err != nil {
					t.Errorf("git fsck: %v\n%s", err, out)
				}
			}
			raw, err := p.Record().ReadTurn(t.Context(), rye.Terminal(), someThread, 3, "turn.jsonl")
			if err != nil || !bytes.Contains(raw, []byte(`"seq":15,`)) {
				t.Errorf("turn 3: %.60q, %v", raw, err)
			}
		})
	}
}

// sizeOf sums up the packs of a repository and their indexes.
func sizeOf(t *testing.T, store string) (n int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(store, "objects/pack/pack-*"))
	for _, name := range names {
		var fi os.FileInfo
		if fi, err = os.Stat(name); err == nil {
			n += fi.Size()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}
