package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// The log of verdicts is in the state directory: one line of JSON each, newest last, two files of
// at most verdictBytes and a line.
const (
	verdictFile  = "verdicts.jsonl"
	verdictOld   = "verdicts.1.jsonl"
	verdictBytes = 4 << 20
	maxVerdict   = 16 << 10 // bytes read of a line
)

// RecordVerdict passes a decision of the policy to Host.OnVerdict, and with record appends it to
// the log: for runs that are about to start, or were refused. asked says that a person decided.
// refused is nil when the caller may. A failure to write the log is no error.
func (s *Session) RecordVerdict(q policy.Request, d policy.Decision, asked bool, refused error, record bool) *rye.Verdict {
	v := rye.Verdict{
		Time: s.Now().UTC().Format(time.RFC3339), Caller: q.Caller, Thread: q.Thread, Verb: q.Verb, Ref: q.Ref.String(),
		Verdict: policy.Allow.String(), Tier: d.Tier.String(), Rule: d.Rule, Asked: asked, Project: s.ProjectDir,
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
	if s.OnVerdict != nil {
		s.OnVerdict(v)
	}
	if record && s.StateDir != "" {
		if err := appendVerdict(s.StateDir, v); err != nil {
			s.Say("the decision could not be recorded: " + err.Error())
		}
	}
	return &v
}

// maxHosts are the hosts of one line, which is then shorter than maxVerdict: a name has at most 253
// bytes.
const maxHosts = 32

// RecordHosts appends the hosts that a run reached to the log, in as many lines as they need. v is the
// decision that allowed the run.
func (s *Session) RecordHosts(v *rye.Verdict, hosts []rye.HostUse) {
	if v == nil || s.StateDir == "" {
		return
	}
	for some := range slices.Chunk(hosts, maxHosts) {
		one := *v
		one.Time, one.Verb, one.Findings, one.Hosts = s.Now().UTC().Format(time.RFC3339), "reach", nil, some
		if err := appendVerdict(s.StateDir, one); err != nil {
			s.Say("the hosts of the run could not be recorded: " + err.Error())
			return
		}
	}
}

// appendVerdict adds one line in one write, which other processes do not split.
func appendVerdict(dir string, v rye.Verdict) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, verdictFile)
	if st, err := os.Stat(path); err == nil && st.Size() > verdictBytes {
		if err := os.Rename(path, filepath.Join(dir, verdictOld)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// PolicyLog returns the last verdicts about executions on this machine, oldest first, at most
// limit of them; 0 is all in the log.
func (h *Host) PolicyLog(ctx context.Context, limit int) ([]rye.Verdict, error) {
	if h.StateDir == "" {
		return nil, fault.New(fault.NotFound, "no state directory, so decisions are not recorded")
	}
	var all []rye.Verdict
	for _, name := range []string{verdictOld, verdictFile} {
		list, err := readVerdicts(ctx, filepath.Join(h.StateDir, name))
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

// readVerdicts reads one file. It skips a line that a crash cut short, and one that is too long.
func readVerdicts(ctx context.Context, path string) (list []rye.Verdict, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, maxVerdict)
	for long := false; ctx.Err() == nil; {
		line, err := in.ReadSlice('\n')
		whole := err == nil && !long
		long = errors.Is(err, bufio.ErrBufferFull)
		var v rye.Verdict
		if whole && json.Unmarshal(line, &v) == nil && v.Verb != "" {
			list = append(list, v)
		}
		if err != nil && !long {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return list, err
		}
	}
	return list, ctx.Err()
}
