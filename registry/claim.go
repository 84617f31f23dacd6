package registry

import (
	"context"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// Claim is how a point that somebody names, such as a lock, stands to the log that this
// machine verified.
type Claim string

// The claims.
const (
	ClaimHolds   Claim = "holds"   // the verified log passes through it
	ClaimAhead   Claim = "ahead"   // the verified log does not reach so far
	ClaimDiffers Claim = "differs" // the verified log has another operation there
	ClaimUnknown Claim = "unknown" // nothing was verified, or not so far back
)

// Compare says how a point of a namespace's log stands to what was last synced, without
// network. A claim proves nothing about the registry: who wrote it may have been shown
// another history, or may have made it up.
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
	case oplog.CutOff(err): // the cache begins at a checkpoint, which the root vouches for
		return ClaimUnknown, nil
	case err != nil:
		return ClaimUnknown, err
	case objects.DigestOf(raw) != sum:
		return ClaimDiffers, nil
	}
	return ClaimHolds, nil
}
