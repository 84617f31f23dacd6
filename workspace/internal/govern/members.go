package govern

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Members lists or changes the keys of a namespace.
func Members(ctx context.Context, s *custody.Desk, q rye.MembersRequest) (*rye.MembersReport, error) {
	change := len(q.Add)+len(q.Retire) > 0 || q.Threshold > 0 && len(q.Transfer) == 0
	if change && (q.Join || len(q.Transfer) > 0) || q.Join && len(q.Transfer) > 0 {
		return nil, fault.New(fault.Usage, "registry members: --join is for your own key, and excludes --add and --retire").
			Advise("leave out --add and --retire, or --join")
	}
	m, err := openMembers(ctx, s, q.Registry, q.Namespace)
	if err != nil {
		return nil, err
	}
	defer m.reg.Close()
	switch {
	case q.Join:
		return m.join(ctx, q)
	case len(q.Transfer) > 0:
		return m.transfer(ctx, q)
	case change:
		return m.amend(ctx, q)
	}
	return m.report("listed"), nil
}

// RevokeKey revokes the signatures of keys in a namespace from a position on.
func RevokeKey(ctx context.Context, s *custody.Desk, q rye.RevokeKeyRequest) (*rye.MembersReport, error) {
	if strings.TrimSpace(q.Reason) == "" {
		return nil, fault.New(fault.Usage, "registry revoke-key: missing reason, which every reader sees").Advise("--reason '...'")
	}
	m, err := openBeyond(ctx, s, q.Registry, q.Namespace)
	if err != nil {
		return nil, err
	}
	defer m.reg.Close()
	var keys []oplog.KeyRevocation
	for _, text := range q.Keys {
		key, err := m.keyNamed(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, oplog.KeyRevocation{Key: key.Public.Fingerprint(), BadFrom: q.From})
	}
	op, err := oplog.RevokeOp(q.Reason, keys...)
	if err != nil {
		return nil, err
	}
	op, drops, err := m.reg.DropsOf(ctx, m.state.Namespace, op)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, k := range op.Revocations() {
		lines = append(lines, fmt.Sprintf("revoke %s from operation %d of %s on: %s", k.Key, k.BadFrom, m.state.Namespace, words.Brief(q.Reason)),
			"later versions by this key, and the keys that it added, are revoked too, for good")
	}
	lines = append(lines, dropLines(drops)...)
	if err := m.askDrops(ctx, q, op, drops); err != nil {
		return nil, err
	}
	ops := []oplog.Op{op}
	if g := m.root.Grant(m.state.Namespace); g != nil && g.Since > m.state.Grant { // it may be the signing key's
		signer, err := s.Keys.Signer(ctx)
		if err != nil {
			return nil, err
		}
		me := signer.Public()
		if _, member := m.state.Key(me.Fingerprint()); !member && m.state.MayJoin(m.root, me) {
			ops, lines = m.rescue(me, op, lines)
		}
	}
	return m.change(ctx, ops, lines, step{file: q.Out, dryRun: q.DryRun})
}

// shownDrops bounds the number of operations that are shown one by one.
const shownDrops = 20

// dropLines describes dropped operations for people.
func dropLines(drops []oplog.Drop) (lines []string) {
	for _, d := range drops[:min(len(drops), shownDrops)] {
		lines = append(lines, d.String())
	}
	if more := len(drops) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("drop   %s more", words.Plural(more, "operation")))
	}
	return lines
}

// askDrops asks about dropped operations with readable change lists, whose content is lost
// with them. --yes does not answer that.
func (m *members) askDrops(ctx context.Context, q rye.RevokeKeyRequest, op oplog.Op, drops []oplog.Drop) error {
	readable := slices.DeleteFunc(slices.Clone(drops), func(d oplog.Drop) bool { return !d.Readable })
	if len(readable) == 0 || q.Drop || q.DryRun {
		return nil
	}
	first, whose := m.state.Seq, "the key"
	for _, k := range op.Revocations() {
		if k.DropFrom > 0 {
			first = min(first, k.DropFrom)
		}
	}
	if len(op.More) > 0 {
		whose = "the keys"
	}
	return m.s.Ask(ctx, rye.Question{Topic: "drop operations of " + m.state.Namespace, Lines: dropLines(readable), Person: true,
		Text: fmt.Sprintf("The log of %s is invalid from operation %d on. Drop the later operations of %s?", m.state.Namespace, first, whose),
		Mend: fault.Advice("look with --dry-run, then repeat with --drop")})
}

