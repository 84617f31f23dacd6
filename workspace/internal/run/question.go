package run

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/questions"
)

// Bounds of a question about a run. Values longer than a line are folded; further files are
// only counted, and the plan's digest covers their digests.
const (
	columns    = 160
	shownFiles = 20
)

// agreement is a person's consent to one execution: its subject, and the answers, which are
// used once.
type agreement struct {
	asked   bool
	subject chain.Subject
	answers []questions.Agreed
}

// ask puts a question about a run, with a description of the run before the question's own
// lines. A dry run asks the same and keeps no record.
func (j *job) ask(ctx context.Context, s *custody.Desk, q rye.Question) error {
	subject, with, err := subjectOf(s, j.plan, j.params)
	if err != nil {
		return err
	}
	about, err := j.describeRun(s, with)
	if err != nil {
		return err
	}
	q.Topic, q.Rights = "execute "+j.plan.Tool().Ref.String(), true
	q.Lines = fold(append(append(about, q.Lines...), "digest       "+subject.Digest().String()))
	j.agreed.asked, j.agreed.subject = true, subject
	if j.q.DryRun {
		return s.Ask(ctx, q)
	}
	yes, err := questions.Ask(ctx, s.Session, j.caller, subject.Digest(), q)
	j.agreed.answers = append(j.agreed.answers, yes)
	return err
}

// subjectOf is the present subject of an answer about this run.
func subjectOf(s *custody.Desk, plan *chain.Plan, params chain.Params) (chain.Subject, chain.Interpreter, error) {
	with, err := runsWith(s, plan)
	if err != nil {
		return chain.Subject{}, with, err
	}
	return chain.Subject{Plan: chain.DigestOf(plan, with), Params: objects.DigestOf(params.JSON), In: questions.Here(s.Session)}, with, nil
}

// runsWith is the plan's interpreter: its path, and its digest if it lies in the project.
func runsWith(s *custody.Desk, plan *chain.Plan) (with chain.Interpreter, err error) {
	p, thing, err := interpreterOf(s, plan)
	if err != nil {
		return with, err
	}
	with.Path = p.Path
	switch {
	case thing != nil:
		with.Sum = thing.Sum
	case p.Project: // named by the user, so there is no separate question about it
		parts, err := p.Identity()
		if err != nil {
			return with, err
		}
		with.Sum = sumOf(parts)
	}
	return with, nil
}

// sumOf is the digest of an interpreter's parts (docs/format/consent.md).
func sumOf(parts map[string][]byte) objects.Digest {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		text.WriteString(name + " " + objects.DigestOf(parts[name]).Hex() + "\n")
	}
	return objects.DigestOf([]byte(text.String()))
}

// describeRun describes the caller, the plan, the directory, the parameters and the reach of a
// run. It masks no value: rye puts no secret into parameters.
func (j *job) describeRun(s *custody.Desk, with chain.Interpreter) ([]string, error) {
	by := j.caller.Who()
	if itself := j.caller.Itself(); itself != "" {
		by += ", under the name " + quoted(itself)
	}
	dir := s.ProjectDir
	if dir == "" {
		dir = "outside any project"
	}
	lines := []string{"asked by     " + by, "directory    " + dir}
	lines = append(lines, describePlan(s, j.plan, with)...)
	lines = append(lines, describeParams(j.params.Values)...)
	reach, err := j.describeReach(s)
	return append(lines, reach...), err
}

// describePlan names the items of a plan with short digests; the plan's digest covers the full
// ones.
func describePlan(s *custody.Desk, plan *chain.Plan, with chain.Interpreter) []string {
	var lines []string
	for i, l := range plan.Links {
		word := "runs by      "
		if i == 0 {
			word = "item         "
		}
		it := l.Verified.Item()
		line := word + it.Ref.String()
		if v := it.Meta.Version; v != "" {
			line += " " + v
		}
		lines = append(lines, line+"  "+shortSum(it.Sum)+"  "+l.Space.String()+", signed by "+signerName(s, l))
	}
	for i, f := range plan.Around {
		if i == shownFiles {
			lines = append(lines, "can load     "+words.Plural(len(plan.Around)-i, "further file"))
			break
		}
		lines = append(lines, "can load     "+f.Path+"  "+shortSum(f.Sum))
	}
	if with.Path != "" {
		lines = append(lines, "program      "+with.Path)
	}
	return lines
}

func shortSum(d objects.Digest) string { return "sha256:" + d.Hex()[:16] + "…" }

