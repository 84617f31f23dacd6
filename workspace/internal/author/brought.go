package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/head"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
)

// git can bring a text by someone else into an item without a conflict: a merge without rye, or
// a branch that removes the signature line. Nothing in the file proves that, because its author
// chose every line. git's HEAD does. The user wrote what differs from it, and a file that it
// lacks; the rest may be anybody's, unless it has the user's own signature there.

// brought are the signers of texts that git may have brought from someone else.
func brought(why string) *otherSigner {
	return &otherSigner{who: "nobody that rye can name", err: errors.New(why), unseen: true}
}

// own is how git's HEAD decides whether the user wrote an item.
type own struct {
	*signing
	at     *head.Committed // nil outside of a repository
	unread error           // why HEAD cannot be read; nil when it can

	moves map[objects.Ref]objects.Ref // from the names after moves to those before; nil until it is read
}

// markBrought marks the drafts that need a look before they are signed, for their text can be by
// someone else. It reports whether the user never signed anything here and git is idle.
func (g *signing) markBrought(ctx context.Context, all []*draft) (first bool, err error) {
	o := &own{signing: g}
	dir, err := records.Canonical(g.layer.Dir)
	if err == nil {
		o.at, o.unread = head.OpenCommitted(dir, g.Host.Home)
		defer o.at.Close()
	}
	marked := false
	for _, d := range all {
		if d.changed && d.before == nil && !d.proposal {
			if why := o.doubt(ctx, d); why != "" && len(d.Programs) > 0 && !g.alone(path.Dir(d.path)) {
				d.skipPrograms(path.Dir(d.path))
			} else if why != "" {
				d.before, marked = brought(why), true
			}
		}
	}
	if !marked || o.unread != nil || o.at == nil || o.at.Pending != "" {
		return false, err
	}
	first, err = g.nothingSigned(ctx, all)
	return first, err
}

// doubt says why the user may not have written a draft; "" when there is no doubt.
func (o *own) doubt(ctx context.Context, d *draft) string {
	switch {
	case o.unread != nil:
		return o.unread.Error()
	case o.at == nil:
		return o.doubtFormer(ctx, d)
	case o.at.Pending != "":
		return "git has not finished " + o.at.Pending
	case d.ref.Kind == objects.Bundle:
		return cmp.Or(o.doubtBundle(d), o.doubtFormer(ctx, d))
	}
	raw, ok, err := o.at.File(d.path, space.MaxItem)
	if err != nil {
		return textOf(err)
	}
	if !ok {
		return o.doubtFormer(ctx, d)
	}
	it, err := objects.Parse(d.path, raw)
	if err != nil || !o.known(it) {
		return unsignedAtHead
	}
	return ""
}

const unsignedAtHead = "you did not sign the version that git's HEAD has"

// doubtFormer is doubt for an item that rye mv gave its name: its text is as doubtful as under the
// name before. The record knows that name, and the record is the user's own.
func (o *own) doubtFormer(ctx context.Context, d *draft) string {
	if _, raw, err := o.recorded(ctx, d.ref); err != nil || raw == nil {
		return textOf(err)
	} else if it, err := objects.ParseRecorded(d.path, raw); err == nil && it.Signature != nil && o.mine(it) == nil {
		return "" // signed since
	}
	ref, err := d.ref, o.readMoves(ctx)
	for range maxMoves {
		from, ok := o.moves[ref]
		if !ok || err != nil {
			break
		}
		p, raw, rerr := o.recorded(ctx, from)
		if rerr != nil {
			return textOf(rerr)
		}
		if it, perr := objects.ParseRecorded(p, raw); perr == nil {
			_, refused := trust.Verify(it, o.scope, o.Trust)
			if by := foreignTo(o.Trust, it, refused); by != nil {
				return "as " + from.String() + " it had the signature of " + by.who
			}
		}
		if o.at != nil && p != "" {
			raw, there, herr := o.at.File(p, space.MaxItem)
			if herr != nil {
				return textOf(herr)
			}
			if it, perr := objects.ParseRecorded(p, raw); there && (perr != nil || !o.known(it)) {
				return "it was " + from.String() + ", and " + unsignedAtHead
			}
		}
		ref = from
	}
	return textOf(err)
}

const maxMoves = 100 // names of one item, one after the other

