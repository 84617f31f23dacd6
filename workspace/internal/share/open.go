package share

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Open opens a registry of the project, with the change of owners that the user
// accepted, if any. It uses no network yet.
func Open(s *custody.Desk, name string, accepted map[string]uint64) (*registry.Registry, error) {
	c, err := MayReach(s, name)
	if err != nil {
		return nil, err
	}
	return openAt(s, c.ID, registry.Options{URL: c.URL, Mirrors: agreedMirrors(s, c), AcceptOwners: accepted})
}

// openHere is Open for the earlier verified state only. It contacts no one, so the user need not
// have agreed to the address.
func openHere(s *custody.Desk, name string) (*registry.Registry, error) {
	c, ok := s.Project.Registries[name]
	if !ok {
		return nil, unknownRegistry(name)
	}
	return openAt(s, c.ID, registry.Options{URL: c.URL, Offline: true})
}

// openTo is Open for writing to one address of the registry; "" is the namespace's own.
func openTo(s *custody.Desk, name, to string) (*registry.Registry, error) {
	c, err := MayReach(s, name)
	if err != nil {
		return nil, err
	}
	o := registry.Options{URL: c.URL, Mirrors: agreedMirrors(s, c), To: to}
	if to != "" && to != o.URL && !slices.Contains(o.Mirrors, to) {
		return nil, fault.New(fault.Untrusted, "push to %s: it is not an accepted address of registry %s", to, name).Mend("rye registry mirror add %s %s", name, to)
	}
	return openAt(s, c.ID, o)
}

func unknownRegistry(name string) error {
	return fault.New(fault.NotFound, "registry %q: not in this project's rye.yaml", name).Advise("rye registry list shows the registries")
}

// OpenPinned opens a registry that the user agreed to ask at this address.
func OpenPinned(s *custody.Desk, url, id string, accepted map[string]uint64) (*registry.Registry, error) {
	return openAt(s, id, registry.Options{URL: url, AcceptOwners: accepted})
}

// openAt opens a registry at addresses that the user agreed to.
func openAt(s *custody.Desk, id string, o registry.Options) (*registry.Registry, error) {
	digest, err := objects.ParseDigest(id)
	if err != nil {
		return nil, err
	}
	o.ID, o.Transport, o.Now = digest, TransportOf(s), s.Now
	if o.Copy == "" { // no network is needed to read a copy
		o.Offline = o.Offline || s.Offline
		o.Transport.Cache = s.HostsDir() // it is asked again and again
	}
	o.CacheDir, o.StateDir = s.Registries()
	o.Whole = func(ctx context.Context, w registry.WholeFetch) error { return mayFetchWhole(ctx, s, w) }
	o.MayAsk = func(url string) bool { return agreed(s, id, url) || agreedSince(s, id, url) }
	return registry.Open(o)
}

// OpenSynced opens a registry of the project and brings namespaces up to date. It contacts the
// registry only if the user agreed that it names their owners. When a namespace has other
// owners, by its root or its former owners, the user has to agree before their signatures
// are trusted.
func OpenSynced(ctx context.Context, s *custody.Desk, name string, namespaces ...string) (*registry.Registry, error) {
	reg, err := openAgreed(s, name, namespaces)
	if err != nil {
		return nil, err
	}
	reg, err = openFollowing(ctx, s, name, namespaces, reg, func(reg *registry.Registry) error { return compareNew(ctx, s, name, reg, namespaces) })
	if err != nil {
		return nil, err
	}
	for _, note := range append(reg.Notes(), reg.Drops()...) {
		s.Tell(note)
	}
	if err := settle(ctx, s, reg, namespaces); err != nil {
		reg.Close()
		return nil, err
	}
	return reg, nil
}

// OpenAgreed opens a registry for a namespace that the user gave to it, without a sync.
func OpenAgreed(s *custody.Desk, name, namespace string) (*registry.Registry, error) {
	return openAgreed(s, name, []string{namespace})
}

// openAgreed opens a registry for namespaces that the user gave to it. It uses no network yet.
func openAgreed(s *custody.Desk, name string, namespaces []string) (*registry.Registry, error) {
	for _, ns := range namespaces {
		if err := mayDecide(s, name, ns); err != nil {
			return nil, err
		}
	}
	return Open(s, name, nil)
}

// openFollowing is OpenSynced without its check for consent, and asks about new owners. then,
// if not nil, runs after the sync, and may find new owners, too.
func openFollowing(ctx context.Context, s *custody.Desk, name string, namespaces []string, reg *registry.Registry, then func(*registry.Registry) error) (_ *registry.Registry, err error) {
	accepted := map[string]uint64{}
	for ; ; reg = nil {
		if reg == nil {
			if reg, err = Open(s, name, accepted); err != nil {
				return nil, err
			}
		}
		if err = reg.Sync(ctx, namespaces...); err == nil && then != nil {
			err = then(reg)
		}
		if err == nil {
			return reg, nil
		}
		reg.Close()
		var lies *registry.LocatedError
		if errors.As(err, &lies) {
			if s, err = agreeToPlace(ctx, s, name, lies); err != nil {
				return nil, err
			}
			continue
		}
		var changed *registry.OwnerError
		if !errors.As(err, &changed) || accepted[changed.Namespace] == changed.Seq {
			return nil, err
		}
		if err := acceptOwners(ctx, s, changed.Namespace, ownerQuestion(name, changed), err); err != nil {
			return nil, registry.SyncError{changed.Namespace: err}
		}
		accepted[changed.Namespace] = changed.Seq
	}
}

func ownerQuestion(name string, e *registry.OwnerError) rye.Question {
	q := rye.Question{Topic: "owners of " + e.Namespace, Text: "In registry " + name + " the namespace " + e.Namespace + " has other owners. Follow them?",
		Mend: fault.Advice("rye fetch %s %s, after you ask the former owners", rye.AcceptOwner, e.Namespace)}
	for _, k := range e.Keys {
		q.Lines = append(q.Lines, "now "+k.String())
	}
	return q
}

// manyVersions is the number of versions from which fetching the whole content needs a question.
// A registry's version takes a few hundred bytes to some kilobytes on the way.
const manyVersions = 1000

// mayFetchWhole reports, or asks, before all content of a namespace is fetched because its host
// serves nothing less.
func mayFetchWhole(ctx context.Context, s *custody.Desk, w registry.WholeFetch) error {
	text := fmt.Sprintf("%s: its host serves only whole branches, so rye must fetch all of it: about %s, of unknown size", w.Namespace, words.Plural(int(min(w.Versions, 1<<30)), "version"))
	if w.Versions < manyVersions {
		s.Tell(text)
		return nil
	}
	return s.Ask(ctx, rye.Question{Topic: "content of " + w.Namespace, Text: text + ". Fetch it?",
		Lines: []string{"later fetches transfer only new objects", "a registry created with rye registry init --tags avoids this"},
		Mend:  fault.Command("rye fetch --yes")})
}
