package web

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
)

// least is the length from which a secret is taken out of answers: shorter ones
// would be found in everything.
const least = 4

// redactor takes secrets out of what came back: an answer may repeat its request.
type redactor struct{ pairs [][2]string }

func (r *redactor) add(name, value string) {
	if len(value) < least {
		return
	}
	for _, form := range []string{value, JSON.write(value), url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), strings.TrimSpace(value)} {
		if len(form) >= least {
			r.pairs = append(r.pairs, [2]string{form, "[secret " + name + "]"})
		}
	}
}

// sort puts longer forms first: one may contain another.
func (r *redactor) sort() {
	sort.SliceStable(r.pairs, func(i, j int) bool { return len(r.pairs[i][0]) > len(r.pairs[j][0]) })
}

func (r *redactor) text(s string) string {
	for _, p := range r.pairs {
		s = strings.ReplaceAll(s, p[0], p[1])
	}
	return s
}

func (r *redactor) event(ev *Event) {
	ev.Type, ev.Data, ev.ID = r.text(ev.Type), r.text(ev.Data), r.text(ev.ID)
}

func (r *redactor) response(res *Response) {
	for _, p := range r.pairs {
		res.Body = bytes.ReplaceAll(res.Body, []byte(p[0]), []byte(p[1]))
	}
	for k, v := range res.Header {
		res.Header[k] = r.text(v)
	}
	res.URL = r.text(res.URL)
}

// err keeps code and remedy. The chain below is dropped where it would tell.
func (r *redactor) err(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	if clean := r.text(said); clean != said {
		return fault.New(fault.CodeOf(err), "%s", clean).With(fault.Decode(r.text(fault.HintOf(err).Encode())))
	}
	return err
}