// rescue puts before a key-revoke an operation that makes a key a member, by the root's grant.
// Both go in one push, since the state between them need not be derivable. Where several keys
// must agree, the new key replaces them all.
func (m *members) rescue(me trust.PublicKey, op oplog.Op, lines []string) ([]oplog.Op, []string) {
	first := oplog.Op{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: me}}}
	note := []string{"add    " + me.String() + ", which has the root's grant for " + m.state.Namespace + "/"}
	if m.state.Threshold > 1 {
		first.Kind = oplog.OpTransfer
		note = append(note, "retire every other key, because "+fmt.Sprint(m.state.Threshold)+" of them must agree")
	}
	return []oplog.Op{first, op}, append(append(note, "every reader is asked before they accept this"), lines...)
}

// Void voids a malformed operation of a namespace, which has no effect: readers report it no
// more.
func Void(ctx context.Context, s *custody.Desk, q rye.VoidRequest) (*rye.MembersReport, error) {
	m, err := openMembers(ctx, s, q.Registry, q.Namespace)
	if err != nil {
		return nil, err
	}
	defer m.reg.Close()
	op, bad, err := m.reg.VoidOp(m.state.Namespace, q.Seq)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("void operation %d of %s, signed by %s: %s", bad.Seq, m.state.Namespace, bad.By, bad.Why)
	return m.change(ctx, []oplog.Op{op}, []string{text, "it has no effect, and readers no longer report it"}, step{file: q.Out, dryRun: q.DryRun})
}

// members is a namespace and its keys.
type members struct {
	s     *custody.Desk
	name  string // of the registry in this project
	reg   *registry.Registry
	root  oplog.Root
	state oplog.State
}

// openBeyond is openMembers that also accepts a namespace with an unreadable state: then it
// derives the state from the log as far as it can.
func openBeyond(ctx context.Context, s *custody.Desk, name, ns string) (*members, error) {
	m, err := openMembers(ctx, s, name, ns)
	if err == nil || ctx.Err() != nil {
		return m, err
	}
	ns = cmp.Or(ns, s.Project.Namespace)
	if name == "" {
		var none error
		if name, _, none = s.Project.RegistryFor(ns); none != nil {
			return nil, err
		}
	}
	reg, none := share.OpenAgreed(s, name, ns)
	if none != nil {
		return nil, err
	}
	m = &members{s: s, name: name, reg: reg}
	if m.state, none = reg.Beyond(ctx, ns); none == nil {
		m.root, none = reg.Root(ctx)
	}
	if none != nil {
		reg.Close()
		return nil, err // the error of the ordinary way
	}
	return m, nil
}

// openMembers opens the registry of a namespace and brings both up to date.
func openMembers(ctx context.Context, s *custody.Desk, name, ns string) (*members, error) {
	ns = cmp.Or(ns, s.Project.Namespace)
	if ns == objects.LocalNamespace {
		return nil, fault.New(fault.Usage, "namespace %q is local to each project and has no members", ns).
			Advise("rye registry members <namespace>")
	}
	if name == "" {
		var err error
		if name, _, err = s.Project.RegistryFor(ns); err != nil {
			return nil, err
		}
	}
	reg, err := share.OpenSynced(ctx, s, name, ns)
	if err != nil {
		return nil, err
	}
	m := &members{s: s, name: name, reg: reg}
	if m.root, err = reg.Root(ctx); err == nil {
		m.state, err = reg.View(ns)
	}
	if fault.Is(err, fault.NotFound) { // no one has claimed it
		m.state, err = oplog.NewState(m.root, ns), nil
	}
	if err != nil {
		reg.Close()
		return nil, err
	}
	return m, nil
}

