package workspace_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects/trust"
)

var updateVectors = flag.Bool("update", false, "rewrite what testdata/vectors/thread.json says comes out")

const threadVectors = "../testdata/vectors/thread.json"

// threadVector is what of the vectors this package carries out; agent/thread has the rest.
type threadVector struct {
	About       string          `json:"about"`
	MachineSeed string          `json:"machine_seed"`
	ThreadSeed  string          `json:"thread_seed"`
	Description string          `json:"description"`
	Signature   string          `json:"signature"`
	Turns       []vectorTurn    `json:"turns"`
	Refused     json.RawMessage `json:"refused"`
}

type vectorTurn struct {
	Thread   string            `json:"thread"`
	Number   int               `json:"number"`
	Time     time.Time         `json:"time"`
	Subject  string            `json:"subject"`
	Trailers [][2]string       `json:"trailers"`
	Files    map[string]string `json:"files"`
	Commit   string            `json:"commit"`
}

// seeded is a key that is the same in every run.
type seeded struct{ key ed25519.PrivateKey }

func (s seeded) Public() trust.PublicKey {
	k, _ := trust.PublicKeyFromBytes(s.key.Public().(ed25519.PublicKey))
	return k
}

func (s seeded) Sign(_ context.Context, m []byte) ([]byte, error) { return ed25519.Sign(s.key, m), nil }

func keyOf(t *testing.T, seed string) ed25519.PrivateKey {
	t.Helper()
	raw, err := hex.DecodeString(seed)
	if err != nil || len(raw) != ed25519.SeedSize {
		t.Fatalf("seed %q: %v", seed, err)
	}
	return ed25519.NewKeyFromSeed(raw)
}

// TestThreadVectors carries out docs/format/thread.md: the same description has the same
// signature, and the same turns are the same commits.
func TestThreadVectors(t *testing.T) {
	raw, err := os.ReadFile(threadVectors)
	if err != nil {
		t.Fatal(err)
	}
	var v threadVector
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	got := v
	machine := seeded{keyOf(t, v.MachineSeed)}
	if got.Signature, err = trust.SignSSHSIG(t.Context(), machine, "rye-thread", []byte(v.Description)); err != nil {
		t.Fatal(err)
	}
	p := project(t)
	got.Turns = nil
	for _, turn := range v.Turns {
		files := map[string][]byte{}
		for path, text := range turn.Files {
			files[path] = []byte(text)
		}
		turn.Commit, err = p.Record().Commit(t.Context(), rye.Terminal(), rye.BranchCommit{Thread: turn.Thread, Key: keyOf(t, v.ThreadSeed),
			Turns: []rye.TurnCommit{{Number: turn.Number, Time: turn.Time, Subject: turn.Subject, Trailers: turn.Trailers, Files: files}}})
		if err != nil {
			t.Fatal(err)
		}
		got.Turns = append(got.Turns, turn)
	}
	if *updateVectors {
		out, err := json.MarshalIndent(got, "", "  ")
		if err == nil {
			err = os.WriteFile(threadVectors, append(out, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.Signature != v.Signature {
		t.Errorf("signature:\n%s\nwant\n%s", got.Signature, v.Signature)
	}
	if by, err := trust.VerifySSHSIG(v.Signature, "rye-thread", []byte(v.Description)); err != nil || by != machine.Public() {
		t.Errorf("VerifySSHSIG = %s, %v", by, err)
	}
	if _, err := trust.VerifySSHSIG(v.Signature, "file", []byte(v.Description)); err == nil {
		t.Error("the signature counts in another namespace")
	}
	for i, turn := range got.Turns {
		if turn.Commit != v.Turns[i].Commit {
			t.Errorf("turn %d is commit %s, want %s", turn.Number, turn.Commit, v.Turns[i].Commit)
		}
	}
}
