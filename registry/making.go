package registry

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// prepare begins to make the missing versions, in the order of the operations, on all processors:
// compression is most of the work of a large publication. Meanwhile the caller makes the
// operations, each after ready has put its content into the batch.
func (j *publishing) prepare(ctx context.Context, p oplog.Pen, b *store.Batch, ops []oplog.Op) preparation {
	at := make(map[string]*outgoing, len(j.versions))
	for _, v := range j.versions {
		at[v.entry.Name()] = v
	}
	wanted := make([][]*outgoing, len(ops))
	var missing []*outgoing
	for i := range ops {
		for _, e := range ops[i].Items {
			v := at[e.Name()]
			wanted[i] = append(wanted[i], v)
			if v.commit.IsZero() && e.Ref.Kind != objects.Bundle {
				missing = append(missing, v)
			}
		}
	}
	ctx, stop := context.WithCancel(ctx)
	made := makeContent(ctx, p, missing)
	return preparation{
		made: func() *[]store.OID { return &j.made },
		ready: func(i int) error {
			for k, v := range wanted[i] {
				if err := j.putPackage(b, p, v); err != nil {
					return err
				}
				for v.commit.IsZero() {
					some, ok := <-made
					if !ok {
						return cmp.Or(context.Cause(ctx), errContentLost)
					}
					for _, c := range some {
						if err := c.add(b); err != nil {
							return err
						}
						for _, o := range c.objects {
							j.made = append(j.made, o.ID())
						}
					}
				}
				ops[i].Items[k].Commit = v.commit
			}
			return nil
		},
		end: func() {
			stop()
			for range made { // drain it, so that no goroutine stays behind
			}
		},
	}
}

// putPackage adds a bundle to a batch file by file, because it may be large; nothing is made
// ahead. It skips versions that are no bundle or were made before.
func (j *publishing) putPackage(b *store.Batch, p oplog.Pen, v *outgoing) error {
	if v.entry.Ref.Kind != objects.Bundle || !v.commit.IsZero() {
		return nil
	}
	raw, err := v.bytes()
	if err != nil {
		return err
	}
	put := func(t store.Type, data []byte) (store.OID, error) {
		o, err := p.Format.Pack(t, data)
		if err == nil {
			err = b.AddPacked(o)
			j.made = append(j.made, o.ID())
		}
		return o.ID(), err
	}
	dir := v.entry.Ref.PackageDir() + "/"
	tree, err := oplog.PutPackage(put, &v.entry, raw, func(f objects.File) ([]byte, error) { return v.read(dir + f.Path) })
	if err == nil {
		v.commit, err = oplog.PutCommit(put, &v.entry, raw, tree)
	}
	if err != nil {
		return fault.Wrap(err, "publish %s", v.entry.Ref)
	}
	return nil
}

// errContentLost would be a bug: the workers make everything or report an error.
var errContentLost error = fault.New(fault.Failed, "publish: content was not made")

// A content is a version with all its objects; the commit is last.
type content struct {
	version *outgoing
	objects []store.Packed
	err     error
}

// Contents are handed over by the dozen, because waking a goroutine costs as much as making one.
// aheadContent is as many as the workers make while an operation is written.
const (
	dozen        = 16
	aheadContent = 32
)

// makeContent makes the content of list, started in order, until ctx ends. It closes the channel
// when all workers have ended.
func makeContent(ctx context.Context, p oplog.Pen, list []*outgoing) <-chan []content {
	made := make(chan []content, aheadContent)
	todo := make(chan []*outgoing, 1+len(list)/dozen)
	for some := range slices.Chunk(list, dozen) {
		todo <- some
	}
	close(todo)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		workers.Go(func() {
			for some := range todo {
				done := make([]content, len(some))
				for i, v := range some {
					done[i] = content{version: v}
					done[i].make(p.Format)
				}
				select {
				case made <- done:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(made)
	}()
	return made
}

// add adds the content to a batch and notes the commit of the version.
func (c *content) add(b *store.Batch) error {
	if c.err != nil {
		return c.err
	}
	for _, o := range c.objects {
		if err := b.AddPacked(o); err != nil {
			return err
		}
		c.version.commit = o.ID()
	}
	return nil
}

// make makes the objects, or sets err.
func (c *content) make(f store.Format) {
	put := func(t store.Type, data []byte) (store.OID, error) {
		o, err := f.Pack(t, data)
		c.objects = append(c.objects, o)
		return o.ID(), err
	}
	raw, err := c.version.bytes()
	if err == nil {
		_, err = oplog.PutVersion(put, &c.version.entry, raw)
	}
	c.err = err
}