// recorded returns the last recorded file of an item, or the manifest of a bundle; "" and nil for
// none.
func (o *own) recorded(ctx context.Context, ref objects.Ref) (string, []byte, error) {
	if ref.Kind != objects.Bundle {
		return o.layer.LastRecorded(ctx, ref)
	}
	ns, rest, _ := strings.Cut(string(ref.ID), "/")
	dir, err := objects.BundleDir(objects.ID(ns + "/bundle/" + rest))
	if err != nil {
		return "", nil, nil
	}
	files, err := o.layer.LastFolder(ctx, dir, manifestIn(dir))
	for _, c := range files {
		if c.Path == manifestIn(dir) {
			return c.Path, c.Data, err
		}
	}
	return "", nil, err
}

// readMoves reads the moves in the record, once. The last one to a name counts.
func (o *own) readMoves(ctx context.Context) error {
	if o.moves != nil {
		return nil
	}
	o.moves = map[objects.Ref]objects.Ref{}
	tip, err := o.layer.Tip()
	if err != nil || tip.IsZero() {
		return err
	}
	repo, err := o.layer.Repo()
	if err != nil {
		return err
	}
	return repo.Log(ctx, tip, func(c *store.Commit) error {
		for line := range strings.Lines(c.Message) {
			names, is := strings.CutPrefix(strings.TrimSpace(line), "move ")
			old, now, ok := strings.Cut(names, " to ")
			if !is || !ok {
				continue
			}
			from, err1 := objects.ParseRef(old)
			to, err2 := objects.ParseRef(now)
			if _, later := o.moves[to]; err1 == nil && err2 == nil && !later {
				o.moves[to] = from
			}
		}
		return nil
	})
}

// known reports whether a version at HEAD needs no look: the user signed it. Of an item that the
// request names alone, everyone whose signatures count here.
func (o *own) known(it *objects.Item) bool {
	if named(o.q) {
		_, err := trust.Verify(it, o.scope, o.Trust)
		return err == nil
	}
	return o.mine(it) == nil
}

// doubtBundle is doubt for a manifest. The manifest at HEAD must be the user's, and each changed file
// that HEAD has must be as it lists it. git brought no file that HEAD has not.
func (o *own) doubtBundle(d *draft) string {
	raw, ok, err := o.at.File(d.path, space.MaxItem)
	if err != nil {
		return textOf(err)
	}
	var was *objects.Manifest
	if ok {
		if was, err = objects.ParseManifest(raw); err != nil || !o.known(was.Item()) {
			return unsignedAtHead
		}
	}
	for _, m := range d.Members {
		raw, there, err := o.at.File(path.Join(path.Dir(d.path), m.Path), maxMember)
		if err != nil {
			return textOf(err)
		}
		f, listed := was.File(m.Path)
		if there && (!listed || f.Sum != objects.DigestOf(raw)) {
			return "you did not sign the version of " + m.Path + " that git's HEAD has"
		}
	}
	return ""
}

const maxMember = 64 << 20 // bytes of a file in a bundle at HEAD

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// nothingSigned reports whether the user never signed anything here: neither one of the drafts,
// nor an item in the record.
func (g *signing) nothingSigned(ctx context.Context, all []*draft) (bool, error) {
	for _, d := range all {
		if d.data != nil && !d.changed || d.before != nil && !d.before.unseen {
			return false, nil
		}
	}
	tip, err := g.layer.Tip()
	if err != nil || tip.IsZero() {
		return err == nil, err
	}
	repo, err := g.layer.Repo()
	if err != nil {
		return false, err
	}
	found := errors.New("found")
	err = g.layer.Recorded(ctx, func(p string, blob store.OID) error {
		raw, err := repo.Blob(blob, maxMember)
		if err != nil {
			return err
		}
		if it, err := objects.Parse(p, raw); path.Base(p) == objects.ManifestName || err == nil && it.Signature != nil {
			return found
		}
		return nil
	})
	if errors.Is(err, found) {
		return false, nil
	}
	return err == nil, err
}

