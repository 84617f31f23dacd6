package govern

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Grant sets the owners of a namespace in a registry. Where the signing key is enough, the
// change is made; otherwise it is written to a file, as in ChangeRoot.
func Grant(ctx context.Context, s *custody.Desk, q rye.GrantRequest) (*rye.RootChange, error) {
	if err := session.CheckNamespace(q.Namespace); err != nil {
		return nil, err
	}
	keys, err := keysOf(s, q.Keys)
	if err != nil {
		return nil, err
	}
	r, err := openRoot(ctx, s, q.Registry, true)
	if err != nil {
		return nil, err
	}
	defer r.reg.Close()
	old := r.Root.Grant(q.Namespace)
	if len(keys) == 0 && old != nil {
		keys = old.Keys
	}
	op, err := r.reg.GrantOp(ctx, q.Namespace, keys...)
	if err != nil {
		return nil, err
	}
	if err := r.locate(ctx, &op, q.Located); err != nil {
		return nil, err
	}
	if old != nil && old.Genesis == op.Genesis && old.Located == op.Located && slices.Equal(old.Keys, keys) && !r.usedUp(old) {
		return nil, fault.New(fault.Conflict, "grant %s: these keys hold the grant already", q.Namespace).
			Advise("rye registry members %s shows them", q.Namespace)
	}
	rep, err := r.propose(ctx, op, step{file: q.Out, dryRun: q.DryRun, mend: share.GrantCommand(q.Namespace, keys, "--yes")})
	if err == nil && !q.DryRun && op.Located != "" && q.Located != "" { // to name an address is to agree to it
		_, err = share.AgreeTo(s, r.ID.String(), op.Located)
	}
	return rep, err
}

// usedUp reports whether a namespace where several keys must agree already derives from a
// grant. Then an equal new grant has an effect, and rescues it (docs/format/registry.md).
func (r *root) usedUp(g *oplog.Grant) bool {
	st, err := r.reg.View(g.Namespace)
	return err == nil && st.Threshold > 1 && st.Grant >= g.Since
}

// locate sets the repository of the namespace in a grant, after a check that its log is there:
// "" keeps it, "-" is the registry's own.
func (r *root) locate(ctx context.Context, op *oplog.RootOp, where string) error {
	switch where {
	case "":
		return nil
	case "-":
		op.Located, where = "", r.reg.URL()
	default:
		op.Located = where
	}
	if filepath.IsAbs(where) {
		where = (&url.URL{Scheme: "file", Path: filepath.ToSlash(where)}).String()
		if op.Located != "" {
			op.Located = where
		}
	}
	return r.reg.MayLocate(ctx, op.Namespace, where)
}

// Checkpoint lets the root sign the present positions of namespaces.
func Checkpoint(ctx context.Context, s *custody.Desk, q rye.CheckpointRequest) (*rye.RootChange, error) {
	r, err := openRoot(ctx, s, q.Registry, true)
	if err != nil {
		return nil, err
	}
	defer r.reg.Close()
	var until time.Time
	if q.Fresh != 0 {
		until = s.Now().Add(q.Fresh)
	}
	if len(q.Namespaces) == 0 {
		if q.Namespaces, err = r.vouchable(ctx, !until.IsZero()); err != nil {
			return nil, err
		}
	}
	op, err := r.reg.CheckpointOp(ctx, until, q.Namespaces...)
	if err != nil {
		return nil, err
	}
	return r.propose(ctx, op, step{file: q.Out, dryRun: q.DryRun})
}

// vouchable returns the granted namespaces that are past their last checkpoint, or with every
// all that are claimed.
func (r *root) vouchable(ctx context.Context, every bool) (names []string, err error) {
	all := r.Namespaces()
	if err := r.reg.Sync(ctx, all...); err != nil {
		return nil, err
	}
	for _, ns := range all {
		st, err := r.reg.View(ns)
		if fault.Is(err, fault.NotFound) {
			continue // granted, and not claimed yet
		}
		if err != nil {
			return nil, err
		}
		if c := r.Root.Grant(ns).Checkpoint; st.Seq > 0 && (every || c == nil || c.Seq < st.Seq) {
			names = append(names, ns)
		}
	}
	if len(names) == 0 {
		return nil, fault.New(fault.Conflict, "checkpoint: every namespace has a checkpoint at its newest operation").Advise("rye registry root show shows the checkpoints")
	}
	return names, nil
}

// keysOf parses whole keys, and looks up fingerprints of known ones, each once.
func keysOf(s *custody.Desk, texts []string) ([]trust.PublicKey, error) {
	var keys []trust.PublicKey
	for _, text := range texts {
		k, err := custody.PublicKey(s.Host, s.Trust, text)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.NotFound, "key %s: rye knows only its fingerprint, and a registry needs the whole key", text).
				Advise("ask its owner for the output of rye key show --ssh, and give that in quotes")
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}
