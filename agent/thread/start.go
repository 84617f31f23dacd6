package thread

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust/token"
)

// standardLoop is the loop of a thread whose configuration names no other.
const standardLoop = "tool:rye/agent/loop"

// configName is the configuration of threads.
const configName = "rye/agent"

// starter works out what a thread begins with, and makes it.
type starter struct{ o *Options }

func (s *Service) starter() *starter { return &starter{&s.o} }

// Start starts a thread. Whatever can be refused is refused before anything is made.
func (s *Service) Start(ctx context.Context, c rye.Caller, q rye.StartRequest) (*rye.ThreadInfo, error) {
	if err := c.May("thread.start", s.o.Now()); err != nil {
		return nil, err
	}
	st := s.starter()
	l := &launcher{o: &s.o}
	if !q.DryRun {
		l = st.begin(ctx)
		defer l.drop()
	}
	plan, err := st.plan(ctx, c, q)
	if err != nil {
		return nil, err
	}
	if q.DryRun {
		return plan.info(), nil
	}
	if err := st.approve(ctx, c, plan); err != nil {
		return nil, err
	}
	dir, err := s.o.Record.MakeThreads(ctx, recorder)
	if err != nil {
		return nil, err
	}
	if err := st.make(ctx, plan, dir); err != nil {
		return nil, err
	}
	hand, err := st.hand(plan.b.d, filepath.Join(dir, plan.b.d.ID), plan.b.key, plan.secrets, handing{})
	if err != nil {
		return nil, err
	}
	if err := l.launch(ctx, plan.b.d.ID, hand); err != nil {
		return nil, err
	}
	return s.Thread(ctx, c, plan.b.d.ID)
}

// startPlan is a thread that would start.
type startPlan struct {
	b       *beginning
	secrets map[string]string
}

// plan works out what would start: the directive, what drives it, its limits and capabilities.
func (s *starter) plan(ctx context.Context, c rye.Caller, q rye.StartRequest) (*startPlan, error) {
	pin, err := s.o.Record.Pin(ctx, pinner(c), rye.PinRequest{Ref: q.Ref, Params: q.Params, Capabilities: q.Allow})
	if err != nil {
		return nil, err
	}
	conf, err := s.config(ctx)
	if err != nil {
		return nil, err
	}
	d := &Description{V: 1, Started: s.o.Now().UTC().Format(time.RFC3339), Directive: q.Ref.String(), SHA256: pin.SHA256, Version: pin.Version,
		Signer: pin.Signer, Params: q.Params, Prompt: q.Prompt, Parent: c.Thread(), Starter: startedBy(c), Outputs: pin.Outputs}
	if d.Params == nil {
		d.Params = json.RawMessage("{}")
	}
	if d.LoopConfig, err = s.loopConfig(ctx); err != nil {
		return nil, err
	}
	if d.Limits, err = s.limits(pin, conf, q); err != nil {
		return nil, err
	}
	d.Capabilities, d.Denied = capabilities(c, pin.Permissions, q.Allow)
	src, err := s.choose(ctx, d, pin, conf, q)
	if err != nil {
		return nil, err
	}
	if d.Hooks, err = s.hooks(ctx, d, pin, src); err != nil {
		return nil, err
	}
	if d.Patched, err = s.patched(ctx, d, pin); err != nil {
		return nil, err
	}
	secrets, err := secretsFor(ctx, s.o, src)
	if err != nil {
		return nil, err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	d.Key = publicText(key)
	items, err := encodeItems(pin.Items)
	if err != nil {
		return nil, err
	}
	d.Items = sumOf(items)
	return &startPlan{&beginning{d: d, items: pin.Items, files: pin.Files, instructions: pin.Instructions, key: key}, secrets}, nil
}

// startedBy names the starter in the description: one client with a token is not another.
func startedBy(c rye.Caller) string {
	if c.Thread() != "" {
		return c.Name() // which thread, parent says
	}
	return c.Who()
}

// approve asks a person before a thread starts that no person starts: it spends money. Who is
// asked sees the most that it can cost and do.
func (s *starter) approve(ctx context.Context, c rye.Caller, p *startPlan) error {
	if c.IsPerson() {
		return nil
	}
	d := *p.b.d
	d.Started, d.Key = "", "" // differ each time
	raw, err := d.encode()
	if err != nil {
		return err
	}
	lines := []string{
		"directive  " + d.Directive + " " + d.SHA256,
		"signer     " + d.Signer,
		"model      " + d.Model + " of " + d.Provider,
		fmt.Sprintf("at most    %s, %d tokens, %d turns, %d seconds", d.Limits.Spend, d.Limits.Tokens, d.Limits.Turns, d.Limits.Duration),
		"inputs     " + string(d.Params),
	}
	if d.Prompt != "" {
		lines = append(lines, "prompt     "+d.Prompt)
	}
	for _, ref := range d.Patched {
		lines = append(lines, "patched    "+ref+", which no owner of its namespace signed")
	}
	for _, held := range d.Capabilities {
		lines = append(lines, "may        "+held)
	}
	return s.o.Record.Approve(ctx, c, sumOf(raw), rye.Question{Topic: "start a thread", Lines: lines,
		Text: fmt.Sprintf("%s wants to start a thread of %s, which may spend %s", c.Who(), d.Directive, d.Limits.Spend),
		Mend: fault.Command("rye thread start %s", d.Directive)})
}

// pinner is on whose behalf a directive is pinned: the starter, who has to be allowed to
// execute it, and who may read the record for that.
func pinner(c rye.Caller) rye.Caller {
	if c.IsPerson() {
		return c
	}
	return rye.Program(c.Name(), append(c.Capabilities(), "rye.record")...)
}

// config is the configuration of threads; none is an empty one.
func (s *starter) config(ctx context.Context) (map[string]any, error) {
	res, err := s.o.Record.Config(ctx, recorder, configName)
	if fault.Is(err, fault.NotFound) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, err
	}
	return res.Value, nil
}