// askTogether asks a person about the drafts of a batch that need a look: in as few questions as
// can show them all, or by a list where the user never signed anything here. Drafts without a yes
// are not signed. missing is the error for them.
func (g *signing) askTogether(ctx context.Context, all []*draft, first bool) (missing, err error) {
	var unseen []*draft
	for _, d := range all {
		if d.changed && d.before != nil && d.before.unseen {
			unseen = append(unseen, d)
		}
	}
	if len(unseen) == 0 || g.q.Check {
		return nil, nil
	}
	n, sign := len(unseen), fault.Advice("at a terminal, rye shows each: rye sign %s", unseen[0].Ref)
	if g.q.DryRun {
		for _, d := range unseen {
			d.Status, d.Why = "would-ask", d.before.err.Error()
		}
		return nil, nil
	}
	if first {
		q := g.listQuestion(unseen)
		sign = q.Mend
		err = g.put(ctx, q, unseen)
	} else {
		err = g.showAll(ctx, unseen)
	}
	left := 0
	for _, d := range unseen {
		if !d.changed {
			left++
		}
	}
	if err == nil && left > 0 {
		missing = fault.New(fault.Denied, "sign: %d of %s not signed, because someone else may have written a part", left, words.Plural(n, "changed item")).With(sign)
	}
	return missing, err
}

// listQuestion lists items with their sizes.
func (g *signing) listQuestion(unseen []*draft) rye.Question {
	command := []string{"rye", "sign"}
	for _, t := range g.q.Targets {
		command = append(command, string(t))
	}
	if g.q.All {
		command = append(command, "--all")
	}
	if g.q.Upgrade {
		command = append(command, "--upgrade")
	}
	q := rye.Question{Topic: "sign " + words.Plural(len(unseen), "item"), Mend: fault.CommandOf(append(command, "--yes")...),
		Text: "git's HEAD has these items, and you have signed nothing here yet. Your signature is for all of their text"}
	size := 0
	for _, d := range unseen {
		if size += len(d.data); len(q.Lines) < maxListed {
			q.Lines = append(q.Lines, fmt.Sprintf("%s  .ai/%s  %s", d.Ref, d.path, words.Plural(len(d.data), "byte")))
		}
	}
	if more := len(unseen) - maxListed; more > 0 {
		q.Lines = append(q.Lines, fmt.Sprintf("and %d more", more))
	}
	q.Lines = append(q.Lines, "together "+words.Plural(size, "byte"))
	return q
}

const maxListed = 200 // items of a list

// showAll shows drafts, as many in one question as it can hold.
func (g *signing) showAll(ctx context.Context, unseen []*draft) error {
	var q rye.Question
	var in []*draft
	flush := func() error {
		if len(in) == 0 {
			return nil
		}
		err := g.put(ctx, q, in)
		q, in = rye.Question{}, nil
		return err
	}
	for _, d := range unseen {
		lines, err := g.changeOf(ctx, d)
		if err == nil {
			lines, err = readable(lines)
		}
		one := rye.Question{Text: "Someone else may have written a part of this. Your signature is for all of it", Person: true, Lines: lines}
		if err == nil {
			err = one.Check()
		}
		if err != nil {
			d.skip("rye cannot show all of it: " + err.Error())
			continue
		}
		if len(in) > 0 {
			together := one
			if together.Lines = append(append(q.Lines[:len(q.Lines):len(q.Lines)], ""), lines...); together.Check() != nil {
				if err := flush(); err != nil {
					return err
				}
			} else {
				one = together
			}
		}
		q, in = one, append(in, d)
		q.Topic = "sign " + in[0].Ref
		if len(in) > 1 {
			q.Topic = "sign " + words.Plural(len(in), "item")
		}
	}
	return flush()
}

// put asks one question about drafts. They are skipped unless a person agrees.
func (g *signing) put(ctx context.Context, q rye.Question, in []*draft) error {
	err := g.Ask(ctx, q)
	if err == nil || !fault.Is(err, fault.Denied) || ctx.Err() != nil {
		return cmp.Or(err, ctx.Err())
	}
	for _, d := range in {
		d.skip(d.before.err.Error())
	}
	return nil
}

// skip notes that a draft is not signed now, and the command for it alone.
func (d *draft) skip(why string) {
	d.Status, d.Why, d.Hint = "passed over", why, fault.Command("rye sign %s", d.Ref)
	d.data, d.changed, d.SHA256, d.Key, d.SignedAt = nil, false, "", "", ""
}
