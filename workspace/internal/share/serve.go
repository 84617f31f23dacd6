package share

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/finder"
	"github.com/rye-os/rye/workspace/internal/questions"
	"github.com/rye-os/rye/workspace/internal/session"
)

// The items rye/registry/* let a model search registries' offers, read about one, and request it.
// docs/format/registry.md specifies their parameters and answers.

// servedPrefix begins the names of their functions.
const servedPrefix = "registry/"

// Serves reports whether a call is to such an item.
func Serves(q rye.ServedCall) bool { return strings.HasPrefix(q.Function, servedPrefix) }

// HandOn passes a call on to next; nil is none.
func HandOn(ctx context.Context, next func(context.Context, rye.Caller, rye.ServedCall) (json.RawMessage, error), c rye.Caller, q rye.ServedCall) (json.RawMessage, error) {
	if next == nil {
		return nil, fault.New(fault.Denied, "this program cannot run %s", q.Function).Advise("use a program of rye, such as rye mcp")
	}
	return next(ctx, c, q)
}

// maxServed bounds the parameters in bytes.
const maxServed = 16 << 10

// servedArgs are the parameters of all items together. Each item's schema lists its own.
type servedArgs struct {
	Query    string `json:"query"`
	Item     string `json:"item"`
	Name     string `json:"name"`
	Registry string `json:"registry"`
	Kind     string `json:"item_type"`
	Limit    int    `json:"limit"`
	Offset   int    `json:"offset"`
}

// A Server answers such items.
type Server struct {
	Finder  *finder.Finder
	Install func(context.Context, *custody.Desk, rye.InstallRequest) (*rye.InstallReport, error) // from package install, above this one
}

// Serve carries out an item's request, on behalf of a caller that has passed every gate. s
// belongs to a host from Asking.
func (v Server) Serve(ctx context.Context, s *custody.Desk, c rye.Caller, q rye.ServedCall) (json.RawMessage, error) {
	var a servedArgs
	if err := strict.Decode(q.Params, maxServed, &a); err != nil {
		return nil, fault.New(fault.Usage, "parameters: %w", err)
	}
	var res any
	var err error
	switch strings.TrimPrefix(q.Function, servedPrefix) {
	case "search":
		res, err = v.search(ctx, s, c, a)
	case "info":
		res, err = serveInfo(ctx, s, a)
	case "add":
		res, err = v.add(ctx, s, c, a)
	default:
		err = fault.New(fault.Usage, "registries have no function %q", q.Function)
	}
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(res); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}

// servedOffer is one result of a search: its publisher's description, and the local facts.
type servedOffer struct {
	rye.Offer
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	Guess       bool   `json:"guess,omitempty"`
}

func (v Server) search(ctx context.Context, s *custody.Desk, c rye.Caller, a servedArgs) (any, error) {
	q := rye.SearchRequest{Query: a.Query, Kind: a.Kind, Space: rye.SpaceRegistry, Registry: a.Registry, Limit: cmp.Or(a.Limit, 5), Offset: a.Offset}
	res, err := Search(ctx, s, v.Finder, c, q)
	if err != nil {
		return nil, err
	}
	out := struct {
		Results []servedOffer `json:"results"`
		Total   int           `json:"total"`
		Notes   []string      `json:"notes,omitempty"`
		Hint    string        `json:"hint,omitempty"`
	}{Results: []servedOffer{}, Total: res.Total, Notes: res.Notes}
	if res.Total == 0 {
		out.Hint = "a person can run: rye fetch --catalogue"
	}
	for _, h := range res.Results {
		out.Results = append(out.Results, servedOffer{*h.Offer, h.Version, h.Description, h.Guess})
	}
	return out, nil
}

// serveInfo is Info, shortened to the requested number of entries.
func serveInfo(ctx context.Context, s *custody.Desk, a servedArgs) (any, error) {
	rep, err := Info(ctx, s, rye.PublishedRequest{Name: a.Name, Registry: a.Registry})
	if err != nil {
		return nil, err
	}
	out := struct {
		*rye.Published
		More int `json:"more,omitempty"` // number of entries left out
	}{Published: rep}
	most := cmp.Or(a.Limit, 10)
	out.More = max(0, len(rep.Versions)-most) + max(0, len(rep.Items)-most) + max(0, len(rep.Namespaces)-most)
	rep.Versions, rep.Items = rep.Versions[:min(most, len(rep.Versions))], rep.Items[:min(most, len(rep.Items))]
	rep.Namespaces = rep.Namespaces[:min(most, len(rep.Namespaces))]
	return out, nil
}

// add adds an item to the project once a person agreed to it: to its signer, its digest, and its
// permissions.
func (v Server) add(ctx context.Context, s *custody.Desk, c rye.Caller, a servedArgs) (any, error) {
	q := rye.InstallRequest{Names: []string{a.Item}}
	if c.IsPerson() {
		return v.Install(ctx, s, q)
	}
	q.DryRun = true
	rep, err := v.Install(ctx, s, q)
	if err != nil || len(rep.Installed) == 0 {
		return rep, err // nothing is new: no one is asked, and nothing is written
	}
	q.DryRun = false
	said := &agreement{wants: a.Item}
	rep, err = v.Install(withAgreement(ctx, said), s, q)
	if err != nil {
		return nil, err
	}
	for _, yes := range said.given { // each is used once; the agreed installation has happened
		if err := yes.Use(); err != nil {
			s.Tell(err.Error())
		}
	}
	return rep, nil
}

// agreement is a person's consent for one call. No answer is used up before all are there, since
// the call is made again after each answer.
type agreement struct {
	wants string
	given []questions.Agreed
}

type agreementKey struct{}

func withAgreement(ctx context.Context, a *agreement) context.Context {
	return context.WithValue(ctx, agreementKey{}, a)
}

// Asking returns a host for a caller other than a person. It keeps the caller's questions until
// a person answers them, as for the caller's other actions. A flag of the surrounding program
// answers nothing.
func Asking(h *session.Host, c rye.Caller) *session.Host {
	if c.IsPerson() {
		return h
	}
	return session.AnsweredBy(h, func(ctx context.Context, q rye.Question) (bool, error) {
		a, ok := ctx.Value(agreementKey{}).(*agreement)
		if !ok {
			return false, fault.New(fault.Denied, "%s: only a person can answer this", q.Topic).With(q.Mend)
		}
		s, err := h.OpenProject()
		if err != nil {
			return false, err
		}
		defer s.Close()
		q.Text = c.Who() + " asks to add " + a.wants + " to this project: " + q.Text
		subject := q.Topic + "\n" + q.Text + "\n" + strings.Join(q.Lines, "\n")
		yes, err := questions.Ask(ctx, s, c, objects.DigestOf([]byte(subject)), q)
		if err == nil {
			a.given = append(a.given, yes)
		}
		return err == nil, err
	})
}
