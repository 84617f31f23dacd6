package origin

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// maxHosts bounds the sources that are asked at once.
const maxHosts = 32

// Outdated compares each bundle that has an origin with its source. It asks each source once, all in
// parallel, and only those that the user granted in this directory. Offline it returns the last
// answers. The reports are complete beside an error.
func Outdated(ctx context.Context, d *custody.Desk) ([]rye.OriginInfo, error) {
	st, err := load(d.Session)
	if err != nil {
		return nil, err
	}
	all, err := bundlesOf(ctx, d.Session, st)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	ask := all
	if d.Offline { // the user's own disk can be read
		ask = slices.DeleteFunc(slices.Clone(all), func(b bundle) bool { return !b.local() || !b.still() })
	}
	fresh, faults := askAll(ctx, d, bySource(ask))
	reports := make([]rye.OriginInfo, 0, len(all))
	never := 0
	for _, b := range all {
		a, asked := fresh[b.name]
		if !asked {
			a = b.pin.Answer
		}
		r := report(d, b, a)
		if r.Known == "" && d.Offline && b.pin.Ref != "" {
			never++
		}
		reports = append(reports, r)
	}
	if len(fresh) > 0 && d.Place.Dir != "" {
		err := update(ctx, d, func(st *state) error {
			for _, b := range all {
				if a, ok := fresh[b.name]; ok {
					b.pin.Answer = a
					st.Bundles[b.name] = b.pin
				}
			}
			return nil
		})
		faults = append(faults, err)
	}
	if never > 0 {
		faults = append(faults, fault.New(fault.Offline, "outdated: %s was never asked", words.Plural(never, "source")).Advise("leave out --offline"))
	}
	return reports, errors.Join(faults...)
}

// askAll asks every source once, several at a time.
func askAll(ctx context.Context, d *custody.Desk, by map[string][]bundle) (fresh map[string]answer, faults []error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	turn := make(chan struct{}, maxHosts)
	fresh = map[string]answer{}
	addresses := slices.Sorted(maps.Keys(by))
	failed := make([]error, len(addresses))
	for i, address := range addresses {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			found, err := ask(ctx, d, by[address])
			if err != nil {
				failed[i] = fault.Wrap(err, "ask %s", words.Brief(address))
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(fresh, found)
		})
	}
	wg.Wait()
	return fresh, failed
}

// The states of a bundle beside its source.
const (
	stateOK        = "ok"
	stateOutdated  = "outdated"
	statePinned    = "pinned"    // to a commit, by its id
	stateMoved     = "moved"     // the tag names another commit
	stateRewritten = "rewritten" // the branch no longer has the commit
	stateSigner    = "signer"    // another key signed, or none
	stateRemoved   = "removed"   // the folder is not there any more
	stateRenamed   = "renamed"   // the folder has another path
	stateGone      = "gone"      // the ref or the repository is not there any more
	stateUnknown   = "unknown"   // the source could not be asked
	stateNotAsked  = "not asked" // no grant for the source

	// After an update.
	stateUpdated  = "updated"
	stateConflict = "conflict" // updated, with conflicts in the files
	stateFailed   = "failed"
)

func report(d *custody.Desk, b bundle, a answer) rye.OriginInfo {
	o := b.manifest.Origin
	r := rye.OriginInfo{Name: string(b.manifest.ID), Source: o.Source, Ref: o.Ref, Path: o.Path, Commit: o.Commit, State: a.State, Now: a.Commit,
		Renamed: a.Renamed, Reason: a.Reason, Known: a.Time}
	update := fault.Command("rye update %s", b.name)
	switch {
	case b.pin.Ref == "" && b.pin.Commit != "":
		r.State = statePinned
	case !b.contactable() && !b.still():
		r.State, r.Reason = stateUnknown, "it came from a folder or an archive of one machine"
	case !b.allowed(d) && a.State == "":
		r.State, r.Reason, r.Instead = stateNotAsked, "its source needs your yes", update
	case a.State == "":
		r.State = stateUnknown
	}
	switch r.State {
	case stateOutdated, stateMoved, stateRewritten, stateSigner, stateRenamed:
		r.Outdated, r.Instead = true, update
	}
	return r
}

