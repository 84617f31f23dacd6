package registry

import (
	"context"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// Claim is the result of comparing a point, such as one in a lock, with the verified log.
type Claim string

// The results of a comparison.
const (
	ClaimHolds   Claim = "holds"   // the verified log passes through it
	ClaimAhead   Claim = "ahead"   // the verified log does not reach so far
	ClaimDiffers Claim = "differs" // the verified log has another operation there
	ClaimUnknown Claim = "unknown" // nothing was verified, or not so far back
)

// Compare compares a point of a namespace's log with the log as last synced, without network. The
// result proves nothing about the registry: the author of the point may have seen another history,
// or may have invented it.
func (r *Registry) Compare(ctx context.Context, namespace string, seq uint64, sum objects.Digest) (Claim, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.mem.Recall()
	if err != nil {
		return ClaimUnknown, err
	}
	p, repo := m[namespace], r.reading()
	switch {
	case p.Seq == 0:
		return ClaimUnknown, nil
	case seq > p.Seq:
		return ClaimAhead, nil
	case seq == 0 || seq == p.Seq && sum != p.Sum:
		return ClaimDiffers, nil
	case seq == p.Seq:
		return ClaimHolds, nil
	case repo == nil:
		return ClaimUnknown, nil
	}
	raw, err := oplog.RawAt(ctx, &repo.Reader, p, seq)
	switch {
	case oplog.CutOff(err): // the cache begins at a checkpoint by the root
		return ClaimUnknown, nil
	case err != nil:
		return ClaimUnknown, err
	case objects.DigestOf(raw) != sum:
		return ClaimDiffers, nil
	}
	return ClaimHolds, nil
}
