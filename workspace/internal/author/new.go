package author

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/scaffold"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// New writes the first version of an item into the project or the user space, ready to edit
// and to sign. An id of one segment gets the project's namespace. It never overwrites.
func New(ctx context.Context, s *custody.Desk, q rye.NewRequest) (*rye.NewReport, error) {
	kind, err := objects.ParseKind(q.Kind)
	if err != nil {
		return nil, err
	}
	l, err := changeable(ctx, s, q.Space, false)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(q.ID, "/") {
		q.ID = namespaceOf(s) + "/" + q.ID
	}
	id, err := objects.ParseID(q.ID)
	if err != nil {
		return nil, err
	}
	ref := objects.Ref{Kind: kind, ID: id}
	ext, text, err := scaffold.Text(ref, q.Lang, q.Description)
	if err != nil {
		return nil, err
	}
	if it, err := l.Draft(ref); err == nil {
		return nil, fault.New(fault.Conflict, "%s: %s is already there", ref, session.Shown(l, it.Path)).Advise("rye show %s, or another id", ref)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p := ref.Path(ext)
	if err := ready(l); err != nil {
		return nil, err
	}
	if err := l.Write(p, []byte(text), space.WaitAll); err != nil {
		return nil, err
	}
	rep := &rye.NewReport{Ref: ref.String(), Path: session.Shown(l, p), Next: fault.Command("rye sign %s"+session.SpaceFlag(l), ref)}
	if trust.Reserved(ref.ID.Namespace()) {
		rep.Next = fault.Advice("rye trust override %s, then rye sign %[1]s", ref)
	}
	return rep, nil
}
