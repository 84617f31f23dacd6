package transport

import (
	"context"
	"io"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// list returns the refs under prefixes, and the branch of HEAD if HEAD is among them.
func (r *Remote) list(ctx context.Context, prefixes []string) (refs map[string]store.OID, head string, err error) {
	err = r.do(ctx, "list refs of", func(ctx context.Context) error {
		return r.reading(ctx, func() error {
			refs, head, err = r.listOnce(ctx, prefixes)
			return err
		})
	})
	return refs, head, err
}

func (r *Remote) listOnce(ctx context.Context, prefixes []string) (map[string]store.OID, string, error) {
	s, a, err := r.uploadKept(ctx, prefixes)
	if err != nil {
		return nil, "", err
	}
	if a.version < 2 {
		s.Close()
		return a.refs, a.head, nil
	}
	q := &request{limit: r.o.MaxAdvert}
	q.packets().encodeLsRefs(a.caps, prefixes)
	var refs map[string]store.OID
	var head string
	p, err := s.round(ctx, q)
	if err == nil {
		refs, head, err = p.readLsRefs(prefixes)
	}
	if err != nil {
		s.Close()
		return nil, "", err
	}
	r.keep(s, a)
	return refs, head, nil
}

// kept is a session between two operations: with upload-pack in version 2, or with
// receive-pack before a push.
type kept struct {
	session
	a *advert
}

// keep keeps a session for the next operation, because a new one costs a TLS or ssh handshake.
func (r *Remote) keep(s session, a *advert) {
	if st, ok := s.(*stream); ok && !st.pause() {
		return // the end of the operation closed it
	}
	if r.idle != nil {
		r.idle.Close()
	}
	r.idle = &kept{s, a}
}

// uploadKept is upload with a kept session, if there is one.
func (r *Remote) uploadKept(ctx context.Context, prefixes []string) (session, *advert, error) {
	k := r.idle
	r.idle = nil
	if k == nil {
		if r.ready != nil && isStream(r.ready.session) { // a host may serve few connections at a time
			r.drop()
		}
		return r.upload(ctx, prefixes)
	}
	if st, ok := k.session.(*stream); ok {
		st.resume(ctx)
	}
	return k.session, k.a, nil
}

func isStream(s session) bool {
	_, is := s.(*stream)
	return is
}

func (p *pktWriter) encodeCommand(command string, c caps) {
	p.linef("command=%s", command)
	for _, own := range c.ours() {
		p.linef("%s", own)
	}
	p.delim()
}

func (w *pktWriter) encodeLsRefs(c caps, prefixes []string) {
	w.encodeCommand("ls-refs", c)
	w.linef("symrefs")
	for _, p := range prefixes {
		w.linef("ref-prefix %s", p)
	}
	w.flush()
}

// readLsRefs reads lines "<id> <name>[ <attribute>]..." up to the flush.
func (p *pktReader) readLsRefs(prefixes []string) (refs map[string]store.OID, head string, err error) {
	refs = map[string]store.OID{}
	malformed := fault.New(fault.Network, "read refs of remote: not a list of refs")
	err = p.list(pktFlush, advertLimit, malformed, func(line string) error {
		fields := strings.Split(line, " ")
		if len(fields) < 2 {
			return fault.New(fault.Network, "read refs of remote: line without a name")
		}
		for _, attr := range fields[2:] {
			if to, ok := strings.CutPrefix(attr, "symref-target:"); ok && fields[1] == "HEAD" && validRef(to) {
				head = to
			}
		}
		if fields[0] == "unborn" {
			return nil
		}
		id, err := store.ParseOID(fields[0])
		if err != nil {
			return fault.New(fault.Network, "read refs of remote: %w", err)
		}
		return putRef(refs, fields[1], id, prefixes)
	})
	if err == io.EOF {
		err = eofIsSilence(err)
	}
	return refs, head, err
}
