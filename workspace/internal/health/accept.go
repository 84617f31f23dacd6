package health

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/audit"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// acceptRef is the item that lists the findings that a project accepts (docs/format/audit.md).
// It is signed, and trusted as far as its signer is: neither an audited item nor a file that
// arrived with it can accept findings.
var acceptRef = objects.Ref{Kind: objects.Config, ID: "local/audit"}

const maxAccepted = 10_000

// acceptance is one line of that item: these bytes, this rule, for this reason.
type acceptance struct {
	Item   string `json:"item"` // or the path of a file that is no item
	Rule   string `json:"rule"`
	SHA256 string `json:"sha256"`
	Reason string `json:"reason"`
}

// accept moves the findings that a signer accepted to the list of accepted ones. An acceptance
// without trust is a finding itself.
//
// A signer accepts nothing in items of its own: only the user does, or another signer that the user named for
// this directory.
func accept(ctx context.Context, s *session.Session, rep *rye.AuditReport, found []space.Finding) {
	f, err := s.Stack.Find(ctx, acceptRef)
	if fault.Is(err, fault.NotFound) {
		return
	}
	var list []acceptance
	if err == nil {
		list, err = acceptances(f.Item())
	}
	if err != nil {
		rep.Findings = append(rep.Findings, finding("not-accepted", audit.Medium, acceptRef.String(), "", "its acceptances have no effect: "+err.Error(), fault.HintOf(err)))
		return
	}
	key := f.Verified.Key()
	own := s.Trust.IsOwn(key)
	if !own && !s.Trust.Granted(s.Site().Signer(acceptRef.ID.Namespace(), key)) {
		rep.Findings = append(rep.Findings, finding("not-accepted", audit.Medium, acceptRef.String(), "",
			"its acceptances have no effect: its signer was not named for this directory", fault.Advice("accept the findings yourself: sign your own %s", acceptRef)))
		return
	}
	by := key.Fingerprint().String()
	signed := signedBy(found, key)
	reasons := map[acceptance]string{}
	for _, a := range list {
		reasons[acceptance{Item: a.Item, Rule: a.Rule, SHA256: a.SHA256}] = a.Reason
	}
	var rest []rye.AuditFinding
	for _, x := range rep.Findings {
		reason := ""
		for _, name := range []string{x.Item, x.Path} {
			if name != "" && reason == "" {
				reason = reasons[acceptance{Item: name, Rule: x.Rule, SHA256: x.SHA256}]
			}
		}
		// A finding that is not about a text has no digest, and cannot be accepted here.
		if reason == "" || x.SHA256 == "" || x.Item == acceptRef.String() {
			rest = append(rest, x)
			continue
		}
		if !own && signed[x.Item] {
			x.Says += "; only its own signer accepts it, which has no effect"
			rest = append(rest, x)
			continue
		}
		x.Reason, x.By = reason, by
		rep.Accepted = append(rep.Accepted, x)
	}
	rep.Findings = rest
}

// signedBy returns the items that a key signed.
func signedBy(found []space.Finding, key trust.PublicKey) map[string]bool {
	all := map[string]bool{}
	for _, f := range found {
		if !f.Verified.IsZero() && f.Verified.Key().Fingerprint() == key.Fingerprint() {
			all[f.Ref.String()] = true
		}
	}
	return all
}

// acceptances reads the list of an item.
func acceptances(it *objects.Item) (list []acceptance, err error) {
	raw, err := json.Marshal(it.Meta.Config["accept"])
	if err == nil && string(raw) != "null" {
		err = strict.Decode(raw, 4<<20, &list)
	}
	if err != nil {
		return nil, fault.New(fault.Malformed, "accept: %w", err)
	}
	if len(list) > maxAccepted {
		return nil, fault.New(fault.Limit, "accept: %d lines, at most %d", len(list), maxAccepted)
	}
	for _, a := range list {
		if _, err := objects.ParseDigest(a.SHA256); err != nil || a.Item == "" || a.Rule == "" || strings.TrimSpace(a.Reason) == "" {
			return nil, fault.New(fault.Malformed, "accept: %q of %q: want item, rule, sha256 and a reason", a.Rule, a.Item)
		}
	}
	return list, nil
}
