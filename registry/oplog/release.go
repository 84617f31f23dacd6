package oplog

import (
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Release is a published version, as a verified log describes it.
type Release struct {
	Entry
	Registry  objects.Digest // identity
	Namespace string
	Tip       Point // where the namespace stood when the release was selected
}

// Select chooses among the versions of this state: see Registry.Select.
func (s State) Select(ref objects.Ref, want objects.Range) (Release, error) {
	list, err := s.Versions(ref)
	if err != nil {
		return Release{}, err
	}
	var refused Entry
	for _, e := range slices.Backward(list) {
		v, err := objects.ParseVersion(e.Version)
		if err != nil || !want.Allows(v) {
			continue
		}
		if e.Status == StatusOK || e.Status == StatusDeprecated {
			return s.Release(e), nil
		}
		if refused.Version == "" || refused.Status.Gone() {
			refused = e
		}
	}
	switch {
	case len(list) == 0:
		return Release{}, fault.New(fault.NotFound, "%s: namespace %s has published nothing of this name", ref.Published(), s.Namespace).
			Advise("rye registry log %s", s.Namespace)
	case refused.Status.Gone():
		return Release{}, fault.New(fault.Revoked, "%s: was %s: %s", refused.Name(), refused.Status, refused.Reason)
	case refused.Status == StatusYanked:
		return Release{}, fault.New(fault.Conflict, "%s: was yanked: %s", refused.Name(), refused.Reason).
			Advise("ask for another range; locks that have it keep working")
	}
	return Release{}, fault.New(fault.Conflict, "%s: no version fits %s; the newest is %s", ref.Published(), want, list[len(list)-1].Version)
}

func (s State) Release(e Entry) Release {
	return Release{Entry: e, Registry: s.Registry, Namespace: s.Namespace, Tip: s.Point()}
}