// loopConfig is what the project and the user set of the loop; null for nothing.
func (s *starter) loopConfig(ctx context.Context) (json.RawMessage, error) {
	res, err := s.o.Record.Config(ctx, recorder, configName+"/loop")
	if fault.Is(err, fault.NotFound) {
		return json.RawMessage("null"), nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"version", "description", "category", "author"} {
		delete(res.Value, name) // of the item
	}
	return json.Marshal(res.Value)
}

// limits are the smaller of what the directive, who starts it and the configuration state.
func (s *starter) limits(pin *rye.Pinned, conf map[string]any, q rye.StartRequest) (rye.ThreadLimits, error) {
	l, err := declaredLimits(pin.Limits)
	if err != nil {
		return l, fault.Wrap(err, "%s", pin.Ref)
	}
	if stated, ok := conf["limits"].(map[string]any); ok {
		most, err := declaredLimits(stated)
		if err != nil {
			return l, fault.Wrap(err, "config:%s", configName)
		}
		l = least(l, most)
	}
	if q.Limits != nil {
		l = least(l, *q.Limits)
	}
	return orDefault(l), nil
}

// verbsOfThreads are those that a thread can have: it acts on items, and on nothing else.
var verbsOfThreads = []string{"execute", "search", "load", "sign"}

// capabilities are what the directive declares, narrowed to what the starter holds and to
// what it allows; denied is what was asked for and is not given.
func capabilities(c rye.Caller, declared, allow []string) (held, denied []string) {
	var asked []string
	for _, d := range declared {
		d = strings.ReplaceAll(d, "/", ".")
		if d == "rye.*" {
			for _, v := range verbsOfThreads {
				asked = append(asked, "rye."+v+".*")
			}
			continue
		}
		asked = append(asked, d)
	}
	held, taken := token.Within("the starter", starters(c), c.Denied(), asked)
	for _, t := range taken {
		denied = append(denied, t.Asked)
	}
	if allow != nil {
		narrow, more := token.Within("--allow", allow, nil, held)
		for _, t := range more {
			denied = append(denied, t.Asked)
		}
		held = narrow
	}
	held = append([]string{}, held...) // none is a list, too: so records have it
	slices.Sort(held)
	return slices.Compact(held), denied
}

// starters is what a starter can hand on: a person everything that threads can have.
func starters(c rye.Caller) (caps []string) {
	if !c.IsPerson() {
		return c.Capabilities()
	}
	for _, v := range verbsOfThreads {
		caps = append(caps, "rye."+v+".*")
	}
	return caps
}

// choose finds provider, model and loop.
func (s *starter) choose(ctx context.Context, d *Description, pin *rye.Pinned, conf map[string]any, q rye.StartRequest) (*source, error) {
	d.Tier = tierOf(q, pin.Model, conf)
	id := providerOf(q, pin.Model, conf, d.Tier)
	if id == "" {
		return nil, fault.New(fault.Usage, "no provider: neither %s, nor config:%s, nor --provider names one", q.Ref, configName).Advise("rye thread start --provider rye/agent/providers/anthropic …")
	}
	ref, err := objects.ParseRef("tool:" + strings.TrimPrefix(id, "tool:"))
	if err != nil {
		return nil, err
	}
	prov, err := loadPart(ctx, s.o.Verbs, ref, "provider")
	if err != nil {
		return nil, err
	}
	src, err := readProvider(prov)
	if err != nil {
		return nil, err
	}
	d.Provider = ref.String()
	if err := s.mayReach(prov, src); err != nil {
		return nil, err
	}
	m, err := src.Model(d.Tier)
	if err != nil {
		return nil, err
	}
	d.Model = m.ID
	d.Loop = standardLoop
	if l, ok := conf["loop"].(string); ok && l != "" {
		d.Loop = "tool:" + strings.TrimPrefix(l, "tool:")
	}
	star, err := loadPart(ctx, s.o.Verbs, refOf(d.Loop), "loop")
	if err != nil {
		return nil, err
	}
	d.LoopSHA256 = star.sum
	return src, nil
}

