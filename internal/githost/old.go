package githost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/store"
)

// Packets without a payload, and the kind of those that have one.
const (
	flush = "0000"
	delim = "0001"
	data  = "data"
)

// packet frames a line of text.
func packet(line string) string { return fmt.Sprintf("%04x%s\n", len(line)+5, line) }

// readPacket reads one packet: flush, delim, or the data of a line without its LF.
func readPacket(r io.Reader) (kind, line string, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", "", err
	}
	if kind := string(head); kind == flush || kind == delim {
		return kind, "", nil
	}
	n, err := strconv.ParseUint(string(head), 16, 16)
	if err != nil || n < 4 {
		return "", "", fmt.Errorf("packet length %q", head)
	}
	text := make([]byte, n-4)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", "", io.ErrUnexpectedEOF
	}
	return data, strings.TrimSuffix(string(text), "\n"), nil
}

// ask sends one command of version 2 to the repository and returns its answer. A refusal is an
// error.
func (h *visit) ask(ctx context.Context, command string, args ...string) (*bytes.Buffer, error) {
	in, out := &strings.Builder{}, &bytes.Buffer{}
	in.WriteString(packet("command="+command) + delim)
	for _, a := range args {
		in.WriteString(packet(a))
	}
	in.WriteString(flush)
	h.server.Serve(ctx, h.service, strings.NewReader(in.String()), &afterAdvert{w: out})
	_, line, _ := readPacket(bytes.NewReader(out.Bytes()))
	if why, refused := strings.CutPrefix(line, "ERR "); refused {
		return nil, errors.New(why)
	}
	return out, nil
}

// lines reads the lines of an answer up to its next flush or delim.
func lines(r *bytes.Buffer) (all []string) {
	for {
		kind, line, err := readPacket(r)
		if err != nil || kind != data {
			return all
		}
		all = append(all, line)
	}
}

// oldAdvert is the advertisement of upload-pack in versions 0 and 1: the refs and the
// capabilities.
func (h *visit) oldAdvert(ctx context.Context) string {
	answer, err := h.ask(ctx, "ls-refs", "peel", "symrefs", "unborn")
	if err != nil {
		return packet("ERR " + err.Error())
	}
	format := h.server.Repo.Format()
	offer := "multi_ack_detailed thin-pack shallow no-progress filter allow-tip-sha1-in-want allow-reachable-sha1-in-want " +
		"side-band-64k ofs-delta agent=githost object-format=" + format.String()
	var refs []string
	for _, line := range lines(answer) {
		words := strings.Fields(line) // id, name, attributes
		for _, attr := range words[2:] {
			if to, ok := strings.CutPrefix(attr, "symref-target:"); ok {
				offer += " symref=HEAD:" + to
			}
		}
		if words[0] != "unborn" {
			refs = append(refs, words[0]+" "+words[1])
		}
		for _, attr := range words[2:] {
			if id, ok := strings.CutPrefix(attr, "peeled:"); ok {
				refs = append(refs, id+" "+words[1]+"^{}")
			}
		}
	}
	if len(refs) == 0 {
		refs = []string{strings.Repeat("00", int(format)) + " capabilities^{}"}
	}
	refs[0] += "\x00" + offer
	var b strings.Builder
	for _, r := range refs {
		b.WriteString(packet(r))
	}
	return b.String() + flush
}

// oldRequest is a request of versions 0 and 1, in lines of version 2.
type oldRequest struct {
	wants    []string // and shallow, deepen, filter
	haves    []string
	detailed bool // multi_ack_detailed
	band     bool // side-band-64k
	done     bool
	more     bool // haves, or done, follow the wants
}

func readOldRequest(r io.Reader) (*oldRequest, error) {
	q := &oldRequest{}
	for {
		kind, line, err := readPacket(r)
		if kind == flush || err == io.EOF && len(q.wants) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		words := strings.Fields(line)
		if len(words) < 2 || !slices.Contains([]string{"want", "shallow", "deepen", "filter"}, words[0]) {
			return nil, fmt.Errorf("%q among the wants", line)
		}
		if len(q.wants) == 0 {
			q.detailed = slices.Contains(words, "multi_ack_detailed")
			q.band = slices.Contains(words, "side-band-64k")
		}
		q.wants = append(q.wants, words[0]+" "+words[1])
	}
	for {
		kind, line, err := readPacket(r)
		switch {
		case err == io.EOF:
			return q, nil
		case err != nil:
			return nil, err
		}
		q.more = true
		switch {
		case kind == flush:
			return q, nil
		case line == "done":
			q.done = true
			return q, nil
		case !strings.HasPrefix(line, "have "):
			return nil, fmt.Errorf("%q among the haves", line)
		}
		q.haves = append(q.haves, line)
	}
}

// oldAnswer answers a request of versions 0 and 1: one round of negotiation, or the pack.
func (h *visit) oldAnswer(ctx context.Context, body io.Reader) {
	q, err := readOldRequest(body)
	if err == nil && len(q.wants) > 0 {
		err = h.oldFetch(ctx, q)
	}
	if err != nil {
		io.WriteString(h.w, packet("ERR "+err.Error()))
	}
}

func (h *visit) oldFetch(ctx context.Context, q *oldRequest) error {
	if slices.ContainsFunc(q.wants, func(l string) bool { return strings.HasPrefix(l, "deepen ") }) {
		edge, err := h.ask(ctx, "fetch", slices.Concat(q.wants, []string{"filter tree:0", "done"})...)
		if err != nil {
			return err
		}
		if all := lines(edge); all[0] == "shallow-info" {
			for _, line := range all[1:] {
				io.WriteString(h.w, packet(line))
			}
			io.WriteString(h.w, flush)
		}
	}
	var both []string // the haves that are here
	for _, line := range q.haves {
		hex := strings.TrimPrefix(line, "have ")
		id, err := store.ParseOID(hex)
		if err != nil {
			return err
		}
		if !h.server.Repo.Has(id) {
			continue
		}
		both = append(both, hex)
		if q.detailed {
			io.WriteString(h.w, packet("ACK "+hex+" common"))
		} else if len(both) == 1 {
			io.WriteString(h.w, packet("ACK "+hex))
		}
	}
	switch {
	case q.done:
		return h.oldPack(ctx, q, both)
	case !q.more:
		return nil // it wants only the shallow section
	case q.detailed:
		round, err := h.ask(ctx, "fetch", slices.Concat(q.wants, q.haves)...)
		if err != nil {
			return err
		}
		if slices.Contains(lines(round), "ready") {
			io.WriteString(h.w, packet("ACK "+both[len(both)-1]+" ready"))
		}
	}
	if len(both) == 0 || q.detailed {
		io.WriteString(h.w, packet("NAK"))
	}
	return nil
}

// oldPack ends the negotiation and sends the pack.
func (h *visit) oldPack(ctx context.Context, q *oldRequest, both []string) error {
	answer, err := h.ask(ctx, "fetch", slices.Concat(q.wants, q.haves, []string{"done"})...)
	if err != nil {
		return err
	}
	for {
		switch _, line, err := readPacket(answer); {
		case err != nil:
			return errors.New("the answer has no pack")
		case line != "packfile":
			continue
		}
		break
	}
	switch {
	case !q.band:
		return errors.New("side-band-64k is required")
	case len(both) == 0:
		io.WriteString(h.w, packet("NAK"))
	case q.detailed:
		io.WriteString(h.w, packet("ACK "+both[len(both)-1]))
	}
	_, err = h.w.Write(answer.Bytes())
	return err
}
