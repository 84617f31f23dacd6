package mcp

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/view"
)

// scheme begins every address of this server.
const scheme = "rye://"

// resultsAt begins the addresses of texts that were too long to show.
const resultsAt = scheme + "results/"

// Bounds of the kept texts of all clients together.
const (
	maxResults     = 64
	maxResultBytes = 64 << 20
	resultLife     = time.Hour
)

// results keeps texts that were too long to show, each for one owner. New texts replace the oldest.
// The zero value is empty. It is safe for concurrent use.
type results struct {
	mu   sync.Mutex
	kept []result // oldest first
}

type result struct {
	id, owner, text string
	until           time.Time
}

// keep stores a text for an owner and returns a link to it.
func (r *results) keep(owner, text string) mcp.ResourceLink {
	var nonce [10]byte
	rand.Read(nonce[:])
	id := strings.ToLower(base32.StdEncoding.EncodeToString(nonce[:]))
	size := int64(len(text))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, result{id, owner, text, time.Now().Add(resultLife)})
	bytes := 0
	for _, one := range r.kept {
		bytes += len(one.text)
	}
	for len(r.kept) > 1 && (len(r.kept) > maxResults || bytes > maxResultBytes || time.Now().After(r.kept[0].until)) {
		bytes -= len(r.kept[0].text)
		r.kept[0] = result{}
		r.kept = r.kept[1:]
	}
	link := mcp.NewResourceLink(resultsAt+id, "result", "The whole text", "text/plain")
	link.Size = &size
	return link
}

// read returns an owner's text or a part of it. It hides texts of other owners.
func (r *results) read(owner, uri string) (string, error) {
	id, part, _ := strings.Cut(strings.TrimPrefix(uri, resultsAt), "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.kept {
		if one.id == id && one.owner == owner && time.Now().Before(one.until) {
			return partOf(one.text, part)
		}
	}
	return "", fault.New(fault.NotFound, "%s: no such result, or it has expired", words.Brief(uri)).Advise("repeat the call that produced it")
}

// partOf returns the bytes from <from> up to <to> of a text; "" is all of it.
func partOf(text, part string) (string, error) {
	if part == "" {
		return text, nil
	}
	a, b, _ := strings.Cut(part, "-")
	from, err1 := strconv.Atoi(a)
	to, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil || from < 0 || to < from {
		return "", fault.New(fault.Usage, "part %q: want <from>-<to>, in bytes, such as 4000-28000", words.Brief(part))
	}
	from, to = min(from, len(text)), min(to, len(text))
	return strings.ToValidUTF8(text[from:to], ""), nil
}

// endsOf is the number of bytes shown from each end of a long text. A client that limits answers to
// 10,000 bytes cuts them in the middle, where the address is, and drops the link after it
// (package view).
const endsOf = 4_000

// wherePart tells a model how to read the omitted part.
func wherePart(uri string) string {
	return fmt.Sprintf("read parts of it with load and an item_id such as %s/%d-%d", uri, endsOf, endsOf+view.MaxText)
}

// loadAddress is load for an address instead of a type and an id.
func (s *Server) loadAddress(ctx context.Context, t *task, a loadArgs) (none view.Answer, _ error) {
	if strings.HasPrefix(a.ItemID, resultsAt) {
		text, err := s.results.read(s.caller(ctx).Who(), a.ItemID)
		return view.Answer{Head: map[string]string{"source": "result"}, Text: view.Ends(text, endsOf, wherePart(a.ItemID))}, err
	}
	ref, space, err := parseAddress(a.ItemID)
	if err != nil {
		return none, err
	}
	res, err := t.verbs.Load(ctx, s.caller(ctx), rye.LoadRequest{Ref: ref, Space: space, Destination: a.Destination})
	if err != nil {
		return none, err
	}
	return view.Loaded(res, a.Detail), nil
}

// addressOf returns the address of an item: rye://<space>/<kind>/<id>.
func addressOf(space, kind, id string) string { return scheme + space + "/" + kind + "/" + id }

// parseAddress parses the output of addressOf.
func parseAddress(uri string) (ref rye.Ref, space string, err error) {
	rest, _ := strings.CutPrefix(uri, scheme)
	space, rest, _ = strings.Cut(rest, "/")
	kind, id, ok := strings.Cut(rest, "/")
	if _, serr := objects.ParseSpace(space); serr != nil || !ok || !strings.HasPrefix(uri, scheme) {
		return ref, "", fault.New(fault.Usage, "address %q: want rye://<space>/<kind>/<id>", words.Brief(uri))
	}
	ref, err = objects.ParseRef(kind + ":" + id)
	return ref, space, err
}
