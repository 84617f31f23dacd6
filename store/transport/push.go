package transport

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// Update is one move of a ref of the remote: from Old, which the caller expects (zero: it must
// not exist), to New (zero: delete it).
type Update = store.Update

// updateMax bounds the refs of one push.
const updateMax = 10_000

// Push moves refs of the remote in one request, all or none if the remote offers that, and
// sends the missing objects. from must hold every New. A ref that is not at its Old, or that
// the remote refuses to move, gives a *RejectedError (Conflict, or Denied or Limit by the
// remote's rules).
func (r *Remote) Push(ctx context.Context, from *store.Repo, updates []Update) error {
	return r.push(ctx, &pushing{r: r, from: from, updates: updates})
}

// PushObjects is Push for a caller that has just made all objects that the remote lacks.
// Exactly those are sent, each once, without reading anything to find them. A remote that
// lacks other objects refuses the push and changes nothing. To a remote without atomic pushes,
// the refs are pushed one by one in their order, until it refuses one.
func (r *Remote) PushObjects(ctx context.Context, from *store.Repo, updates []Update, objects []store.OID) error {
	err := r.push(ctx, &pushing{r: r, from: from, updates: updates, objects: objects, ordered: true})
	if !errors.Is(err, errNotAtomic) {
		return err
	}
	for _, u := range updates {
		if err := r.push(ctx, &pushing{r: r, from: from, updates: []Update{u}, objects: objects}); err != nil {
			return err
		}
	}
	return nil
}

// PushNames moves refs of the remote to objects that the remote already has. A refused ref is
// an error, but other refs may have moved.
func (r *Remote) PushNames(ctx context.Context, from *store.Repo, updates []Update) error {
	return r.push(ctx, &pushing{r: r, from: from, updates: updates, objects: []store.OID{}})
}

var errNotAtomic = errors.New("the remote cannot move several refs at once")

// DryRun reports the result of Push as far as it is known without sending anything: access,
// and the positions of the remote's refs.
func (r *Remote) DryRun(ctx context.Context, from *store.Repo, updates []Update) error {
	return r.push(ctx, &pushing{r: r, from: from, updates: updates, dry: true})
}

