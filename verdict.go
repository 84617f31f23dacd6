package rye

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Verdict is one decision of the policy, as an event. Parameters and commands are
// not in it: they may hold secrets.
type Verdict struct {
	Time     string   `json:"time"` // RFC 3339, UTC
	Caller   string   `json:"caller"`
	Verb     string   `json:"verb"`
	Ref      string   `json:"ref"`
	SHA256   string   `json:"sha256,omitempty"` // of the item's file; "" when the capability alone decided
	Verdict  string   `json:"verdict"`          // allow or deny
	Tier     string   `json:"tier,omitempty"`
	Rule     string   `json:"rule"`
	Findings []string `json:"findings,omitempty"` // labels of what command analysis met
	Asked    bool     `json:"asked,omitempty"`    // a person decided, or a flag that stands for one
	Project  string   `json:"project,omitempty"`
}

// The log of verdicts lies in the state directory: one line of JSON each, newest
// last, two files of at most verdictBytes and a line.
const (
	verdictFile  = "verdicts.jsonl"
	verdictOld   = "verdicts.1.jsonl"
	verdictBytes = 4 << 20
	maxVerdict   = 16 << 10 // bytes of a line that is read back
)

// verdict tells what was decided to whoever listens, and records it when something
// is about to run or was refused to. A disk that cannot be written stops nothing.
func (s *session) verdict(q policy.Request, d policy.Decision, asked bool, refused error, record bool) {
	v := Verdict{
		Time: s.r.o.Now().UTC().Format(time.RFC3339), Caller: q.Caller, Verb: q.Verb, Ref: q.Ref.String(),
		Verdict: policy.Allow.String(), Tier: d.Tier.String(), Rule: d.Rule, Asked: asked, Project: s.r.o.Project,
	}
	if refused != nil {
		v.Verdict = policy.Deny.String()
	}
	if q.Digest != (objects.Digest{}) {
		v.SHA256 = q.Digest.Hex()
	}
	for _, f := range q.Findings {
		v.Findings = append(v.Findings, f.Label)
	}
	s.decided = &v
	if s.r.o.Verdict != nil {
		s.r.o.Verdict(v)
	}
	if !record || s.r.o.StateDir == "" {
		return
	}
	if err := appendVerdict(s.r.o.StateDir, v); err != nil {
		s.r.progress("the verdict could not be recorded: " + err.Error())
	}
}

// appendVerdict adds one line in one write, which other processes do not split.
func appendVerdict(dir string, v Verdict) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, verdictFile)
	if st, err := os.Stat(path); err == nil && st.Size() > verdictBytes {
		if err := os.Rename(path, filepath.Join(dir, verdictOld)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// PolicyLog returns the last verdicts about executions on this machine, oldest first,
// at most limit of them; 0 is all that are kept.
func (r *Rye) PolicyLog(ctx context.Context, limit int) ([]Verdict, error) {
	if r.o.StateDir == "" {
		return nil, fault.New(fault.NotFound, "no state directory, so no verdicts are kept")
	}
	var all []Verdict
	for _, name := range []string{verdictOld, verdictFile} {
		list, err := readVerdicts(ctx, filepath.Join(r.o.StateDir, name))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if limit > 0 && len(all) > limit {
		all = all[len(all)-limit:]
	}
	return all, nil
}

// readVerdicts reads one file. A line that a crash cut short is passed over.
func readVerdicts(ctx context.Context, path string) (list []Verdict, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, 0, 4096), maxVerdict)
	for sc.Scan() && ctx.Err() == nil {
		var v Verdict
		if json.Unmarshal(sc.Bytes(), &v) == nil && v.Verb != "" {
			list = append(list, v)
		}
	}
	if err := sc.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return list, err
	}
	return list, ctx.Err()
}
