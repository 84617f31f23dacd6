package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
)

// A Server is the other half of a Remote: it serves a repository to clients over streams, as
// git upload-pack in protocol version 2 and git receive-pack do. It runs no hooks and reads no
// settings of the repository except its format and logging.
//
// Any object of the repository may be fetched by id, whether a ref reaches it or not: keep
// private objects in a separate repository.
type Server struct {
	Repo *store.Repo
	// Allow returns an error for a ref that a push must not move; nil allows all. pushed also
	// reads the new objects.
	Allow func(ctx context.Context, pushed *store.Reader, u Update) error

	keep string // the branch that pushes must not move; "" = none

	refused func(error) // learns each refusal; nil for none
}

// Serve serves one client until it ends. The service is "git-upload-pack" or "git-receive-pack".
func (s *Server) Serve(ctx context.Context, service string, in io.Reader, out io.Writer) error {
	b := bufio.NewWriterSize(out, 64<<10)
	c := &conversation{s: s, repo: s.Repo, in: newPktReader(in), out: b, w: &pktWriter{w: b}}
	advertise, answer := c.capabilities, c.commands
	switch service {
	case uploadPack:
	case receivePack:
		advertise, answer = c.advertise, c.receive
	default:
		return fault.New(fault.Usage, "unknown service %q", service)
	}
	err := advertise()
	if err == nil {
		err = answer(ctx)
	}
	return c.end(err)
}

// conversation is the server's side of one session.
type conversation struct {
	s    *Server
	repo *store.Repo
	in   *pktReader
	out  *bufio.Writer
	w    *pktWriter
}

// end sends the remaining output, and an error in the form that clients understand.
func (c *conversation) end(err error) error {
	if err == io.EOF {
		err = nil // the client left between requests
	}
	if err != nil && c.w.err == nil {
		c.refuse(err)
		c.w.linef("ERR %s", refusal(err))
	}
	return errors.Join(err, c.w.err, c.out.Flush())
}

// refuse hands an error that the other side reads as a text to a client in this process.
func (c *conversation) refuse(err error) {
	if c.s.refused != nil {
		c.s.refused(err)
	}
}

// refusal is the text of an error for the other side: without paths of this machine, which
// only unexpected errors hold.
func refusal(err error) string {
	if fault.CodeOf(err) == fault.Failed {
		return "the server could not do it"
	}
	return cleanText(err.Error())
}

// capabilities writes the advertisement of upload-pack.
func (c *conversation) capabilities() error {
	for _, line := range []string{"version 2", "agent=" + agent, "ls-refs=unborn", "fetch=shallow filter", c.format()} {
		c.w.linef("%s", line)
	}
	c.w.flush()
	return errors.Join(c.w.err, c.out.Flush())
}

func (c *conversation) format() string { return "object-format=" + c.repo.Format().String() }

// advertise writes the advertisement of receive-pack: the refs and its capabilities.
func (c *conversation) advertise() error {
	refs, _, err := c.refs()
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		refs = []store.Ref{{Name: "capabilities^{}"}}
	}
	offer := "\x00report-status delete-refs atomic quiet side-band-64k ofs-delta " + c.format() + " agent=" + agent
	for _, r := range refs {
		c.w.linef("%s %s%s", hexOID(r.ID, c.repo.Format()), r.Name, offer)
		offer = ""
	}
	c.w.flush()
	return errors.Join(c.w.err, c.out.Flush())
}

// refs returns the served refs, and the branch of HEAD with its id, zero if the branch has no
// commit yet.
func (c *conversation) refs() ([]store.Ref, store.Ref, error) {
	all, err := c.repo.Refs("refs/")
	if err != nil {
		return nil, store.Ref{}, err
	}
	head := store.Ref{}
	if name, err := c.repo.Head(); err == nil && validRef(name) {
		head.Name = name
	}
	refs := all[:0]
	for _, r := range all {
		if validRef(r.Name) {
			refs = append(refs, r)
		}
		if r.Name == head.Name {
			head.ID = r.ID
		}
	}
	return refs, head, nil
}

