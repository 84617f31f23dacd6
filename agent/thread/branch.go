package thread

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// When turns are put on the branch: the journal keeps them until then.
const (
	packTurns = 32              // turns at most in one pack
	packAfter = 5 * time.Second // since the oldest of them ended
)

// scribe puts turns on the branch.
type scribe struct{ *thread }

// commitSome puts turns on the branch when there are many, or when they waited long.
func (p *scribe) commitSome(ctx context.Context) error {
	n := len(p.h.ready)
	if n < packTurns && (n == 0 || p.now().Sub(p.h.ready[0].at) < packAfter) {
		return nil
	}
	return p.commitAll(ctx)
}

// commitAll puts every turn that ended on the branch. The same turns give the same commits,
// whoever makes them.
func (p *scribe) commitAll(ctx context.Context) error {
	if len(p.h.ready) == 0 {
		return nil
	}
	if err := p.j.Sync(); err != nil { // no branch is ahead of its journal, whatever becomes of the power
		return &stop{reason: "disk", detail: err.Error()}
	}
	var turns []rye.TurnCommit
	for _, s := range p.h.ready {
		t, err := p.commitOf(s)
		if err != nil {
			return err
		}
		turns = append(turns, t)
	}
	_, err := p.o.Record.Commit(ctx, recorder, rye.BranchCommit{Thread: p.d.ID, Key: p.key, Turns: turns})
	if err != nil {
		return fault.Wrap(err, "put thread %s on its branch", p.d.ID)
	}
	p.h.ready = nil
	return nil
}

// compareBranch compares the journal with the branch, which cannot be changed: a journal that
// lost its end would repeat what was done. Turns that are on the branch need no commit.
func (p *scribe) compareBranch(ctx context.Context) error {
	b, err := p.o.Record.Branch(ctx, recorder, p.d.ID)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	last := b.Turns - 1
	at := slices.IndexFunc(p.h.ready, func(s sealed) bool { return s.number == last })
	if at >= 0 {
		raw, err := p.o.Record.ReadTurn(ctx, recorder, p.d.ID, last, "turn.jsonl")
		if err != nil {
			return err
		}
		if !bytes.Equal(raw, p.h.ready[at].lines) {
			return fault.New(fault.Integrity, "turn %d of thread %s differs from the one on its branch", last, p.d.ID).Advise("git log threads/%s shows its turns", p.d.ID)
		}
	} else if p.h.turn < b.Turns {
		if !p.accept {
			return fault.New(fault.Integrity, "the journal of thread %s ends in turn %d, and its branch has turn %d", p.d.ID, p.h.turn, last).
				Advise("git log threads/%s shows its turns; to resume without the rest, a person passes --accept-damage", p.d.ID)
		}
		p.h.turn = b.Turns
	}
	p.h.ready = slices.DeleteFunc(p.h.ready, func(s sealed) bool { return s.number <= last })
	return nil
}

// commitOf is one turn as a commit: its records, the state after it, and what they name.
func (p *scribe) commitOf(s sealed) (rye.TurnCommit, error) {
	status, err := json.Marshal(map[string]any{"turn": s.number, "next": s.next, "usage": s.usage, "spent": s.spent})
	if err != nil {
		return rye.TurnCommit{}, err
	}
	t := rye.TurnCommit{Number: s.number, Time: s.at, Subject: fmt.Sprintf("turn %d: %s", s.number, s.next),
		Files: map[string][]byte{"turn.jsonl": s.lines, "state/status.json": append(status, '\n')}}
	if s.state != nil {
		t.Files["state/loop.json"] = slices.Concat(s.state, []byte("\n"))
	}
	for _, sum := range s.kept {
		raw, err := readArtifact(p.dir, sum)
		if err != nil {
			return t, err
		}
		t.Files["artifacts/"+sum] = raw
	}
	if s.number == 0 {
		if err := p.addBeginning(t.Files); err != nil {
			return t, err
		}
		t.Subject = "begin " + p.d.Directive
	}
	t.Trailers = [][2]string{{"Rye-Status", s.next}, {"Rye-Model", cmp.Or(s.model, p.d.Model)}, {"Rye-Tokens", tokensTrailer(s.usage)},
		{"Rye-Spend-Micros", strconv.FormatInt(int64(s.spent), 10)}, {"Rye-Journal", hex.EncodeToString(s.digest[:])}}
	return t, nil
}

// addBeginning adds what the thread began with.
func (p *scribe) addBeginning(files map[string][]byte) error {
	for _, name := range []string{descriptionFile, signatureFile, itemsFile, instructionsFile} {
		raw, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			return err
		}
		files[name] = raw
	}
	return readItems(p.dir, func(path string, raw []byte) { files["items/"+path] = raw })
}

func tokensTrailer(u rye.Usage) string {
	return fmt.Sprintf("input=%d cache_read=%d cache_write=%d cache_write_long=%d output=%d reasoning=%d", u.Input, u.CacheRead, u.CacheWrite, u.CacheLong, u.Output, u.Reasoning)
}

// readArtifact returns what a record names; it was verified when it was kept.
func readArtifact(dir, sum string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "artifacts", sum))
	if err != nil {
		return nil, fault.New(fault.Integrity, "artifact %s: %w", sum, err)
	}
	if got := sha256.Sum256(raw); hex.EncodeToString(got[:]) != sum {
		return nil, fault.New(fault.Integrity, "artifact %s does not match its digest", sum)
	}
	return raw, nil
}