// signerName names the signer of an item.
func signerName(s *custody.Desk, l chain.Link) string {
	key := l.Verified.Key()
	switch {
	case l.Space == objects.System:
		return "the standard library"
	case s.Trust.IsOwn(key):
		return "you, " + key.Fingerprint().String()
	}
	for _, p := range s.Trust.Pins() {
		if p.Key == key && p.Name != "" {
			return p.Name + ", " + key.Fingerprint().String()
		}
	}
	return key.Fingerprint().String()
}

// describeParams shows every parameter whole: text of several lines as lines, everything else
// as JSON. Characters that hide or move text are escaped.
func describeParams(values map[string]any) []string {
	if len(values) == 0 {
		return []string{"parameters   none"}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[name].(string)
		if !ok || !strings.Contains(text, "\n") {
			lines = append(lines, "parameter    "+words.Printable(name)+" = "+quoted(values[name]))
			continue
		}
		all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		lines = append(lines, "parameter    "+words.Printable(name)+", "+words.Plural(len(all), "line")+":")
		for _, l := range all {
			lines = append(lines, "    | "+l)
		}
	}
	return lines
}

// quoted is a value as JSON on one line.
func quoted(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "(no JSON)" // parameters came as JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// describeReach is reachOf in lines.
func (j *job) describeReach(s *custody.Desk) ([]string, error) {
	r, err := j.reachOf(s)
	if err != nil {
		return nil, err
	}
	lines := []string{"needs        " + r.Needs, "limits       " + r.Limits}
	if r.Sandbox != "" {
		lines = append(lines, "sandbox      "+r.Sandbox)
	}
	for _, what := range r.Unbound {
		lines = append(lines, "not limited  "+what)
	}
	return lines, nil
}

// fold escapes and breaks lines, so that all of each is seen, and no part of one looks like the
// next.
func fold(lines []string) (out []string) {
	for _, l := range lines {
		l = strings.ReplaceAll(l, "\n", `\n`)
		out = append(out, words.Fold(words.Printable(l), columns)...)
	}
	return out
}

// unchanged reads everything again after a question, and refuses to go on if it differs from
// the agreed subject. Examples are a file that was changed and signed again, another
// interpreter, another directory, or a policy that refuses now. Then the answers are void.
func (r *Runner) unchanged(ctx context.Context, j *job) error {
	if !j.agreed.asked {
		return nil
	}
	err := r.compare(ctx, j)
	if err != nil {
		_ = j.agreed.use() // already used ones are void as well
	}
	return err
}

// compare reads the agreed subject again, and compares.
func (r *Runner) compare(ctx context.Context, j *job) error {
	seen, err := r.host.Open()
	if err != nil {
		return err
	}
	defer seen.Close()
	seen, lib, err := locks.Library(seen.For(j.caller, j.q.Ref), j.q)
	if err != nil {
		return err
	}
	plan, err := chain.Resolve(ctx, lib, j.q.Ref)
	if err != nil {
		return fault.Wrap(err, "check your approval again")
	}
	s := r.keys.Desk(seen)
	is, _, err := subjectOf(s, plan, j.params)
	if err != nil {
		return err
	}
	if was := j.agreed.subject; is != was {
		return fault.New(fault.Denied, "execute %s: it has changed since you approved it: %s", j.q.Ref, difference(is, was)).
			Advise("review it, then run it again")
	}
	again := &job{caller: j.caller, q: j.q, plan: plan, params: j.params}
	d, q, err := again.judge(s)
	if err == nil && d.Verdict == policy.Deny {
		err = d.Err(q)
	}
	return err
}

// difference names the part in which two subjects differ.
func difference(is, was chain.Subject) string {
	switch {
	case is.In != was.In:
		return "its directory"
	case is.Plan != was.Plan:
		return "the item, its runtime, a file that it can load, or its interpreter"
	}
	return "its parameters"
}

// use marks the answers as used.
func (a agreement) use() error {
	for _, one := range a.answers {
		if err := one.Use(); err != nil {
			return err
		}
	}
	return nil
}

// questionAbout is the question whether an unsigned thing may be used.
func questionAbout(s *custody.Desk, plan *chain.Plan, t consent.Thing, changed []string) rye.Question {
	ref := plan.Tool().Ref
	q := rye.Question{Mend: fault.Command("rye policy allow %s --env", ref)}
	switch t.What {
	case consent.Interpreter:
		q.Mend = fault.Command("rye policy allow %s --interpreter", ref)
	case consent.Secrets:
		q.Mend = fault.Command("rye policy allow %s --secrets", ref)
	}
	q.Text, q.Lines = describe(s, plan, t)
	if changed != nil {
		q.Text = "Changed since your approval. " + q.Text
		q.Lines = append(q.Lines, changed...)
	}
	return q
}
