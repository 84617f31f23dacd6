package thread

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/agent/loop"
)

// Prepared is what the process of a thread makes ready while whoever starts it still works out
// which thread that is. What could not be made is made when it is needed, which then says why.
type Prepared struct {
	o    Options
	made errgroup.Group
	book *ledger.Ledger
	star *part // the library's loop, and its program
	prog *loop.Program
}

// Prepare begins to make ready what a thread of o needs.
func Prepare(ctx context.Context, o Options) *Prepared {
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Prepared{o: o}
	p.made.Go(func() (err error) {
		p.book, err = ledger.Open(ctx, o.Ledger, ledger.Options{Boot: o.Boot, Now: o.Now, Existing: true})
		return err
	})
	p.made.Go(func() error {
		star, err := loadPart(ctx, o.Verbs, refOf(standardLoop), "loop")
		if err != nil {
			return err
		}
		if p.prog, err = loop.Compile(standardLoop, star.raw); err == nil {
			p.star = star
		}
		return err
	})
	return p
}

// ledger returns the ledger, opened.
func (p *Prepared) ledger(ctx context.Context) (*ledger.Ledger, error) {
	if _ = p.made.Wait(); p.book != nil {
		return p.book, nil
	}
	return ledger.Open(ctx, p.o.Ledger, ledger.Options{Boot: p.o.Boot, Now: p.o.Now})
}

// loop returns a loop and its program.
func (p *Prepared) loop(ctx context.Context, name string) (*part, *loop.Program, error) {
	if _ = p.made.Wait(); name == standardLoop && p.star != nil {
		return p.star, p.prog, nil
	}
	star, err := loadPart(ctx, p.o.Verbs, refOf(name), "loop")
	if err != nil {
		return nil, nil, err
	}
	prog, err := loop.Compile(name, star.raw)
	return star, prog, err
}