func (m *members) report(status string) *rye.MembersReport {
	rep := &rye.MembersReport{Registry: m.name, ID: m.reg.ID().String(), Namespace: m.state.Namespace, Status: status, Seq: m.state.Seq,
		Threshold: m.state.Threshold}
	if g := m.root.Grant(m.state.Namespace); g != nil {
		rep.Granted = share.Texts(g.Keys)
	}
	for _, k := range m.state.Keys() {
		rep.Members = append(rep.Members, rye.Member{Fingerprint: k.Public.String(), SSH: k.Public.Authorized(), State: string(k.State),
			Added: k.Added, By: k.By.String(), Reason: k.Reason, Own: m.s.Trust.IsOwn(k.Public)})
	}
	return rep
}

// join makes the signing key a member where the root granted it the namespace. Otherwise it
// writes the request to send to a member.
func (m *members) join(ctx context.Context, q rye.MembersRequest) (*rye.MembersReport, error) {
	key, err := m.s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	ns, me := m.state.Namespace, key.Public()
	if m.state.Seq == 0 {
		return nil, m.unclaimed(me)
	}
	if k, ok := m.state.Key(me.Fingerprint()); ok {
		return nil, fault.New(fault.Conflict, "join %s: %s is already a key there (%s), and a key is added once", ns, me, k.State).
			Advise("rye registry members %s shows them", ns)
	}
	if m.state.MayJoin(m.root, me) {
		rep, err := m.change(ctx, []oplog.Op{{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: me}}}},
			[]string{"add " + me.String() + ", which has the root's grant for " + ns + "/"}, step{dryRun: q.DryRun})
		if err == nil {
			rep.Status = map[bool]string{true: "would-join", false: "joined"}[q.DryRun]
		}
		return rep, err
	}
	grant := oplog.KeyGrant{Public: me}
	if grant.Proof, err = oplog.Prove(ctx, key, m.state.Registry, ns, m.state.Genesis); err != nil {
		return nil, err
	}
	rep := m.report("requested")
	rep.Request, rep.Command = grant.Text(), []string{"rye", "registry", "members", ns, "--add", grant.Text()}
	return rep, nil
}

// unclaimed explains how a key gets a namespace without a log.
func (m *members) unclaimed(me trust.PublicKey) error {
	ns, g := m.state.Namespace, m.root.Grant(m.state.Namespace)
	err := fault.New(fault.NotFound, "namespace %s: it has no published versions, so it has no members", ns)
	if g == nil && m.root.Claims != oplog.ClaimsOpen {
		return err.Advise("send this to a holder of the root: %s", share.GrantCommand(ns, []trust.PublicKey{me}))
	}
	return err.Advise("rye push claims it for your key, if the root allows claims")
}

// amend adds and removes members, all or nothing.
func (m *members) amend(ctx context.Context, q rye.MembersRequest) (*rye.MembersReport, error) {
	var ops []oplog.Op
	var lines []string
	add := oplog.Op{Kind: oplog.OpKeyAdd}
	for _, text := range q.Add {
		grant, err := oplog.ParseMember(text)
		if err != nil {
			return nil, noRequest(text, err, m.state.Namespace)
		}
		add.Keys = append(add.Keys, grant)
		lines = append(lines, "add    "+grant.Public.String())
	}
	if len(add.Keys) > 0 {
		ops = append(ops, add)
	}
	for _, text := range q.Retire {
		key, err := m.keyNamed(text)
		if err != nil {
			return nil, err
		}
		ops = append(ops, oplog.Op{Kind: oplog.OpKeyRetire, Key: key.Public.Fingerprint()})
		lines = append(lines, "retire "+key.Public.String()+"; its earlier signatures stay valid")
	}
	if q.Threshold > 0 {
		ops = append(ops, oplog.Op{Kind: oplog.OpThreshold, Threshold: q.Threshold})
		lines = append(lines, fmt.Sprintf("then %d keys must agree, now %d", q.Threshold, m.state.Threshold))
	}
	return m.change(ctx, ops, lines, step{file: q.Out, dryRun: q.DryRun})
}

