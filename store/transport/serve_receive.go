package transport

import (
	"context"
	"io"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// orders are a client's commands to receive-pack.
type orders struct {
	updates []Update
	status  bool // report-status
	atomic  bool
	band    bool // side-band-64k
	packs   bool
}

// news returns the new ids of the refs.
func (o *orders) news() (ids []store.OID) {
	for _, u := range o.updates {
		if !u.New.IsZero() {
			ids = append(ids, u.New)
		}
	}
	return ids
}

// readOrders reads commands "<old> <new> <name>", with capabilities after the first, up to the
// flush. It returns nil if the client has no commands.
func (p *pktReader) readOrders(f store.Format) (*orders, error) {
	o := &orders{}
	malformed := fault.New(fault.Malformed, "request is not a list of commands")
	err := p.list(pktFlush, updateMax, malformed, func(line string) error {
		if len(o.updates) == 0 {
			var list string
			line, list, _ = strings.Cut(line, "\x00")
			if err := o.caps(list, f); err != nil {
				return err
			}
		}
		u, err := parseOrder(line, f)
		o.packs = o.packs || !u.New.IsZero()
		o.updates = append(o.updates, u)
		return err
	})
	if err != nil || len(o.updates) == 0 {
		return nil, err
	}
	return o, nil
}

func (o *orders) caps(list string, f store.Format) error {
	for _, c := range strings.Fields(list) {
		switch name, value, _ := strings.Cut(c, "="); name {
		case "report-status":
			o.status = true
		case "atomic":
			o.atomic = true
		case "side-band-64k":
			o.band = true
		case "object-format":
			if value != f.String() {
				return fault.New(fault.Usage, "the repository names objects by %s", f)
			}
		}
	}
	return nil
}

func parseOrder(line string, f store.Format) (u Update, err error) {
	fields := strings.SplitN(line, " ", 3)
	if len(fields) != 3 {
		return u, fault.New(fault.Malformed, "command %q", cleanText(line))
	}
	zero := hexOID(store.OID{}, f)
	for i, to := range []*store.OID{&u.Old, &u.New} {
		if fields[i] == zero {
			continue
		}
		if *to, err = store.ParseOID(fields[i]); err != nil {
			return u, err
		}
	}
	u.Name = fields[2]
	return u, nil
}

// receive receives a push: commands, then a pack unless all of them delete.
func (c *conversation) receive(ctx context.Context) error {
	o, err := c.in.readOrders(c.repo.Format())
	if err != nil || o == nil {
		return err
	}
	refused := make([]string, len(o.updates)) // the reason, by position; "" = moved
	unpack := c.obey(ctx, o, refused)
	if unpack != nil {
		io.Copy(io.Discard, c.in.r) // the client reads our report only after it has sent its pack
	}
	if !o.status {
		return nil
	}
	if !o.band {
		return c.w.report(o, unpack, refused)
	}
	err = (&pktWriter{w: &bandWriter{p: c.w, band: bandData}}).report(o, unpack, refused)
	c.w.flush()
	return err
}

func (p *pktWriter) report(o *orders, unpack error, refused []string) error {
	if unpack != nil {
		p.linef("unpack %s", refusal(unpack))
	} else {
		p.linef("unpack ok")
	}
	for i, u := range o.updates {
		switch {
		case unpack != nil:
			p.linef("ng %s unpacker error", u.Name)
		case refused[i] != "":
			p.linef("ng %s %s", u.Name, cleanText(refused[i]))
		default:
			p.linef("ok %s", u.Name)
		}
	}
	p.flush()
	return p.err
}

// obey receives the objects into a quarantine and checks them and every command. Only then
// does it accept the objects and move refs.
func (c *conversation) obey(ctx context.Context, o *orders, refused []string) error {
	r := &c.repo.Reader
	var q *store.Quarantine
	whole := false
	if o.packs {
		var err error
		if q, err = c.repo.Import(ctx, c.in.r, store.Limits{}); err != nil {
			return err
		}
		defer q.Discard()
		r = &q.Reader
		whole = q.Connected(ctx, o.news()...) == nil // if not, find the refs concerned
	}
	var good []Update
	var tips []store.OID
	for i, u := range o.updates {
		err := c.allowed(ctx, r, u)
		if err == nil && !whole && !u.New.IsZero() && q.Connected(ctx, u.New) != nil {
			err = fault.New(fault.Malformed, "missing necessary objects")
		}
		if err != nil {
			refused[i] = refusal(err)
			continue
		}
		good = append(good, u)
		if !u.New.IsZero() {
			tips = append(tips, u.New)
		}
	}
	if o.atomic && len(good) < len(o.updates) {
		fill(refused, "atomic push failed")
		return nil
	}
	if len(tips) > 0 {
		if err := q.Accept(ctx, tips...); err != nil {
			return err
		}
		defer q.Release()
	}
	c.move(ctx, o, good, refused)
	c.adoptHead(ctx, o, refused)
	return nil
}

// adoptHead points HEAD of a repository without a checkout at the first pushed branch, main
// before others, as forges do. Otherwise the repository could not be cloned. Its failure does
// not fail the push.
func (c *conversation) adoptHead(ctx context.Context, o *orders, refused []string) {
	branch := ""
	for i, u := range o.updates {
		if refused[i] == "" && u.Old.IsZero() && strings.HasPrefix(u.Name, "refs/heads/") && (branch == "" || u.Name == "refs/heads/main") {
			branch = u.Name
		}
	}
	if branch != "" && c.s.keep == "" {
		c.repo.AdoptHead(ctx, branch)
	}
}

func fill(refused []string, why string) {
	for i := range refused {
		if refused[i] == "" {
			refused[i] = why
		}
	}
}

// move moves the allowed refs: atomically, or one by one.
func (c *conversation) move(ctx context.Context, o *orders, good []Update, refused []string) {
	if o.atomic {
		if err := c.repo.SwapAll(ctx, good, "push"); err != nil {
			fill(refused, lost(err))
		}
		return
	}
	for i, u := range o.updates {
		if refused[i] != "" {
			continue
		}
		if err := c.repo.Swap(ctx, u.Name, u.Old, u.New, "push"); err != nil {
			refused[i] = lost(err)
		}
	}
}

// lost returns the reason for a move that lost a race, in git's words.
func lost(err error) string {
	if fault.Is(err, fault.Conflict) {
		return "cannot lock ref: " + refusal(err)
	}
	return refusal(err)
}

// allowed checks one command against the server's rules. r also reads the pushed objects.
func (c *conversation) allowed(ctx context.Context, r *store.Reader, u Update) error {
	if !validRef(u.Name) {
		return fault.New(fault.Usage, "invalid ref name")
	}
	if c.s.keep == u.Name {
		return fault.New(fault.Denied, "branch is checked out there")
	}
	at, err := c.repo.Ref(u.Name)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if at != u.Old {
		return fault.New(fault.Conflict, "is at %s, not at %s", at, u.Old)
	}
	if !u.New.IsZero() {
		if t, _, err := r.Stat(u.New); err != nil {
			return fault.New(fault.Malformed, "missing necessary objects")
		} else if strings.HasPrefix(u.Name, "refs/heads/") && t != store.TypeCommit {
			return fault.New(fault.Malformed, "a branch needs a commit, not a %s", t)
		}
	}
	if c.s.Allow == nil {
		return nil
	}
	return c.s.Allow(ctx, r, u)
}
