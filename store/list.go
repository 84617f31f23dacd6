package store

import (
	"context"
	"slices"
)

// IDs returns the ids of all objects of a repository, reachable or not, each once, sorted. It
// holds them in memory: about 40 MB for a million objects.
func (r *Repo) IDs(ctx context.Context) ([]OID, error) {
	for range maxScans {
		ids, err := r.disk.listIDs(ctx)
		if err == nil {
			slices.SortFunc(ids, OID.Compare)
			return slices.Compact(ids), nil
		}
		if !isMissing(err) {
			return nil, err
		}
	}
	return nil, notFound("a pack of %s: other processes keep repacking", r.dir)
}

// listIDs lists loose objects first and packed ones after them, because packing removes the
// loose files last. For a pack that was removed meanwhile, isMissing reports true for the
// error.
func (d *diskObjects) listIDs(ctx context.Context) ([]OID, error) {
	ids, err := d.looseIDs()
	if err != nil {
		return nil, err
	}
	packs, _, err := d.rescan()
	if err != nil {
		return nil, err
	}
	for _, p := range packs {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if ids, err = p.appendIDs(ids); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (p *pack) appendIDs(ids []OID) ([]OID, error) {
	if err := p.open(false); err != nil {
		return nil, err
	}
	for i := range p.idx.n {
		id, err := p.idx.id(i)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
