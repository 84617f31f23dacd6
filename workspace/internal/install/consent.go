package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/resolve"
)

// review is the part of an installation that a person is shown before they agree.
type review struct {
	*installation
	sol *resolve.Solution
}

// changes compares the arrivals with the lock.
func (r review) changes(ctx context.Context) (all []rye.Change) {
	for i := range r.arrivals {
		if a := &r.arrivals[i]; !a.pinned(r.Lock) {
			all = append(all, r.change(ctx, a))
		}
	}
	slices.SortStableFunc(all, func(a, b rye.Change) int { // items that were asked for come first
		switch {
		case a.Direct == b.Direct:
			return 0
		case a.Direct:
			return -1
		}
		return 1
	})
	for _, ref := range r.gone {
		all = append(all, rye.Change{Name: ref.Published(), Was: r.Lock.Items[ref].Version})
	}
	return all
}

// change is one arrival beside its entry in the lock.
func (r review) change(ctx context.Context, a *arrival) rye.Change {
	it, e := a.item, a.release.Entry
	_, listed := r.Project.Deps[e.Ref.Published()]
	c := rye.Change{Name: e.Ref.Published(), Version: e.Version, WantedBy: r.sol.Chosen[e.Ref].By, Direct: listed || r.asked[e.Ref],
		Needs: needsOf(it), Capabilities: it.Meta.Permissions, Deps: it.Meta.Deps, Author: e.Author.String(), Publisher: e.Publisher.String()}
	pin, had := r.fromRegistry(e.Ref)
	old := r.installation.kept(ctx, e.Ref)
	if had {
		c.Was = pin.Version
		if pin.Author != e.Author {
			c.AuthorWas = pin.Author.String()
		}
		if pin.Publisher != e.Publisher {
			c.PublisherWas = pin.Publisher.String()
		}
	}
	if old != nil {
		c.NeedsWas, c.CapabilitiesWas = needsOf(old), old.Meta.Permissions
		for _, name := range slices.Sorted(maps.Keys(old.Meta.Deps)) {
			if _, still := it.Meta.Deps[name]; !still {
				c.DepsGone = append(c.DepsGone, name)
			}
		}
	}
	r.compare(&c, it, old)
	switch {
	case had && a.parcel != nil:
		c.Wider = a.parcel.wider()
	case old != nil:
		c.Wider = policy.Wider(fromElsewhere(it), fromElsewhere(old))
	case had && pin.Capability != chain.CapabilityDigest(it):
		c.Wider = []string{"has other needs or permissions than " + pin.Version + ", which is not here to compare with"}
	case !had && !c.Direct:
		c.Wider = r.unexpected(it)
	}
	return c
}

// needsOf describes a tool's sandbox needs; "" for other items.
func needsOf(it *objects.Item) string {
	if it.Ref.Kind != objects.Tool {
		return ""
	}
	return describeNeeds(it.Meta.Needs)
}

// compare counts the added and removed lines.
func (r review) compare(c *rye.Change, it, old *objects.Item) {
	was := ""
	if old != nil {
		was = string(old.Raw)
	} else if !r.q.Diff {
		c.Added = bytes.Count(it.Raw, []byte("\n"))
		return
	}
	lines := diff.Lines(was, string(it.Raw))
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "+"):
			c.Added++
		case strings.HasPrefix(l, "-"):
			c.Removed++
		}
	}
	if r.q.Diff {
		c.Diff = lines
	}
}

// fromElsewhere is an item with its needs as they apply to a registry's item: without a
// declaration it reads the project and has no network.
func fromElsewhere(it *objects.Item) *objects.Item {
	other := *it
	if !other.Meta.Needs.Declared && it.Ref.Kind == objects.Tool {
		other.Meta.Needs.Declared, other.Meta.Needs.Read = true, []string{"."}
	}
	return &other
}

// unexpected lists permissions that no one agreed to by naming another item: an indirect item
// has them, and the item that uses it does not. In an update it reports every new tool.
func (r review) unexpected(it *objects.Item) (all []string) {
	if r.q.Update && it.Ref.Kind == objects.Tool {
		return []string{"brings a new tool"}
	}
	for i := range r.arrivals {
		user := r.arrivals[i].item
		name := r.arrivals[i].release.Name()
		if _, uses := user.Meta.Deps[it.Ref.Published()]; !uses && !(it.Ref.Kind == objects.Tool && r.runs[name] == it.Ref.ID) {
			continue
		}
		more := beyond(it, user)
		if len(more) == 0 {
			return nil
		}
		for i := range more {
			more[i] += ", which " + name + " does not"
		}
		all = append(all, more...)
	}
	if len(all) == 0 {
		for _, text := range r.sol.Chosen[it.Ref].By { // for items that were there before
			all = append(all, "adds a dependency: "+text)
		}
	}
	return all
}

// beyond lists an item's permissions that another lacks. Other items than tools count like a
// tool without a declaration: they read the project.
func beyond(it, user *objects.Item) []string {
	may := func(it *objects.Item) *objects.Item {
		n := fromElsewhere(&objects.Item{Ref: objects.Ref{Kind: objects.Tool}, Meta: objects.Meta{Needs: it.Meta.Needs}})
		n.Meta.Needs.Sandbox = ""
		n.Meta.Permissions = it.Meta.Permissions
		return n
	}
	now, was := may(it), may(user)
	if len(now.Meta.Permissions) == 0 {
		was.Meta.Permissions = nil // an item without any has no more than another
	}
	if it.Ref.Kind != objects.Tool {
		now.Meta.Needs, was.Meta.Needs = objects.Needs{}, objects.Needs{}
	}
	return policy.Wider(now, was)
}