// ask compares the bundles of one source with it.
func ask(ctx context.Context, d *custody.Desk, all []bundle) (map[string]answer, error) {
	first := all[0]
	if first.site() && first.allowed(d) {
		return askSite(ctx, d, all)
	}
	if first.still() && first.allowed(d) {
		return askStill(ctx, d, all)
	}
	if !first.contactable() || !first.allowed(d) {
		return nil, nil
	}
	var prefixes []string
	for _, b := range all {
		if b.pin.Ref != "" && !slices.Contains(prefixes, b.pin.Ref) {
			prefixes = append(prefixes, b.pin.Ref)
		}
	}
	if len(prefixes) == 0 {
		return nil, nil
	}
	h, err := contact(d, first.pin.Address, first.typed)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	now := d.Now().UTC().Format(time.RFC3339)
	refs, _, err := h.remote.RefsAndHead(ctx, prefixes...)
	answers := map[string]answer{}
	if fault.Is(err, fault.NotFound) {
		for _, b := range all {
			answers[b.name] = answer{Time: now, State: stateGone, Reason: "the repository is not there any more"}
		}
		return answers, nil
	}
	if err != nil {
		return nil, err
	}
	views := map[string]*view{}
	for _, b := range all {
		if b.pin.Ref == "" {
			continue
		}
		tip := refs[b.pin.Ref]
		a := answer{Time: now, State: stateOK, Commit: b.pin.Commit}
		switch {
		case tip.IsZero():
			a.State, a.Commit, a.Reason = stateGone, "", strings.TrimPrefix(strings.TrimPrefix(b.pin.Ref, branches), tags)+" is not there any more"
		case tip.String() != b.pin.Tip && tip.String() != b.pin.Commit:
			v := views[b.pin.Ref]
			if v == nil {
				if v, err = h.view(ctx, target{b.pin.Ref, tip}); err != nil {
					return answers, err
				}
				views[b.pin.Ref] = v
			}
			if a, err = v.compare(ctx, b, now); err != nil {
				return answers, err
			}
		}
		answers[b.name] = a
	}
	return answers, nil
}

// view shows the folders of a commit, without its files.
type view struct {
	h *host
	target
	commit
	reached  map[string]bool // commits, by whether the history has them
	accepted bool            // a moved tag or a rewritten branch was
}

// view fetches the folders at a target.
func (h *host) view(ctx context.Context, t target) (*view, error) {
	if err := h.fetch(ctx, []store.OID{t.tip}, transport.FetchOptions{Depth: 1, Filter: "blob:none", Limits: contentLimits}); err != nil {
		return nil, err
	}
	c, err := h.at(t)
	return &view{h: h, target: t, commit: c, reached: map[string]bool{}}, err
}

// compare says how a bundle stands beside the commit.
func (v *view) compare(ctx context.Context, b bundle, now string) (answer, error) {
	a := answer{Time: now, State: stateOK, Commit: v.commit.id.String()}
	why, err := v.forbids(ctx, b)
	if err != nil || why.state != "" {
		a.State, a.Reason = why.state, why.reason
		return a, err
	}
	if v.commit.id.String() == b.pin.Commit {
		return a, nil
	}
	tree, err := folderAt(&v.h.repo.Reader, v.commit.tree, b.pin.Path)
	switch {
	case fault.Is(err, fault.NotFound):
		a.State, a.Reason = stateRemoved, "the folder is not there any more"
		if a.Renamed, err = v.elsewhere(ctx, b); a.Renamed != "" {
			a.State, a.Reason = stateRenamed, "the folder is now "+a.Renamed
		}
		return a, err
	case err != nil:
		return a, err
	case tree.String() != b.pin.Tree:
		a.State = stateOutdated
	}
	return a, nil
}

// objection is why a commit is not simply the next one.
type objection struct{ state, reason string }

// forbids compares ref, history and signer of a commit with those that are remembered.
func (v *view) forbids(ctx context.Context, b bundle) (objection, error) {
	is := v.commit.id.String()
	if is == b.pin.Commit || b.pin.Commit == "" {
		return objection{}, nil
	}
	if !v.accepted {
		if why, err := v.moved(ctx, b); err != nil || why.state != "" {
			return why, err
		}
	}
	if b.signer != "" && b.signer != string(v.signer) {
		return objection{stateSigner, "the commit is " + signedBy(v.commit)}, nil
	}
	return objection{}, nil
}

// moved reports a tag that names another commit, and a branch that lost the pinned one.
func (v *view) moved(ctx context.Context, b bundle) (objection, error) {
	if strings.HasPrefix(v.ref, tags) {
		return objection{stateMoved, "the tag names another commit now"}, nil
	}
	reached, known := v.reached[b.pin.Commit]
	if !known {
		was, err := store.ParseOID(b.pin.Commit)
		if err != nil {
			return objection{}, err
		}
		if reached, err = v.h.reaches(ctx, []store.OID{v.commit.id}, was); err != nil {
			return objection{}, err
		}
		v.reached[b.pin.Commit] = reached
	}
	if !reached {
		return objection{stateRewritten, "the branch no longer has the commit"}, nil
	}
	return objection{}, nil
}

// elsewhere finds the folder of a bundle under another path: the one with the same content, else the
// only one with a SKILL.md and the same last name. "" is none.
func (v *view) elsewhere(ctx context.Context, b bundle) (string, error) {
	var same, named []string
	err := v.h.repo.Walk(ctx, v.commit.tree, func(p string, e store.Entry) error {
		switch {
		case strings.Count(p, "/") >= maxLevels:
			return tooMany()
		case e.IsDir() && e.ID.String() == b.pin.Tree:
			same = append(same, p)
		case path.Base(p) == objects.SkillFile && path.Base(path.Dir(p)) == path.Base(b.pin.Path):
			named = append(named, path.Dir(p))
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case len(same) > 0:
		return same[0], nil
	case len(named) == 1:
		return named[0], nil
	}
	return "", nil
}