// peel returns the final target of an annotated tag, zero for anything else.
func (c *conversation) peel(r store.Ref) store.OID {
	if !strings.HasPrefix(r.Name, "refs/tags/") {
		return store.OID{}
	}
	id := r.ID
	for range 5 {
		if t, _, err := c.repo.Stat(id); err != nil || t != store.TypeTag {
			break
		}
		_, raw, unread := c.repo.Object(id, 1<<20)
		next, err := store.ParseOID(strings.TrimPrefix(words.FirstLine(string(raw)), "object "))
		if unread != nil || err != nil {
			break
		}
		id = next
	}
	if id == r.ID {
		return store.OID{}
	}
	return id
}

// command is one request of protocol version 2.
type command struct {
	name   string
	format string
	args   []string
}

// argMax bounds the lines of one request.
const argMax = 2*wantMax + 1000

// readCommand reads a request of version 2; io.EOF if the client has left.
func (p *pktReader) readCommand() (*command, error) {
	cmd := &command{}
	inArgs := false
	for n := 0; ; n++ {
		kind, data, err := p.next()
		switch {
		case err != nil:
			if err == io.EOF && n > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		case kind == pktFlush && n == 0:
			return nil, io.EOF
		case kind == pktFlush:
			return cmd, nil
		case kind == pktDelim && !inArgs:
			inArgs = true
			continue
		case kind != pktData || n > argMax:
			return nil, fault.New(fault.Malformed, "request is not a list of lines")
		}
		line := strings.TrimSuffix(string(data), "\n")
		if inArgs {
			cmd.args = append(cmd.args, line)
		} else if name, ok := strings.CutPrefix(line, "command="); ok {
			cmd.name = name
		} else if f, ok := strings.CutPrefix(line, "object-format="); ok {
			cmd.format = f
		}
	}
}

// commands answers requests of version 2 until the client leaves.
func (c *conversation) commands(ctx context.Context) error {
	for {
		cmd, err := c.in.readCommand()
		if err != nil {
			return err
		}
		if cmd.format != "" && cmd.format != c.repo.Format().String() {
			return fault.New(fault.Usage, "the repository names objects by %s", c.repo.Format())
		}
		switch cmd.name {
		case "ls-refs":
			err = c.lsRefs(cmd.args)
		case "fetch":
			err = c.fetch2(ctx, cmd.args)
		default:
			err = fault.New(fault.Usage, "unknown command %q", cleanText(cmd.name))
		}
		if err = errors.Join(err, c.w.err); err != nil {
			return err
		}
		if err := c.out.Flush(); err != nil {
			return err
		}
	}
}

func (c *conversation) lsRefs(args []string) error {
	var prefixes []string
	var peel, symrefs, unborn bool
	for _, a := range args {
		switch p, isPrefix := strings.CutPrefix(a, "ref-prefix "); {
		case isPrefix:
			prefixes = append(prefixes, p)
		case a == "peel":
			peel = true
		case a == "symrefs":
			symrefs = true
		case a == "unborn":
			unborn = true
		}
	}
	if len(prefixes) > 1000 {
		prefixes = nil // prefixes are hints, and a client with so many wants most refs
	}
	refs, head, err := c.refs()
	if err != nil {
		return err
	}
	target := ""
	if symrefs && head.Name != "" {
		target = " symref-target:" + head.Name
	}
	if underAny("HEAD", prefixes) {
		switch {
		case !head.ID.IsZero():
			c.w.linef("%s HEAD%s", head.ID, target)
		case unborn && target != "":
			c.w.linef("unborn HEAD%s", target)
		}
	}
	for _, r := range refs {
		if !underAny(r.Name, prefixes) {
			continue
		}
		more := ""
		if p := c.peel(r); peel && !p.IsZero() {
			more = " peeled:" + p.String()
		}
		c.w.linef("%s %s%s", r.ID, r.Name, more)
	}
	c.w.flush()
	return nil
}
