package run

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/network"
	"github.com/rye-os/rye/chain/network/forward"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Execute runs a tool exactly as signed, or returns the text of a directive or a knowledge
// entry. The gates have one order for every caller: integrity, capability, parameters, lock,
// policy (tier, commands, approval), patches, consent to unsigned things, hosts, gaps of the sandbox,
// run. Unsigned things are .env files and a project's interpreter. A dry run passes every gate
// but the last.
func (r *Runner) Execute(ctx context.Context, c rye.Caller, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
	j := &job{caller: c, q: q, watch: newStopwatch()}
	if q.Ref.Kind == objects.Tool { // nothing else runs
		primitive.Ahead()
	}
	ctx, s, end, err := r.begin(ctx, j)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := j.demands(s); err != nil {
		return nil, err
	}
	q = j.q
	item, err := j.find(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := s.Allow(c, "execute", q.Ref); err != nil {
		return nil, err
	}
	if q.Ref.Kind != objects.Tool {
		if _, err := withArguments(item.Verified.Item(), q); err != nil {
			return nil, err
		}
		if err := s.Admit(ctx, j.rules.Demands, session.UsedOf(item)); err != nil {
			return nil, err
		}
		j.warnings = locks.WarningsOf(s.Session, item)
		if err := j.mayUsePatched(ctx, s, q.Ref, nil, item.Verified); err != nil {
			return nil, err
		}
		return j.instruct(item)
	}
	if err := runnable(item.Verified.Item()); err != nil {
		return nil, err
	}
	seen, lib, err := locks.Library(s.Session, q)
	if err != nil {
		return nil, err
	}
	s = s.In(seen)
	if j.plan, err = chain.Resolve(ctx, lib, q.Ref); err != nil {
		return nil, err
	}
	if err := j.asPinned(); err != nil {
		return nil, err
	}
	if err := j.admitted(ctx, s); err != nil {
		return nil, err
	}
	if s.Wordless && slices.ContainsFunc(j.plan.Needs().Rye, func(n string) bool { return strings.HasPrefix(n, "rye.search") }) {
		return nil, fault.New(fault.Failed, "execute %s, which may search: %w", q.Ref, rye.WordlessError{})
	}
	j.warnings = locks.Warnings(seen, j.plan)
	j.watch.lap(&j.watch.parts.Verify)
	j.ward = watch(ctx, s, j.plan)
	defer j.ward.end()
	given, err := withArguments(j.plan.Tool(), q)
	if err != nil {
		return nil, err
	}
	if j.params, err = j.plan.Check(given); err != nil {
		return nil, withParams(j.plan.Tool(), err)
	}
	if err = j.patchesLocked(q.Ref, chain.PatchedOf(j.plan)); err != nil {
		return nil, err // before the drift, whose remedy is a lock that takes no patch
	}
	if j.lock, err = locks.Match(ctx, seen, j.plan, q); err != nil {
		return nil, err
	}
	if j.verdict, err = j.decide(ctx, s); err != nil {
		return nil, err
	}
	if err = j.mayUsePatched(ctx, s, q.Ref, j.plan); err != nil {
		return nil, err
	}
	if j.unsigned, err = j.consentTo(ctx, s); err != nil {
		return nil, err
	}
	if err = j.meetHost(ctx, s); err != nil {
		return nil, err
	}
	if err = j.meetWays(ctx, s); err != nil {
		return nil, err
	}
	if err = j.acceptGaps(ctx, s); err != nil {
		return nil, err
	}
	if err = r.unchanged(ctx, j); err != nil {
		return nil, err
	}
	if err = j.checkVersion(ctx); err != nil {
		return nil, err
	}
	j.watch.lap(&j.watch.parts.Gate)
	if q.DryRun {
		return j.rehearse(s)
	}
	if err = j.agreed.use(); err != nil {
		return nil, err
	}
	if err = j.begins(); err != nil {
		return nil, err
	}
	runs, done, err := runsDir(s)
	if err != nil {
		return nil, err
	}
	defer done()
	if j.dir, err = j.materialise(s, runs); err != nil {
		return nil, err
	}
	defer j.dir.Remove()
	return r.run(ctx, s, j)
}

// runnable refuses an item that only runs others: by itself, it would read its own text as the
// program.
func runnable(it *objects.Item) error {
	kind := it.Meta.ToolType
	if kind != "runtime" && kind != "primitive" {
		return nil
	}
	return fault.New(fault.Usage, "execute %s: a tool of type %s only serves other tools and does not run by itself", it.Ref, kind).
		Advise("execute a tool that uses it; rye search lists them")
}

// asPinned refuses a plan whose links differ from the caller's pins.
func (j *job) asPinned() error {
	if j.q.Pins == nil {
		return nil
	}
	for _, l := range j.plan.Links {
		it := l.Verified.Item()
		switch want, ok := j.q.Pins[it.Ref.String()]; {
		case !ok:
			return fault.New(fault.Drift, "execute %s: %s is new since this run began", j.q.Ref, it.Ref)
		case want != it.Sum.String():
			return fault.New(fault.Drift, "execute %s: %s has changed since this run began", j.q.Ref, it.Ref)
		}
	}
	return nil
}

// begins tells the caller that the tool is about to run.
func (j *job) begins() error {
	if j.q.Begin == nil {
		return nil
	}
	return j.q.Begin(j.planned())
}

// job is one execution: the request, the plan, and the results of every gate.
type job struct {
	caller   rye.Caller
	q        rye.ExecuteRequest
	rules    policy.Rules
	plan     *chain.Plan
	params   chain.Params
	lock     locks.Matched     // the comparison with the lock
	verdict  *rye.Verdict      // of the policy
	warnings []string          // registries' warnings about the items
	agreed   agreement         // a person's yes
	unsigned unsigned          // the unsigned things that it uses
	ward     *watched          // the watch on files in the project that other programs run
	open     bool              // a person let it write files that cannot be protected here
	dir      *primitive.RunDir // its verified files
	line     *line             // the connection to the tool, if it calls rye
	watch    *stopwatch
	network  *network.Found // the user's network settings; nil before they are read
}

// begin waits for a turn and opens a session; the caller must call end.
func (r *Runner) begin(ctx context.Context, j *job) (_ context.Context, s *custody.Desk, end func(), err error) {
	ctx, give, err := r.turns.Take(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	j.watch.lap(&j.watch.parts.Rest) // the wait for other executions
	seen, err := r.host.Open()
	if err != nil {
		give()
		return nil, nil, nil, err
	}
	seen.KeepTaken(ctx) // denials seen now must hold on every branch
	seen.KeepSigners(ctx)
	seen.KeepNames(ctx)
	return ctx, r.keys.Desk(seen.For(j.caller, j.q.Ref)), func() { seen.Close(); give() }, nil
}

// find returns the item of a request: the one in use here, or with --pinned the pinned one.
func (j *job) find(ctx context.Context, s *custody.Desk) (space.Found, error) {
	if j.q.Pinned {
		return locks.Pinned(ctx, s.Session, j.q.Ref)
	}
	found, err := s.Stack.Find(ctx, j.q.Ref)
	if err != nil {
		return offer(ctx, s, j.caller, j.q.Ref, err)
	}
	if locks.StateOf(found) == objects.Returned && !found.Recorded { // only after a person's yes
		author.Readmit(ctx, s, found)
	}
	return found, nil
}

// runsDir returns the directory for the files of runs. Without a directory for caches it makes
// one for this run among the system's temporary files, which done removes.
func runsDir(s *custody.Desk) (dir string, done func(), err error) {
	if dir = s.RunsDir(); dir != "" {
		return dir, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "rye-run-*") // 0700, under an unpredictable name
	return dir, func() { os.RemoveAll(dir) }, err
}

// materialise writes the verified bytes of a program into a fresh directory, and removes
// leftovers of killed runs. A chain that starts no program gets no directory, and a run at S3
// or better has its files in memory.
func (j *job) materialise(s *custody.Desk, runs string) (*primitive.RunDir, error) {
	var files []primitive.File
	if j.plan.Primitive() == chain.Subprocess {
		files = j.plan.Files()
	} else if !j.plan.Starts() {
		return &primitive.RunDir{}, nil
	} // a builtin that runs a program needs a place for temporary files
	files = append(files, j.plan.NetworkFiles(j.networkOf(s))...)
	if least, err := tier(s, j.plan); err != nil {
		return nil, err
	} else if least >= primitive.S3 {
		return primitive.InMemory(), nil
	}
	if _, err := primitive.Sweep(runs); err != nil {
		return nil, err
	}
	dir, err := primitive.Materialise(runs, files)
	j.watch.lap(&j.watch.parts.Materialise)
	return dir, err
}

// outcome is the result of any primitive.
type outcome struct {
	chain.Outcome
	Exit      int
	Sandbox   string   // the sandbox's tier; "" where nothing was started
	Unbound   []string // limits that were not enforced
	Truncated bool
	Near      []string // limits that it may have met
	Taken     []rye.TakenInfo
	Left      []rye.LeftInfo
	Stderr    []byte
	Missed    []forward.Miss // hosts that it did not reach
	Hosts     []rye.HostUse  // hosts that it reached
	Denied    []rye.Denial   // accesses that were refused, or seem to have been
}

// run lets the chain's primitive do the work and converts its outcome to a result.
func (r *Runner) run(ctx context.Context, s *custody.Desk, j *job) (*rye.ExecuteResult, error) {
	var o outcome
	var err error
	switch j.plan.Primitive() {
	case chain.Subprocess:
		o, err = r.runSubprocess(ctx, s, j)
	case chain.HTTP:
		o, err = j.runHTTP(ctx, s)
	case chain.Builtin:
		o, err = r.runBuiltin(ctx, s, j)
	default:
		err = fault.New(fault.Malformed, "execute %s: unknown primitive %s", j.plan.Tool().Ref, j.plan.Primitive())
	}
	if err != nil {
		return nil, err
	}
	res := j.planned()
	res.Metadata.Sandbox, res.Metadata.Unbound, res.Metadata.Truncated, res.Metadata.Taken = o.Sandbox, o.Unbound, o.Truncated, o.Taken
	res.Metadata.Hosts = o.Hosts
	res.Metadata.Denied, res.Metadata.Left = o.Denied, o.Left
	res.Status, res.Data, res.Error, res.Exit = "success", o.Data, o.Error, o.Exit
	if !o.OK {
		res.Status = "error"
		if len(o.Near) > 0 {
			res.Error += " (it may have met its limit of " + strings.Join(o.Near, ", ") + ")"
		}
	}
	return res, nil
}

// linkOf describes one verified element.
func linkOf(v trust.Verified, in objects.Space) rye.ChainLink {
	it := v.Item()
	c := rye.ChainLink{ItemID: string(it.Ref.ID), Space: in.String(), Integrity: it.Sum.String(), Signer: v.Key().Fingerprint().String()}
	if v.Level() == trust.Legacy {
		c.State = objects.Legacy
	}
	if v.Patched() != trust.NoPatch {
		c.State = objects.Patched
	}
	return c
}

// planned converts a plan to an execute result.
func (j *job) planned() *rye.ExecuteResult {
	res := &rye.ExecuteResult{Status: "validation_passed", Type: "tool", ItemID: string(j.plan.Tool().Ref.ID)}
	for _, l := range j.plan.Links {
		it := l.Verified.Item()
		c := linkOf(l.Verified, l.Space)
		c.ToolType, c.Executor = it.Meta.ToolType, string(it.Meta.Executor)
		c.State = cmp.Or(l.State, c.State)
		res.Chain = append(res.Chain, c)
	}
	res.Metadata.Patched = chain.PatchedOf(j.plan).Names()
	res.Metadata.Verdict, res.Metadata.Locked, res.Metadata.Drift = j.verdict, j.lock.Locked, j.lock.Drift
	res.Metadata.Warnings = j.warnings
	if f, ok := j.plan.Served(); ok {
		res.Metadata.Reads = f.Reads
	}
	res.Metadata.Limits = chain.LimitsOf(j.plan).String()
	res.Metadata.DurationMS, res.Metadata.Timings = j.watch.read()
	return res
}