// agree shows the changes and asks once, or in parts where there are more than a person is
// shown at once.
func (r review) agree(ctx context.Context, all []rye.Change) error {
	for len(all) > 0 {
		q, n := r.question(all)
		if err := r.Ask(ctx, q); err != nil {
			return r.refused(err, all[:n])
		}
		all = all[n:]
	}
	return nil
}

// The flags that a yes needs beside --yes.
const (
	acceptNeeds  = "--accept-needs"
	acceptSigner = "--accept-signer"
)

// question asks about as many of the changes as a person is shown at once, at least one. For
// wider needs, and for items signed by others, only their own flags answer it.
func (r review) question(all []rye.Change) (rye.Question, int) {
	var q rye.Question
	n, size := 0, 0
	needs, signer := false, false
	for _, c := range all {
		lines := r.lines(c)
		for _, l := range lines {
			size += len(l)
		}
		if n > 0 && (len(q.Lines)+len(lines) > rye.MaxQuestionLines-10 || size > rye.MaxQuestionBytes-rye.MaxLineBytes) {
			break
		}
		q.Lines = append(q.Lines, lines...)
		n++
		needs = needs || len(c.Wider) > 0 && !r.q.AcceptNeeds
		signer = signer || signerChanged(c) && !r.q.AcceptSigner
	}
	if needs {
		q.Flags = append(q.Flags, acceptNeeds)
	}
	if signer {
		q.Flags = append(q.Flags, acceptSigner)
	}
	q.Topic = r.verb() + " " + all[0].Name
	if all[0].Version != "" {
		q.Topic += "@" + all[0].Version
	}
	q.Text = "Add it?"
	if r.q.Update {
		q.Text = "Update it?"
	}
	if n > 1 {
		q.Topic += " and " + words.Plural(n-1, "more item")
		q.Text = strings.Replace(q.Text, "it", "them", 1)
	}
	q.Mend = r.again(all[:n])
	return q, n
}

func (r review) verb() string {
	switch {
	case r.q.Update:
		return "update"
	case len(r.q.Names) == 0:
		return "pull"
	}
	return "add"
}

// again is the command that says yes to changes without a terminal.
func (r review) again(all []rye.Change) fault.Hint {
	args := append([]string{"rye", r.verb()}, r.q.Names...)
	if slices.ContainsFunc(all, func(c rye.Change) bool { return len(c.Wider) > 0 }) {
		args = append(args, acceptNeeds)
	}
	if slices.ContainsFunc(all, signerChanged) {
		args = append(args, acceptSigner)
	}
	return fault.CommandOf(append(args, "--yes")...)
}

func signerChanged(c rye.Change) bool { return c.AuthorWas != "" || c.PublisherWas != "" }

// refused separates a change of signers from other reasons to ask, where no one could be
// asked.
func (r review) refused(err error, all []rye.Change) error {
	var no *rye.Unagreed
	declined := errors.As(err, &no) && no.How == rye.Declined
	if declined || !fault.Is(err, fault.Denied) || r.q.AcceptSigner {
		return err
	}
	i := slices.IndexFunc(all, signerChanged)
	if i < 0 {
		return err
	}
	return fault.New(fault.Untrusted, "%s %s: its signer is not the signer of %s: %w", r.verb(), all[i].Name, all[i].Was, err).With(r.again(all))
}

// lines shows one change: the new item, and its differences from the previous version.
func (r review) lines(c rye.Change) (lines []string) {
	if c.Version == "" {
		return []string{c.Name + "@" + c.Was + " is removed: no longer needed"}
	}
	i := slices.IndexFunc(r.arrivals, func(a arrival) bool { return a.item.Ref.Published() == c.Name })
	lines = r.arrivals[i].question(r.Lock).Lines
	add := func(format string, args ...any) {
		lines = append(lines, words.Clip(fmt.Sprintf(format, args...), rye.MaxLineBytes-8))
	}
	if !c.Direct {
		add("dependency: %s", strings.Join(c.WantedBy, "; "))
	}
	if c.Was != "" {
		add("moves    %s -> %s, +%d -%d lines", c.Was, c.Version, c.Added, c.Removed)
		if c.PublisherWas != "" {
			add("PUBLISHER CHANGED: now %s, was %s", c.Publisher, c.PublisherWas)
		}
		if c.NeedsWas != "" && c.NeedsWas != c.Needs {
			add("needed before: %s", c.NeedsWas)
		}
		if len(c.CapabilitiesWas) > 0 && !slices.Equal(c.Capabilities, c.CapabilitiesWas) {
			add("asked for before: %s", strings.Join(c.CapabilitiesWas, ", "))
		}
	}
	for _, w := range c.Wider {
		add("NOW ALSO %s", w)
	}
	if len(c.Deps) > 0 {
		add("uses     %s", depsText(c.Deps))
	}
	if len(c.DepsGone) > 0 {
		add("no longer uses %s", strings.Join(c.DepsGone, ", "))
	}
	const most = 200
	for i, l := range c.Diff {
		if i == most {
			add("… %d more lines; --dry-run --diff shows them", len(c.Diff)-most)
			break
		}
		add("  %s", l)
	}
	return lines
}