// make makes the directory of a thread. It never began until thread.json is there.
func (s *starter) make(ctx context.Context, p *startPlan, dir string) error {
	var random [10]byte
	rand.Read(random[:])
	d := p.b.d
	d.ID = journal.NewID(s.o.Now(), random)
	raw, err := d.encode()
	if err != nil {
		return err
	}
	if p.b.sig, err = s.o.Record.Vouch(ctx, recorder, raw); err != nil {
		return err
	}
	at := filepath.Join(dir, d.ID)
	if err := journal.Make(at); err != nil {
		return err
	}
	if err := p.b.write(at, raw); err != nil {
		os.RemoveAll(at)
		return err
	}
	return nil
}

// tokenLasts is how long the token of a process counts: longer than any process waits.
const tokenLasts = 7 * 24 * time.Hour

// audience is who takes the token of a thread for something.
const audience = "rye-thread"

// handing is how a process takes a thread up.
type handing struct{ accept, loop bool }

// hand makes what the process of a thread is given: a token of its own, which says what its
// description says, and the secrets that it needs.
func (s *starter) hand(d *Description, dir string, key ed25519.PrivateKey, secrets map[string]string, how handing) ([]byte, error) {
	now := s.o.Now().UTC().Truncate(time.Second)
	g, err := token.Mint(key, token.Block{ID: d.ID, Thread: d.ID, Parent: d.Parent, Project: nodeOf(dir), Audience: audience,
		NotBefore: now.Add(-5 * time.Minute), Expires: now.Add(tokenLasts), Do: d.Capabilities, Delegate: d.Capabilities}, rand.Reader)
	if err != nil {
		return nil, err
	}
	return Handed{Dir: dir, Token: string(g.Token.Encode()), Holder: g.Key, Secrets: secrets, Accept: how.accept, Loop: how.loop}.encode()
}

// callerOf is the caller that a thread's process acts as: what its token says, verified. The
// chain has to begin with the key that the description names, which this machine vouched for.
func callerOf(h Handed, d *Description, now time.Time) (rye.Caller, error) {
	t, err := token.Parse([]byte(h.Token))
	if err != nil {
		return rye.Caller{}, err
	}
	nonce := make([]byte, token.MinNonce)
	rand.Read(nonce)
	proof, err := t.Prove(h.Holder, nonce)
	if err != nil {
		return rye.Caller{}, err
	}
	v, err := token.Verify(t, token.Want{Now: now, Thread: d.ID, Parent: d.Parent, Project: nodeOf(h.Dir), Audience: audience, Nonce: nonce, Proof: proof,
		Root: func(k ed25519.PublicKey) bool { return d.names(k) }})
	if err != nil {
		return rye.Caller{}, err
	}
	return rye.Thread(v), nil
}

// names reports whether a key is the thread's.
func (d *Description) names(k ed25519.PublicKey) bool {
	return d.Key == publicText(append(make([]byte, ed25519.SeedSize), k...))
}

// readyWithin is how long the process of a thread has to take its lease.
const readyWithin = 30 * time.Second

// launcher is where the process of a thread comes from: one that was started ahead, or a new
// one. A process that got no thread ends with drop.
type launcher struct {
	o     *Options
	ahead Early // nil where there is none
}

// begin starts a process ahead. That it cannot be is told when it is needed.
func (s *starter) begin(ctx context.Context) *launcher {
	l := &launcher{o: s.o}
	if s.o.Ahead != nil {
		if w, err := s.o.Ahead(ctx); err == nil {
			l.ahead = w
		}
	}
	return l
}

func (l *launcher) drop() {
	if l.ahead != nil {
		l.ahead.Drop()
	}
}

// spawn returns the process of a thread, which has what it is handed.
func (l *launcher) spawn(ctx context.Context, id string, handed []byte) (Child, error) {
	w := l.ahead
	if w == nil {
		return l.o.Spawn(ctx, id, handed)
	}
	l.ahead = nil
	return w, w.Hand(id, handed)
}

// launch starts the process of a thread, and returns when it holds its lease. Until then the
// process waits: where whoever starts it dies, no thread runs that nobody knows of.
func (l *launcher) launch(ctx context.Context, id string, handed []byte) error {
	child, err := l.spawn(ctx, id, handed)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fault.New(fault.Failed, "start thread %s: its process did not report within %s", id, readyWithin))
	defer cancel()
	if err := child.Ready(ctx); err != nil {
		return err
	}
	return child.Go()
}

// info describes what would start.
func (p *startPlan) info() *rye.ThreadInfo {
	d := p.b.d
	return &rye.ThreadInfo{Directive: d.Directive, Status: Created, Model: d.Model, Provider: d.Provider, Parent: d.Parent, Started: d.Started,
		Limits: d.Limits, Allowed: d.Capabilities, Denied: d.Denied, Patched: d.Patched}
}