// transfer hands the namespace on: new owners replace all present members.
func (m *members) transfer(ctx context.Context, q rye.MembersRequest) (*rye.MembersReport, error) {
	op := oplog.Op{Kind: oplog.OpTransfer}
	var lines []string
	for _, text := range q.Transfer {
		grant, err := oplog.ParseMember(text)
		if err != nil {
			return nil, noRequest(text, err, m.state.Namespace)
		}
		op.Keys = append(op.Keys, grant)
		lines = append(lines, "to     "+grant.Public.String())
	}
	for _, k := range m.state.Keys() {
		if k.State == oplog.KeyActive {
			lines = append(lines, "retire "+k.Public.String()+"; its earlier signatures stay valid")
		}
	}
	if op.Threshold = q.Threshold; op.Threshold == 1 {
		op.Threshold = 0 // 0 is the only encoding of one
	}
	return m.change(ctx, []oplog.Op{op}, append(lines, "every reader is asked before they accept this"), step{file: q.Out, dryRun: q.DryRun})
}

// noRequest explains the request that is needed in place of a bare key.
func noRequest(text string, err error, ns string) error {
	if _, bad := trust.ParsePublicKey(text); bad == nil || strings.HasPrefix(text, "SHA256:") {
		return fault.New(fault.Untrusted, "add %s: its owner's proof is missing", words.Brief(text)).
			Advise("its owner runs rye registry members %s --join, and sends you the output", ns)
	}
	return err
}

// keyNamed finds a key of the namespace by its line or fingerprint.
func (m *members) keyNamed(text string) (oplog.Key, error) {
	line, _ := trust.ParsePublicKey(text) // for a fingerprint the zero key, which is no one's
	for _, k := range m.state.Keys() {
		if k.Public == line || k.Public.String() == text {
			return k, nil
		}
	}
	return oplog.Key{}, fault.New(fault.NotFound, "key %s: it is not a key of %s", words.Brief(text), m.state.Namespace).
		Advise("rye registry members %s shows them", m.state.Namespace)
}

// change tries operations on the namespace's keys, asks about them and appends them, or
// proposes them where others must agree.
func (m *members) change(ctx context.Context, ops []oplog.Op, lines []string, how step) (*rye.MembersReport, error) {
	key, err := m.s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	ns, dry := m.state.Namespace, how.dryRun
	if m.needsOthers(ops, key.Public()) {
		c, err := m.propose(ctx, ops, key.Public(), how)
		if err != nil {
			return nil, err
		}
		rep := m.report(c.Status)
		rep.Proposal, rep.DryRun = c, dry
		return rep, nil
	}
	after, err := m.reg.ChangeKeys(ctx, ns, share.By(m.s, key), true, ops...)
	if err != nil {
		return nil, mayNotChange(err, m.state, key.Public())
	}
	if !slices.ContainsFunc(after.Keys(), func(k oplog.Key) bool { return k.State == oplog.KeyActive }) {
		lines = append(lines, "no active key is left; only a key with the root's grant for "+ns+"/ can write to it then")
	}
	status := "would-change"
	if !dry {
		q := rye.Question{Topic: "members of " + ns, Lines: lines, Mend: fault.Advice("the same with --yes, if you want this change"),
			Text: "Sign this with the key " + key.Public().String() + " and publish it in " + m.name + "?"}
		if err := m.s.Ask(ctx, q); err != nil {
			return nil, err
		}
		if after, err = m.reg.ChangeKeys(ctx, ns, share.By(m.s, key), false, ops...); err != nil {
			return nil, mayNotChange(err, m.state, key.Public())
		}
		if err := share.UpdateTrust(ctx, m.s, m.reg, ns); err != nil {
			return nil, fault.Wrap(err, "the members of %s are changed, but not your own trust in them", ns)
		}
		status = "changed"
	}
	m.state = after
	rep := m.report(status)
	rep.Changes, rep.DryRun = lines, dry
	return rep, nil
}

// mayNotChange adds advice for a key that is no member.
func mayNotChange(err error, s oplog.State, me trust.PublicKey) error {
	if k, ok := s.Key(me.Fingerprint()); !ok || k.State != oplog.KeyActive {
		return fault.New(fault.CodeOf(err), "%w", err).Advise("only an active member changes them: rye registry members %s", s.Namespace)
	}
	return err
}