func (r *Remote) push(ctx context.Context, p *pushing) error {
	if r.pusher != nil {
		p.r = r.pusher
		return r.pusher.push(ctx, p)
	}
	if err := checkUpdates(p.from, p.updates); err != nil {
		return fault.Wrap(err, "push to %s", r)
	}
	if r.o.ReadOnly {
		return fault.New(fault.Denied, "push to %s: opened for reading only", r)
	}
	return r.do(ctx, "push to", func(ctx context.Context) error {
		s, a, err := r.receive(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		p.s = s
		return p.run(ctx, a)
	})
}

// receive returns a session with receive-pack and its advertisement. It uses the session that
// RefsToPush began, unless another operation ended it.
func (r *Remote) receive(ctx context.Context) (session, *advert, error) {
	k := r.ready
	r.ready = nil
	r.drop() // a host may serve few connections at a time, and counts both
	if k == nil {
		return r.begin(ctx, receivePack, 0, nil)
	}
	if st, ok := k.session.(*stream); ok {
		st.resume(ctx)
	}
	return k.session, k.a, nil
}

func checkUpdates(from *store.Repo, updates []Update) error {
	if len(updates) == 0 || len(updates) > updateMax {
		return fault.New(fault.Usage, "%d refs: want 1 to %d", len(updates), updateMax)
	}
	seen := map[string]bool{}
	for _, u := range updates {
		switch {
		case !validRef(u.Name):
			return fault.New(fault.Usage, "ref name %q", cleanText(u.Name))
		case seen[u.Name]:
			return fault.New(fault.Usage, "%s is named twice", u.Name)
		case u.New.IsZero() && u.Old.IsZero():
			return fault.New(fault.Usage, "%s: neither an old nor a new position", u.Name)
		case !u.New.IsZero() && !from.Has(u.New):
			return fault.New(fault.NotFound, "%s: %s is not in the repository", u.Name, u.New)
		}
		seen[u.Name] = true
	}
	return nil
}

// pushing is one push in progress.
type pushing struct {
	r       *Remote
	s       session
	from    *store.Repo
	updates []Update
	objects []store.OID // to send; nil: find out
	ordered bool        // several updates atomically, or errNotAtomic
	dry     bool
	caps    caps
	words   hostWords
}

func (p *pushing) run(ctx context.Context, a *advert) error {
	p.caps = a.caps
	if a.version == 2 {
		return fault.New(fault.Network, "the remote answers receive-pack in version 2, which does not exist")
	}
	if p.ordered && len(p.updates) > 1 && !p.caps.has("atomic") {
		return errNotAtomic
	}
	if err := p.fits(a); err != nil || p.dry {
		return err
	}
	q := &request{}
	packs := p.encode(q.packets())
	if packs {
		q.pack = func(w io.Writer) error {
			if p.objects != nil {
				return p.from.WritePack(ctx, w, p.objects)
			}
			return p.from.PackFor(ctx, w, (&orders{updates: p.updates}).news(), p.common(a))
		}
	}
	in, err := p.s.round(ctx, q)
	if err != nil && in != nil && ctx.Err() == nil {
		if told := p.report(in); told != nil && !fault.Is(told, fault.Network) && !fault.Is(told, fault.Failed) {
			return told
		}
	}
	if err != nil {
		return err
	}
	return p.report(in)
}

// fits compares the remote's refs with the caller's expectation, before any byte of the pack
// is made.
func (p *pushing) fits(a *advert) error {
	if err := a.sameFormat(p.from.Format()); err != nil {
		return err
	}
	if !a.caps.has("report-status") {
		return fault.New(fault.Network, "the remote is too old: it does not report results")
	}
	for _, u := range p.updates {
		if at := a.refs[u.Name]; at != u.Old {
			return &RejectedError{Name: u.Name, Reason: "it is " + whereabouts(at) + ", expected " + whereabouts(u.Old), code: fault.Conflict}
		}
		if u.New.IsZero() && !a.caps.has("delete-refs") {
			return &RejectedError{Name: u.Name, Reason: "the remote does not delete refs", code: fault.Denied}
		}
	}
	return nil
}

// whereabouts describes the position of a ref.
func whereabouts(at store.OID) string {
	if at.IsZero() {
		return "not there"
	}
	return "at " + at.String()
}

// encode writes the commands and reports whether a pack must follow.
func (p *pushing) encode(w *pktWriter) (packs bool) {
	ask := []string{"report-status"}
	for _, c := range []string{"side-band-64k", "quiet", "atomic", "ofs-delta"} {
		if p.caps.has(c) && (c != "atomic" || len(p.updates) > 1) && (c != "quiet" || p.r.o.Progress == nil) {
			ask = append(ask, c)
		}
	}
	ask = append(ask, p.caps.ours()...)
	f := p.from.Format()
	for i, u := range p.updates {
		line := hexOID(u.Old, f) + " " + hexOID(u.New, f) + " " + u.Name
		if i == 0 {
			line += "\x00 " + strings.Join(ask, " ")
		}
		w.data([]byte(line)) // without a final LF, as git does here
		packs = packs || !u.New.IsZero()
	}
	w.flush()
	return packs
}

// hexOID returns an id in the format's digits, also for the zero id.
func hexOID(id store.OID, f store.Format) string {
	if id.IsZero() {
		return strings.Repeat("0", 2*int(f))
	}
	return id.String()
}

// common returns the objects that both sides have, according to the remote's refs.
func (p *pushing) common(a *advert) []store.OID {
	var ids []store.OID
	seen := map[store.OID]bool{}
	for _, id := range a.refs {
		if !seen[id] && p.from.Has(id) {
			ids = append(ids, id)
		}
		seen[id] = true
	}
	return ids
}

// report reads the remote's result: "unpack ok", then ok or ng for each ref.
func (p *pushing) report(in *pktReader) error {
	if !p.caps.has("side-band-64k") {
		return p.judge(in.readReport())
	}
	p.words.to = p.r.o.Progress
	d := &demux{p: in, words: p.words.add, limit: p.r.o.MaxAdvert}
	rep, err := newPktReader(d).readReport()
	if _, rest := io.Copy(io.Discard, d); err == nil || d.err != io.EOF && fault.CodeOf(rest) != fault.Failed {
		err = rest
	}
	return p.judge(rep, err)
}

// An outcome is the remote's result, in its own words.
type outcome struct {
	unpack string
	done   map[string]bool // refs that it reports as moved
	ref    string          // the first ref that it did not move; "" for none
	why    string
}

func (p *pktReader) readReport() (rep outcome, err error) {
	kind, line, err := p.line()
	if err != nil || kind != pktData {
		return rep, malformedReport(err)
	}
	var ok bool
	if rep.unpack, ok = strings.CutPrefix(line, "unpack "); !ok {
		return rep, malformedReport(nil)
	}
	rep.done = map[string]bool{}
	err = p.list(pktFlush, 2*updateMax, io.EOF, func(line string) error {
		if name, ok := strings.CutPrefix(line, "ok "); ok {
			rep.done[name] = true
		} else if rest, ok := strings.CutPrefix(line, "ng "); ok && rep.ref == "" {
			name, why, _ := strings.Cut(rest, " ")
			rep.ref, rep.why = cleanText(name), cleanText(why)
		}
		return nil
	})
	if err != nil {
		err = malformedReport(err)
	}
	return rep, err
}

// judge makes the push's error from the report and from the output of the host's hooks and
// rules. A pack that the host refuses with a reason is refused for good. Without a reason,
// another try may succeed.
func (p *pushing) judge(rep outcome, err error) error {
	said := p.words.said()
	switch {
	case err != nil && said != "" && fault.Is(err, fault.Network):
		return fault.New(fault.Network, "%w (the host says: %s)", err, said).With(fault.HintOf(err))
	case err != nil:
		return err
	case rep.unpack != "ok" && said != "":
		return &RejectedError{p.updates[0].Name, "it did not accept the objects: " + cleanText(rep.unpack), said, ruleCode(said)}
	case rep.unpack != "ok":
		return fault.New(fault.Network, "the remote could not accept the objects: %s", cleanText(rep.unpack))
	case rep.ref != "":
		return rejected(rep.ref, rep.why, said)
	}
	for _, u := range p.updates {
		if !rep.done[u.Name] {
			return &RejectedError{u.Name, "the remote does not report that it moved", said, fault.Network}
		}
	}
	return nil
}

func malformedReport(err error) error {
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	return fault.New(fault.Network, "the remote's report is cut short; whether it moved the refs is unknown").
		Mend("rye fetch shows their positions")
}
